/** Runs a command to its end under three named times (`client-behaviour.md` 4.10, BIND-8 to BIND-10). */
import { VmchartError } from '../errors.ts';
import { checkedDurationMs } from './deadline.ts';
import type { Command, StartOptions } from './exec-command.ts';
import { checkedGuestDeadlineMs } from './exec-command.ts';
import type { ExecHandle } from './exec-handle.ts';
import { ExecWaitTimeout } from './exec-handle.ts';
import type { ExecResult } from './exec-result.ts';
import { bareResult } from './exec-result.ts';
import type { PollSchedule } from './poll-schedule.ts';
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
  readonly poll?: PollSchedule;
}

/** The times of a run, checked. */
export interface CompletionPlan {
  readonly clientDeadlineMs: number;
  readonly graceMs: number;
}

/** Checks the times and works out the client's deadline. @throws VmchartError `InvalidArg`. */
export function completionPlan(options: Pick<RunOptions, 'deadlineMs' | 'graceMs' | 'waitMs'>): CompletionPlan {
  const graceMs = checkedDurationMs('graceMs', options.graceMs ?? defaultGraceMs);
  const guestDeadlineMs = options.deadlineMs === undefined ? null : checkedGuestDeadlineMs(options.deadlineMs);
  const ownWaitMs = options.waitMs === undefined ? null : checkedDurationMs('waitMs', options.waitMs);
  return {
    graceMs,
    clientDeadlineMs: ownWaitMs ?? (guestDeadlineMs === null ? noDeadlineWaitMs : guestDeadlineMs + graceMs),
  };
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
  poll: PollSchedule,
): Promise<RunResult> {
  const plan = completionPlan(options);
  const handle = await startExec(transport, command, options, options.poll ?? poll);
  const deadline = transport.clock.now() + plan.clientDeadlineMs;
  try {
    return runResult(await collect(handle, deadline, options.signal));
  } catch (error) {
    if (!(error instanceof ExecWaitTimeout)) throw error;
    return await afterDeadline(handle, plan, options.signal);
  }
}

/** Waits and takes the output until a deadline on the clock. A failed take re-reads the phase before the next. */
export async function collect(
  handle: ExecHandle,
  deadline: number,
  signal: AbortSignal | undefined,
): Promise<ExecResult> {
  const { clock } = handle.transport;
  for (;;) {
    const result = await handle.wait({ waitMs: Math.max(0, deadline - clock.now()), signal });
    if (result.phase === 'acked') return result;
    try {
      return await handle.ack({ signal });
    } catch (error) {
      if (!VmchartError.is(error) || !error.retryable) throw error;
      const leftMs = deadline - clock.now();
      if (leftMs <= 0) throw new ExecWaitTimeout(handle.execId, 0, result.phase, null);
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
    const result = await collect(handle, handle.transport.clock.now() + plan.graceMs, signal);
    return runResult(result, { clientDeadline: { afterMs, kill, ackError: null } });
  } catch (error) {
    signal?.throwIfAborted();
    handle.transport.closed.throwIfAborted();
    const ackError = error instanceof Error ? error.message : String(error);
    return runResult(bareResult(handle.execId, 'running'), { clientDeadline: { afterMs, kill, ackError } });
  }
}
