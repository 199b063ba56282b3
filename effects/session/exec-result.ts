/** What is known of a command: its phase, and its outcome once there is one (`agentd-protocol.md` 8). */
import { isBoolean, isNumber, isString, objectIn, optional, required } from './decode.ts';

/** Where a command is. Forward only. */
export type ExecPhase = 'running' | 'exited' | 'acked';

/** What the daemon answers on a command. */
export interface ExecResult {
  readonly execId: string;
  readonly phase: ExecPhase;
  /** The command has ended. */
  readonly done: boolean;
  /** Exit code 0, and no deadline fired. */
  readonly succeeded: boolean;
  /** `null` while running, and when a signal ended it. */
  readonly exitCode: number | null;
  /** The number of the signal that ended it. */
  readonly signal: number | null;
  /** The daemon's own deadline fired. It beats an exit code: a command may trap the signal and exit 0. */
  readonly timedOut: boolean;
  /** The first bytes of the output, up to the daemon's cap, as text. Exact bytes come from the stream. */
  readonly stdout: string;
  readonly stderr: string;
  /** Output went beyond the daemon's cap. */
  readonly truncated: boolean;
  /** Something the command started still holds its pipes. */
  readonly writersMayBeAlive: boolean;
  /** The command has ended, and its output was given to an earlier acknowledgement. */
  readonly outputReleased: boolean;
}

const outcomeMembers = ['exit_code', 'signal', 'timed_out', 'stdout', 'stderr'] as const;

/** Reads a poll-shaped body. @throws TypeError naming the member. */
export function decodeExecResult(body: unknown): ExecResult {
  const from = objectIn(body, 'the body');
  const phase = required(from, 'phase', isPhase);
  const hasOutcome = outcomeMembers.some((name) => name in from);
  const exitCode = optional(from, 'exit_code', isNumber, null);
  const timedOut = optional(from, 'timed_out', isBoolean, false);
  return {
    execId: required(from, 'exec_id', isString),
    phase,
    done: phase !== 'running',
    succeeded: phase !== 'running' && exitCode === 0 && !timedOut,
    exitCode,
    signal: optional(from, 'signal', isNumber, null),
    timedOut,
    stdout: optional(from, 'stdout', isString, ''),
    stderr: optional(from, 'stderr', isString, ''),
    truncated: optional(from, 'truncated', isBoolean, false),
    writersMayBeAlive: optional(from, 'writers_may_be_alive', isBoolean, false),
    outputReleased: phase === 'acked' && !hasOutcome,
  };
}

/** A result of a command of which nothing but its phase is known. */
export function bareResult(execId: string, phase: ExecPhase): ExecResult {
  return decodeExecResult({ exec_id: execId, phase });
}

function isPhase(value: unknown): value is ExecPhase {
  return value === 'running' || value === 'exited' || value === 'acked';
}
