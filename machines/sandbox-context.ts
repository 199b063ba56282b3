/** What the lifecycle machine remembers: the spec's four bookkeeping variables, and what operation needs. */
import type { Cause, CommandType, ErrorRecord, MicrovmDescription, VmState } from './records.ts';
import type { CallKind, SealedLaunch } from './sandbox-events.ts';

/** How the machine behaves where the sources leave a choice. The defaults are the specified behaviour. */
export interface SandboxPolicy {
  /** A suspend of a suspended VM, a resume of a running one: refused, or a success without a call (FC-032, FC-038). */
  readonly whenAlreadyThere: 'refuse' | 'succeed';
  /** A resume past the suspended window: refused locally (STATE-12), or left to the service (FC-028). */
  readonly pastWindow: 'refuse' | 'ask';
}

/** The specified behaviour. */
export const defaultPolicy: SandboxPolicy = { whenAlreadyThere: 'refuse', pastWindow: 'refuse' };

/** One launch intent: what must be sent again, unchanged, when its answer was lost. */
export interface LaunchIntent {
  readonly clientToken: string;
  readonly callerKept: boolean;
  readonly request: SealedLaunch;
  readonly wait: boolean;
  readonly timeoutMs: number;
  /** How often it was sent again: after the first time, hardly any refusal proves that nothing was made. */
  readonly resent: number;
}

/** The call or wait in flight. It is also what the journal records before the call is made. */
export interface Call {
  readonly op: number;
  readonly kind: CallKind;
  readonly commandId: string | null;
  readonly at: number;
  readonly microvmId: string | null;
  readonly clientToken: string | null;
  /** Limit of a wait, in milliseconds. */
  readonly timeoutMs: number | null;
  /** How often this intent was sent before: 0 the first time. */
  readonly resent: number;
}

/** A command that was accepted, joined or deferred and has not ended yet. */
export interface Waiting {
  readonly commandId: string;
  readonly command: CommandType;
}

/** A command that is carried out as soon as the machine can. */
export interface Postponed {
  readonly commandId: string;
  readonly timeoutMs: number | null;
}

/** The machine's context. Plain JSON, and free of secrets. */
export interface SandboxContext {
  // The four bookkeeping variables of the spec.
  readonly tokenInstalled: boolean;
  readonly imageExists: boolean;
  readonly wasTerminated: boolean;
  readonly bootstrapCount: number;

  // Whose life this is.
  readonly sandboxId: string;
  readonly region: string;
  readonly policy: SandboxPolicy;
  readonly microvmId: string | null;
  readonly endpoint: string | null;
  /** What the service said last. */
  readonly microvm: MicrovmDescription | null;

  // The launch, and whether its payload still waits to be counted as a bootstrap.
  readonly launch: LaunchIntent | null;
  readonly delivering: boolean;
  /** The one resume that a caller-kept launch may make on its own was made. */
  readonly revived: boolean;

  // The suspended window (STATE-12).
  readonly suspendedWindowMs: number | null;
  readonly suspendedAt: number | null;

  // What is under way.
  readonly op: number;
  readonly call: Call | null;
  readonly waiting: readonly Waiting[];
  /** A TERMINATE that waits for the launch to be answered; its `timeoutMs` is the wait for TERMINATED. */
  readonly latched: Postponed | null;
  /** A RESUME that waits for the suspend to end. */
  readonly deferred: Postponed | null;
  /** When the platform last accepted a call of ours; reports asked before are out of date. */
  readonly acceptedAt: number | null;

  // What happened last, for people and for messages.
  readonly lifecycle: VmState;
  readonly changedAt: number | null;
  readonly cause: Cause | null;
  readonly stateReason: string | null;
  /** A state that the service named and nobody knows. */
  readonly reported: string | null;
  readonly lastError: ErrorRecord | null;
}

/** What starts a machine: whose life it is, and, for an adopted or restored VM, what is known of it. */
export interface SandboxInput {
  readonly sandboxId: string;
  readonly region: string;
  readonly policy?: Partial<SandboxPolicy>;
  /** Where the life goes on (see `restore` and `initialSnapshot`); absent for a new one. */
  readonly resume?: {
    readonly substate: QuietSubstate;
    readonly known: Partial<Omit<SandboxContext, 'sandboxId' | 'region' | 'policy' | 'call' | 'waiting' | 'lifecycle'>>;
  };
}

/** The substates in which no call is in flight: the ones in which a life can be taken up again. */
export type QuietSubstate =
  | 'PENDING.idle'
  | 'PENDING.unresolved'
  | 'PENDING.held'
  | 'RUNNING.idle'
  | 'SUSPENDING.unsettled'
  | 'SUSPENDED.idle'
  | 'TERMINATING.accepted'
  | 'TERMINATING.unaccepted'
  | 'TERMINATED';

/** The context of a life at its start, or at the point where it is taken up again. */
export function contextFrom(input: SandboxInput): SandboxContext {
  return {
    tokenInstalled: false,
    imageExists: false,
    wasTerminated: false,
    bootstrapCount: 0,
    microvmId: null,
    endpoint: null,
    microvm: null,
    launch: null,
    delivering: false,
    revived: false,
    suspendedWindowMs: null,
    suspendedAt: null,
    op: 0,
    latched: null,
    deferred: null,
    acceptedAt: null,
    changedAt: null,
    cause: null,
    stateReason: null,
    reported: null,
    lastError: null,
    ...input.resume?.known,
    sandboxId: input.sandboxId,
    region: input.region,
    policy: { ...defaultPolicy, ...input.policy },
    call: null,
    waiting: [],
    lifecycle: (input.resume?.substate.split('.')[0] ?? 'PENDING') as VmState,
  };
}
