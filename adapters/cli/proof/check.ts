/** What `vmchart check` does. */
import { writeFile } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';
import {
  checkModule,
  ModelError,
  renderCounterexamples,
  renderJson,
  renderJunit,
  renderMutants,
  renderSarif,
  renderTable,
  runCheck,
  type CheckOptions,
  type CheckReport,
  type ModuleSource,
} from '../../../model/index.ts';
import { CliError } from '../cli-error.ts';
import type { CommandContext, Outcome } from '../command.ts';
import { beginStep } from '../output/progress.ts';
import { packageVersion } from '../package-version.ts';
import { checkHost } from './check-host.ts';
import { loadCheck } from './load-check.ts';

/** What was asked for. */
export interface CheckRequest extends CheckOptions {
  /** A module to check instead of the lifecycle. */
  readonly module: string | undefined;
  readonly junit: string | undefined;
  readonly sarif: string | undefined;
}

/**
 * Checks, shows, and writes what was asked for.
 *
 * @throws CliError of class `Violated` when anything is wrong, with the whole report as data
 */
export async function check(request: CheckRequest, context: CommandContext): Promise<Outcome> {
  const { module, junit, sarif } = request;
  const source = module === undefined ? null : { path: module };
  const report = await found(request, context);
  if (junit !== undefined) await write(junit, renderJunit(report));
  if (sarif !== undefined) {
    const file = module === undefined ? {} : { file: inRepository(module) };
    await write(sarif, renderSarif(report, { version: packageVersion(), ...file }));
  }
  const data = renderJson(report, source);
  const text = readable(report, source);
  if (report.ok) return { data, text };
  if (!context.terminal.json) await context.terminal.out(`${text}\n`);
  throw new CliError('Violated', sentence(report), {
    data,
    suggestions: report.properties.some(({ counterexample }) => counterexample !== null) ? [replayHint(module)] : [],
  });
}

/** A path can be watched; what never happened has none. */
function replayHint(module: string | undefined): string {
  const named = module === undefined ? '' : ` ${/\s/.test(module) ? JSON.stringify(module) : module}`;
  return `Save it with --json, and watch it step by step: vmchart graph${named} --replay FILE --format svg -o steps.svg`;
}

/** A file as code hosts name it: from the folder that the check runs in, which is that of the repository. */
function inRepository(module: string): string {
  const path = relative(process.cwd(), resolve(module));
  return isAbsolute(path) || path.startsWith('..') ? module : path;
}

function sentence({ failures }: CheckReport): string {
  const [first = ''] = failures;
  return failures.length === 1 ? `${first}` : `${failures.length} things are wrong; the first: ${first}`;
}

async function found(request: CheckRequest, { terminal, interrupts }: CommandContext): Promise<CheckReport> {
  const { module, junit: _junit, sarif: _sarif, ...options } = request;
  const step = beginStep(terminal, 'checking');
  try {
    let report: CheckReport;
    if (module === undefined) {
      const progress = {
        done: (finished: number, all: number) => step.update(`checking: ${finished} of ${all} pieces done`),
      };
      report = await runCheck(options, checkHost(interrupts.signal, progress));
    } else {
      const limit = options.limit === undefined ? {} : { limit: options.limit };
      report = checkModule(await loadCheck(module), { now: () => performance.now(), ...limit });
    }
    if (report.ok) step.done('checked');
    else step.failed(`checked: ${report.failures.length} wrong`);
    return report;
  } catch (error) {
    step.failed('not checked');
    throw error instanceof ModelError ? asCliError(error, module) : error;
  }
}

function asCliError(error: ModelError, module: string | undefined): CliError {
  switch (error.reason) {
    case 'missing-dependency':
      return new CliError('Precondition', `${error.message}.`, { cause: error });
    case 'limit':
      return new CliError('InvalidArg', `${error.message.replace(/raise the limit$/, 'raise --limit')}.`, {
        cause: error,
      });
    default:
      return new CliError(
        'InvalidArg',
        module === undefined
          ? `The model is not well formed: ${error.message}.`
          : `${module} cannot be checked: ${error.message}.`,
        { cause: error },
      );
  }
}

function readable(report: CheckReport, source: ModuleSource | null): string {
  const counterexamples = renderCounterexamples(report, source);
  const mutants = renderMutants(report);
  return [
    renderTable(report),
    ...(mutants === '' ? [] : [mutants]),
    ...(counterexamples === '' ? [] : [counterexamples]),
  ].join('\n\n');
}

async function write(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError('Config', `${file} cannot be written (${code ?? 'unknown reason'}).`, { cause: error });
  }
}
