/** What the lifecycle machine hears (commands, reports, outcomes) and what it says (answers, settlements). */
import { parseVmState } from './records.ts';
import type { CommandType, ErrorRecord, MicrovmDescription, Verdict, VmState } from './records.ts';

/** A launch as plain data: everything but the secrets, which stay behind references. */
export interface SealedLaunch {
  /** The image's ARN, already resolved. */
  readonly imageIdentifier: string;
  /** The suspended window that the launch asks for, in seconds (STATE-12). */
  readonly suspendedSec: number;
  /** All other options of the launch, as plain data that the machine keeps and does not read. */
  readonly options: Readonly<Record<string, unknown>>;
  /** References into the `Secrets` port, never values. */
  readonly agentTokenRef: string;
  readonly launchEnvRef: string | null;
  readonly identityRef: string | null;
}

interface Command<T extends CommandType> {
  readonly type: T;
  /** Echoed by every answer. */
  readonly commandId: string;
  /** A monotonic reading in milliseconds. */
  readonly at: number;
}

/** Launch a VM. */
export interface RunCommand extends Command<'RUN'> {
  readonly request: SealedLaunch;
  /** The idempotency key of this intent; the same over all tries of it. */
  readonly clientToken: string;
  /** The caller keeps the token and may repeat the launch: a VM that was suspended meanwhile is brought back. */
  readonly callerKept: boolean;
  /** `false` ends the command when the launch is accepted. */
  readonly wait: boolean;
  /** How long to wait for RUNNING, in milliseconds. */
  readonly timeoutMs: number;
}

/** Suspend the VM. */
export interface SuspendCommand extends Command<'SUSPEND'> {
  /** How long to wait for SUSPENDED, in milliseconds. */
  readonly timeoutMs: number;
}

/** Resume the VM. */
export interface ResumeCommand extends Command<'RESUME'> {
  /** How long to wait for RUNNING, in milliseconds. */
  readonly timeoutMs: number;
}

/** Terminate the VM. */
export interface TerminateCommand extends Command<'TERMINATE'> {
  /** How long to wait for TERMINATED, in milliseconds; `null` does not wait. */
  readonly timeoutMs: number | null;
}

/** The platform's word about the VM: a GetMicrovm, a line of a listing, a 404. */
export interface Report {
  readonly type: `OBSERVED.${VmState}` | 'OBSERVED.UNKNOWN';
  readonly at: number;
  /** When the question was asked; a report asked before our last accepted call is out of date. */
  readonly askedAt: number;
  /** What was answered; `null` when the service no longer knows the VM. */
  readonly description: MicrovmDescription | null;
}

/** Any command. */
export type SandboxCommand = RunCommand | SuspendCommand | ResumeCommand | TerminateCommand;

/** Everything that can be sent to the machine. Outcomes of its actors come by XState's own events. */
export type SandboxEvent = SandboxCommand | Report;

/** The calls and waits that the machine starts; also the names of its actors. */
export type CallKind =
  | 'launch'
  | 'suspend'
  | 'resume'
  | 'terminate'
  | 'read'
  | 'awaitRunning'
  | 'awaitSuspended'
  | 'awaitResumed'
  | 'awaitTerminated';

/** How a call or a wait ended. Effects never throw: they return this, and the machine decides. */
export interface Outcome {
  /** The operation it belongs to; an outcome of another operation changes nothing. */
  readonly op: number;
  readonly at: number;
  /** When the last answer in it was asked for. */
  readonly askedAt: number;
  /** What the platform said of the VM, where it said something. */
  readonly description: MicrovmDescription | null;
  /** `null` when the call succeeded. */
  readonly error: ErrorRecord | null;
  /** With an error: the platform surely did not act. A lost answer is not definite. */
  readonly definite: boolean;
  /** The platform no longer knows the VM (a 404 after it was once seen). */
  readonly gone: boolean;
}

/** The immediate answer to a command. */
export interface Answered {
  readonly type: 'ANSWERED';
  readonly commandId: string;
  readonly command: CommandType;
  readonly verdict: Verdict;
  /** Set when the verdict is `refused`. */
  readonly refusal: ErrorRecord | null;
}

/** The end of a command that was not refused. */
export interface Settled {
  readonly type: 'SETTLED';
  readonly commandId: string;
  readonly command: CommandType;
  /** `null` when it succeeded. */
  readonly error: ErrorRecord | null;
}

/** The cached proxy token must not be used any more (STATE-8). */
export interface ProxyTokenDropped {
  readonly type: 'PROXY_TOKEN_DROPPED';
}

/** An outcome came too late and changed nothing. */
export interface StaleOutcome {
  readonly type: 'STALE_OUTCOME';
}

/** What the machine emits to outside listeners. */
export type SandboxEmitted = Answered | Settled | ProxyTokenDropped | StaleOutcome;

/** Thrown for an event that carries no usable time: the core reads no clock, so `at` is part of the event. */
export class UntimedEventError extends TypeError {
  readonly code = 'ERR_INVALID_ARG';
  readonly kind = 'InvalidArg';
  constructor(type: string) {
    super(`${type} carries no \`at\`: every command and report needs a finite monotonic reading in milliseconds`);
    this.name = 'UntimedEventError';
  }
}

/** What event creators draw on: a clock reading and fresh ids. Both come from outside. */
export interface Stamps {
  now(): number;
  nextId(): string;
}

/** Makes events that carry their id and time. */
export interface SandboxEvents {
  run(options: Omit<RunCommand, 'type' | 'commandId' | 'at'>): RunCommand;
  suspend(options?: { timeoutMs?: number }): SuspendCommand;
  resume(options?: { timeoutMs?: number }): ResumeCommand;
  terminate(options?: { timeoutMs?: number | null }): TerminateCommand;
  /** A report; `askedAt` is when the question was sent. */
  observed(description: MicrovmDescription | null, askedAt: number): Report;
}

/** How long a lifecycle wait may take unless the caller says otherwise (`client-behaviour.md` 3.3). */
export const defaultWaitMs = 300_000;

/**
 * Event creators over a clock and a source of ids.
 *
 * @throws UntimedEventError when the clock gives no finite reading.
 * @example
 * const events = sandboxEvents({ now: () => clock.now(), nextId: () => crypto.randomUUID() });
 * actor.send(events.suspend());
 */
export function sandboxEvents(stamps: Stamps): SandboxEvents {
  const stamp = (type: string) => {
    const at = stamps.now();
    if (!Number.isFinite(at)) throw new UntimedEventError(type);
    return { commandId: stamps.nextId(), at };
  };
  return {
    run: (options) => ({ type: 'RUN', ...options, ...stamp('RUN') }),
    suspend: ({ timeoutMs = defaultWaitMs } = {}) => ({ type: 'SUSPEND', timeoutMs, ...stamp('SUSPEND') }),
    resume: ({ timeoutMs = defaultWaitMs } = {}) => ({ type: 'RESUME', timeoutMs, ...stamp('RESUME') }),
    terminate: ({ timeoutMs = null } = {}) => ({ type: 'TERMINATE', timeoutMs, ...stamp('TERMINATE') }),
    observed: (description, askedAt) => {
      const at = stamps.now();
      if (!Number.isFinite(at) || !Number.isFinite(askedAt)) throw new UntimedEventError('OBSERVED');
      return { type: reportType(description), at, askedAt, description };
    },
  };
}

/** The event type of a report: the state it names, `UNKNOWN` for a text that nobody knows, TERMINATED for a 404. */
export function reportType(description: MicrovmDescription | null): Report['type'] {
  if (description === null) return 'OBSERVED.TERMINATED';
  const known = parseVmState(description.state);
  return known === null ? 'OBSERVED.UNKNOWN' : `OBSERVED.${known}`;
}
