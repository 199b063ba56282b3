/** Commands in a kept VM: run, started and left, looked at, ended. */
import type { Command, ExecResult, RunOptions } from '../../../effects/index.ts';
import { posixExitCode } from '../../../effects/index.ts';
import { toCliError } from '../cli-error.ts';
import type { CommandContext, Outcome } from '../command.ts';
import type { KeptVm } from '../registry/kept-vm.ts';
import { openKept, sessionOf } from '../registry/kept-vm.ts';
import { eventLines } from './exec-event-lines.ts';
import { PartialExec, execData, execFailure, runLine } from './run-line.ts';
import { commandRefusal } from './vm-refusal.ts';

/** Which VM, and how the command line was called. */
export interface ExecAround {
  readonly name: string;
  readonly context: CommandContext;
  readonly region: string | undefined;
  readonly execStatus: boolean;
}

type ExecOptions = Pick<RunOptions, 'env' | 'cwd' | 'user' | 'deadlineMs'>;

/** Runs it to its end. */
export async function runExec(
  command: Command,
  options: ExecOptions & { readonly stdin: boolean; readonly events: boolean },
  { name, context, region, execStatus }: ExecAround,
): Promise<Outcome> {
  const { terminal, interrupts } = context;
  await using kept = await openKept(name, context, { region });
  const session = await sessionOf(kept, context);
  const { stdin, events, ...rest } = options;
  const partial = new PartialExec();
  const lineOptions = {
    ...rest,
    vm: name,
    partial,
    signal: interrupts.signal,
    killOnAbort: true,
    ...(stdin ? { input: process.stdin } : {}),
  };
  const lines = events && terminal.json ? eventLines(terminal) : null;
  const result = await runLine(session, command, terminal, {
    ...lineOptions,
    ...(lines === null ? {} : { onOutput: lines.onOutput, onGap: lines.onGap }),
  })
    .catch((error: unknown) => {
      if (!interrupts.signal.aborted) throw error;
      const known = lines === null && terminal.json ? { exec: partial.data() } : {};
      throw toCliError(interrupts.signal.reason, { ...identity(kept), ...known });
    })
    .finally(() => {
      // An input that nobody reads any more would keep the process waiting for its end.
      if (stdin) process.stdin.destroy();
    });
  await lines?.exit(result);
  for (const note of result.notes) terminal.note(`note: ${note}`);
  const data = { ...identity(kept), exec: execData(result) };
  const failed = execFailure(result, execStatus, data);
  if (failed !== null) throw failed;
  return { data };
}

/** Starts it and leaves it. */
export async function detachExec(
  command: Command,
  options: ExecOptions,
  { name, context, region }: ExecAround,
): Promise<Outcome> {
  await using kept = await openKept(name, context, { region });
  const session = await sessionOf(kept, context);
  const started = await session.start(command, { ...options, signal: context.interrupts.signal }).catch((error) => {
    throw commandRefusal(error, { vm: name, user: options.user, cwd: options.cwd });
  });
  const { execId } = started;
  context.terminal.progress(`started; see it with vmchart exec --name ${name} --poll ${execId}`);
  return { data: { ...identity(kept), execId }, text: execId };
}

/** Shows how it is, and its output once it has ended. Reading takes nothing away: it can be polled again. */
export async function pollExec(
  execId: string,
  wait: boolean,
  { name, context, region, execStatus }: ExecAround,
): Promise<Outcome> {
  const { terminal, interrupts } = context;
  await using kept = await openKept(name, context, { region });
  const session = await sessionOf(kept, context);
  const handle = session.exec(execId);
  const asked = wait
    ? handle.wait({ waitMs: longestWaitMs, signal: interrupts.signal })
    : handle.poll({ signal: interrupts.signal });
  const result = await asked.catch((error: unknown) => {
    throw commandRefusal(error, { vm: name, execId });
  });
  const code = posixExitCode(result);
  const data = { ...identity(kept), exec: { ...result, posixExitCode: code } };
  if (!terminal.json) {
    await terminal.out(result.stdout);
    await terminal.errorOutput(result.stderr);
    terminal.progress(phaseText(result));
  }
  const failed = result.done ? execFailure({ ...result, posixExitCode: code }, execStatus, data) : null;
  if (failed !== null) throw failed;
  return { data };
}

/** No VM lives longer than eight hours. In milliseconds. */
const longestWaitMs = 28_800_000;

/** Ends it with all its processes. */
export async function killExec(execId: string, { name, context, region }: ExecAround): Promise<Outcome> {
  await using kept = await openKept(name, context, { region });
  const session = await sessionOf(kept, context);
  const killed = await session
    .exec(execId)
    .kill({ signal: context.interrupts.signal })
    .catch((error: unknown) => {
      throw commandRefusal(error, { vm: name, execId });
    });
  return { data: { ...identity(kept), execId, killed }, text: `${execId}  ${killed ? 'killed' : 'was over'}` };
}

function identity({ name, sandbox, entry }: KeptVm) {
  return { name, microvmId: sandbox.microvmId, region: entry.region };
}

function phaseText(result: ExecResult): string {
  if (!result.done) return `${result.execId} is running`;
  return `${result.execId} has ended (${result.signal === null ? `exit ${result.exitCode}` : `signal ${result.signal}`})`;
}
