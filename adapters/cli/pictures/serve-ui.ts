/** Puts the page together: its fleet, its drawings, and what the terminal says. */
import { foreignMachine } from '../../trace/counterexample.ts';
import { readReplay } from '../../trace/file.ts';
import { EmulatorSource, ServiceSource, startPage } from '../../ui/index.ts';
import type { FleetSource, PageOptions } from '../../ui/index.ts';
import type { Target } from '../arguments/target.ts';
import { CliError, usageError } from '../cli-error.ts';
import type { CommandContext } from '../command.ts';
import { openPlatform } from '../platform/open-platform.ts';
import { chartTheme, chartView, viewOf } from './chart-pictures.ts';
import { lawsOfTheSpec } from './laws.ts';
import { loadMachine } from './load-machine.ts';

/** What is to be served. */
export interface UiPlan {
  readonly port: number;
  readonly launch: number;
  readonly replay: { readonly path: string; readonly content: string } | null;
  /** With a replay: the module of its machine, where that is none of ours. */
  readonly machine: string | null;
  readonly target: Target;
}

/** Slow enough for the eye, in milliseconds. */
const pace = { launchDelayMs: 700, suspendDelayMs: 700, resumeDelayMs: 700, terminateDelayMs: 500 };

/** Serves until the first signal. */
export async function serveUi(plan: UiPlan, context: CommandContext): Promise<void> {
  const { replay, machine, launch, target } = plan;
  if (launch > 0 && (replay !== null || target.kind !== 'embedded'))
    throw usageError('--launch is for the emulator that vmchart ui starts itself; elsewhere use vmchart run.');
  if (replay !== null) return await serveReplay(plan, replay, context);
  if (machine !== null) throw usageError('--machine names the machine of a replay: it needs --replay FILE.');
  const { environment, terminal } = context;
  await using platform = await openPlatform(plan.target, environment, {
    emulator: pace,
    warn: (text) => terminal.note(text),
  });
  const { emulator, ports } = platform;
  const source = emulator === null ? new ServiceSource(ports) : new EmulatorSource(emulator, ports);
  const title =
    emulator === null
      ? `${plan.target.kind === 'aws' ? 'AWS' : 'the service'} at ${ports.endpointUrl ?? ports.region}`
      : `an emulator at ${emulator.endpoint}`;
  await serve({ port: plan.port, sources: [source], title }, context, async () => {
    if (source instanceof EmulatorSource) for (let count = 0; count < plan.launch; count += 1) await source.launch();
  });
}

async function serveReplay(
  plan: UiPlan,
  file: { readonly path: string; readonly content: string },
  context: CommandContext,
): Promise<void> {
  const replay = readReplay(file.content, file.path);
  const own = plan.machine === null ? null : (await loadMachine(plan.machine)).machine;
  const draw: PageOptions['draw'] = async (name, config, part) =>
    own !== null && [own.id, foreignMachine].includes(name)
      ? await viewOf(name, own, part)
      : await chartView(name, config, part);
  await serve({ port: plan.port, sources: [], title: `a replay of ${file.path}`, replay, draw }, context);
}

type Served = Pick<PageOptions, 'title' | 'replay'> & {
  readonly draw?: PageOptions['draw'];
  readonly port: number;
  readonly sources: readonly FleetSource[];
};

async function serve(
  options: Served,
  context: CommandContext,
  begin: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const { interrupts, terminal } = context;
  const { strong, accent, quiet } = terminal.paintOut;
  await using page = await startPage({ draw: chartView, ...options, theme: chartTheme, laws: lawsOfTheSpec() }).catch(
    (error: unknown) => {
      throw portError(error, options.port);
    },
  );
  await begin();
  const { address, origin } = page;
  await context.announce({
    data: { address, origin },
    text: [
      `${strong('vmchart ui')} shows ${options.title}`,
      `  ${accent(address)}`,
      quiet('Only this address, with its token, can send commands. Stop it with Ctrl-C.'),
    ].join('\n'),
  });
  const { signal } = interrupts;
  if (!signal.aborted)
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  if ((signal.reason as { kind?: string }).kind !== 'Interrupted') throw signal.reason as Error;
}

function portError(error: unknown, port: number): unknown {
  const why = { EADDRINUSE: 'is in use', EACCES: 'may not be used by this user' }[
    (error as NodeJS.ErrnoException).code ?? ''
  ];
  if (why === undefined) return error;
  return new CliError('Precondition', `Port ${port} ${why}.`, {
    suggestions: ['Choose another one with --port, or leave it out to take a free one.'],
    cause: error,
  });
}
