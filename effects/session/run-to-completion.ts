/** Runs a command to its end under three named times (`client-behaviour.md` 4.10, BIND-8 to BIND-10). */
import { VmchartError } from '../errors.ts';
import { Countdown } from './countdown.ts';
import type { DeadlinePolicy } from './countdown.ts';
import { checkedDurationMs, linkSignals, orAborted } from './deadline.ts';
import type { Command, StartOptions } from './exec-command.ts';
import { checkedGuestDeadlineMs } from './exec-command.ts';
import type { CommandInput } from './exec-input.ts';
import { feedInput } from './exec-input.ts';
import type { ExecEvent, ExitEvent, GapEvent, OutputEvent } from './exec-events.ts';
import type { ExecHandle } from './exec-handle.ts';
import { ExecWaitTimeout } from './exec-handle.ts';
import type { ExecResult } from './exec-result.ts';
import { bareResult } from './exec-result.ts';
import type { OutputFlow, StreamOptions } from './output-stream.ts';
import { OutputCapture } from './output-text.ts';
import type { Schedule } from '../schedule.ts';
import type { RunResult } from './run-result.ts';
import { runResult } from './run-result.ts';
import { startExec } from './start-exec.ts';
import type { Transport } from './transport.ts';

/** How long the client waits for a command that has no deadline of its own, in milliseconds: eight hours. */
export const noDeadlineWaitMs = 28_800_000;

/** How long the client goes on after the guest's deadline by default, in milliseconds. */
export const defaultGraceMs = 60_000;

/** A failed acknowledgement is tried again after this time, in milliseconds. */
const ackRetryMs = 1_000;

/** How a command is run to its end. `deadlineMs` is the guest's deadline. */
export interface RunOptions extends StartOptions {
  /** How long the client goes on after the guest's deadline, and again after its own kill. Default 60 s. */
  readonly graceMs?: number;
  /** The client's own wait. Default: `deadlineMs` plus `graceMs`, or eight hours without a deadline. */
  readonly waitMs?: number;
  /**
   * Whether `deadlineMs` counts the time in which the VM is suspended. `wall` (default): it does, and the daemon
   * keeps it. `active`: it does not, and since the daemon cannot tell, the client ends the command. FC-029.
   */
  readonly deadlinePolicy?: DeadlinePolicy;
  readonly poll?: Schedule;
  /** Hears each piece of output as it comes, and is awaited; answering `'stop'` ends the hearing, not the command. */
  readonly onOutput?: (event: OutputEvent) => OutputFlow | Promise<OutputFlow>;
  /** Hears of output that is gone for good. */
  readonly onGap?: (event: GapEvent) => void | Promise<void>;
  /** How the output is followed where there is a callback. */
  readonly stream?: Omit<StreamOptions, 'signal' | 'offset'>;
  /** Written to the command's input, which is then closed. */
  readonly input?: CommandInput;
}

/** The times of a run, checked. */
export interface CompletionPlan {
  readonly clientDeadlineMs: number;
  readonly graceMs: number;
  readonly policy: DeadlinePolicy;
}

/** Checks the times and works out the client's deadline. @throws VmchartError `InvalidArg`. */
export function completionPlan(
  options: Pick<RunOptions, 'deadlineMs' | 'graceMs' | 'waitMs' | 'deadlinePolicy'>,
): CompletionPlan {
  const policy = options.deadlinePolicy ?? 'wall';
  const graceMs = checkedDurationMs('graceMs', options.graceMs ?? defaultGraceMs);
  const guestDeadlineMs = options.deadlineMs === undefined ? null : checkedGuestDeadlineMs(options.deadlineMs);
  const ownWaitMs = options.waitMs === undefined ? null : checkedDurationMs('waitMs', options.waitMs);
  if (policy === 'active' && guestDeadlineMs !== null) return { graceMs, policy, clientDeadlineMs: guestDeadlineMs };
  const clientDeadlineMs = ownWaitMs ?? (guestDeadlineMs === null ? noDeadlineWaitMs : guestDeadlineMs + graceMs);
  return { graceMs, policy: 'wall', clientDeadlineMs };
}

/**
 * Runs a command to its end: exactly one result or one error.
 *
 * When the client's deadline fires, the command is killed and its result collected under the grace;
 * only if that fails too is a result made up, and it says so.
 */
export async function runToCompletion(
  transport: Transport,
  command: Command,
  options: RunOptions,
  poll: Schedule,
): Promise<RunResult> {
  const plan = completionPlan(options);
  const stdin = options.stdin ?? options.input !== undefined;
  const { deadlineMs: guestDeadlineMs, ...rest } = options;
  const toldToGuest = plan.policy === 'wall' && guestDeadlineMs !== undefined ? { deadlineMs: guestDeadlineMs } : {};
  const handle = await startExec(transport, command, { ...rest, ...toldToGuest, stdin }, options.poll ?? poll);
  const deadline = new Countdown(transport, plan.clientDeadlineMs, plan.policy);
  const feeding = options.input === undefined ? null : feedInput(handle, options.input, options.signal);
  try {
    const result =
      options.onOutput === undefined && options.onGap === undefined
        ? runResult(await collect(handle, deadline, options.signal))
        : await followAndCollect(handle, plan, deadline, options);
    return withNotes(result, await feeding?.notes());
  } catch (error) {
    if (!(error instanceof ExecWaitTimeout)) throw error;
    return withNotes(await afterDeadline(handle, plan, options.signal), await feeding?.notes());
  } finally {
    feeding?.stop();
  }
}

/** Streams under the deadline; then the record is taken, whatever became of the stream. */
async function followAndCollect(
  handle: ExecHandle,
  plan: CompletionPlan,
  deadline: Countdown,
  options: RunOptions,
): Promise<RunResult> {
  const { signal } = options;
  const heard = await hear(handle, deadline, options);
  if (heard.exit === null) return runResult(await collect(handle, deadline, signal));
  try {
    const result = await handle.ack({ signal });
    if (result.done && !result.outputReleased) return runResult(result);
  } catch (error) {
    signal?.throwIfAborted();
    handle.transport.closed.throwIfAborted();
    if (!VmchartError.is(error)) throw error;
  }
  // The end is known: from here on the deadline does not kill any more, and a failure is only a note (FC-080).
  try {
    const grace = new Countdown(handle.transport, Math.max(deadline.leftMs, plan.graceMs));
    const result = await collect(handle, grace, signal);
    return result.outputReleased ? fromStream(handle, heard, 'the output was released before') : runResult(result);
  } catch (error) {
    signal?.throwIfAborted();
    handle.transport.closed.throwIfAborted();
    return fromStream(handle, heard, error instanceof Error ? error.message : String(error));
  }
}

interface Heard {
  exit: ExitEvent | null;
  readonly capture: OutputCapture;
}

/** Follows the output until it ends, the callback has had enough, or the deadline. The stream's own error is dropped. */
async function hear(handle: ExecHandle, deadline: Countdown, options: RunOptions): Promise<Heard> {
  const heard: Heard = { exit: null, capture: new OutputCapture() };
  const { closed } = handle.transport;
  const thrown: { error: unknown }[] = [];
  const consume = async (event: ExecEvent): Promise<OutputFlow> => {
    if (event.type === 'exit') heard.exit = event;
    try {
      if (event.type === 'gap') await options.onGap?.(event);
      if (event.type !== 'output') return 'continue';
      heard.capture.add(event);
      return await options.onOutput?.(event);
    } catch (error) {
      // The caller's own failure is the caller's to see, and not a cut of the stream.
      thrown.push({ error });
      return 'stop';
    }
  };
  const link = linkSignals(options.signal, closed);
  const over = new ExecWaitTimeout(handle.execId, deadline.limitMs, 'running', null);
  const cancel = deadline.whenOver(() => link.abort(over));
  try {
    await orAborted(handle.follow(consume, { ...options.stream, signal: link.signal }), link.signal);
  } catch (error) {
    options.signal?.throwIfAborted();
    closed.throwIfAborted();
    // Once the exit is known there is nothing left to end.
    if (error === over && heard.exit === null) throw error;
  } finally {
    cancel();
    link.release();
  }
  if (thrown[0] !== undefined) throw thrown[0].error;
  return heard;
}

function fromStream(handle: ExecHandle, { exit, capture }: Heard, error: string): RunResult {
  const result: ExecResult = {
    ...bareResult(handle.execId, 'exited'),
    exitCode: exit?.exitCode ?? null,
    signal: exit?.signal ?? null,
    timedOut: exit?.timedOut ?? false,
    succeeded: exit?.exitCode === 0 && !exit.timedOut,
    truncated: (exit?.truncated ?? false) || capture.truncated,
    writersMayBeAlive: exit?.writersMayBeAlive ?? false,
    stdout: capture.text('stdout'),
    stderr: capture.text('stderr'),
  };
  return runResult(result, { uncollected: { error } });
}

function withNotes(result: RunResult, more: readonly string[] = []): RunResult {
  return more.length === 0 ? result : { ...result, notes: [...result.notes, ...more] };
}

/** Waits and takes the output until a deadline. A failed take re-reads the phase before the next. */
export async function collect(
  handle: ExecHandle,
  deadline: Countdown,
  signal: AbortSignal | undefined,
): Promise<ExecResult> {
  for (;;) {
    const result = await handle.waitWithin(deadline, { signal });
    if (result.phase === 'acked') return result;
    try {
      return await handle.ack({ signal });
    } catch (error) {
      if (!VmchartError.is(error) || !error.retryable) throw error;
      const { leftMs } = deadline;
      if (leftMs <= 0) throw new ExecWaitTimeout(handle.execId, deadline.limitMs, result.phase, null);
      await handle.transport.sleep(Math.min(ackRetryMs, leftMs), signal);
    }
  }
}

/** The client's deadline has fired: kill, then collect what can be collected. */
export async function afterDeadline(
  handle: ExecHandle,
  plan: CompletionPlan,
  signal: AbortSignal | undefined,
): Promise<RunResult> {
  const kill = await handle.tryKill({ signal });
  const afterMs = plan.clientDeadlineMs;
  try {
    const result = await collect(handle, new Countdown(handle.transport, plan.graceMs), signal);
    return runResult(result, { clientDeadline: { afterMs, kill, ackError: null } });
  } catch (error) {
    signal?.throwIfAborted();
    handle.transport.closed.throwIfAborted();
    const ackError = error instanceof Error ? error.message : String(error);
    return runResult(bareResult(handle.execId, 'running'), { clientDeadline: { afterMs, kill, ackError } });
  }
}
