/**
 * The plain data that machines carry: states, verdicts, causes and error records.
 *
 * Everything here survives JSON, so that a snapshot can be stored, shown and sent as it is.
 */

/** The six states, spelled as the service spells them. */
export const vmStates = ['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED'] as const;

/** One of the six states of a MicroVM (the spec's `vm_state`). */
export type VmState = (typeof vmStates)[number];

/** Reads the service's spelling: exact and case-sensitive, `null` for a state that nobody knows. */
export function parseVmState(text: string): VmState | null {
  return (vmStates as readonly string[]).includes(text) ? (text as VmState) : null;
}

/** The four commands that a caller can give. */
export const commandTypes = ['RUN', 'SUSPEND', 'RESUME', 'TERMINATE'] as const;

/** One of the four commands. */
export type CommandType = (typeof commandTypes)[number];

/** The requirements of the spec that can speak in a refusal. */
export type RequirementId = `STATE-${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12}`;

/**
 * How a command is answered at once (`lifecycle.md`, "Verdicts").
 *
 * - `accepted`: a call starts
 * - `joined`: the same command is already under way; settles with it
 * - `deferred`: remembered, and carried out as soon as the machine can
 * - `no-op`: nothing to do; succeeds with zero calls
 * - `refused`: zero calls, and nothing changes
 */
export type Verdict = 'accepted' | 'joined' | 'deferred' | 'no-op' | 'refused';

/** The coarse classes of failure (`client-behaviour.md` 1.2). Append-only. */
export const errorKinds = [
  'Unexpected',
  'InvalidArg',
  'Retryable',
  'Credentials',
  'Protocol',
  'BuildWedged',
  'LaunchDied',
  'WindowClosed',
  'Platform',
  'Timeout',
  'Interrupted',
  'Precondition',
  'ExecFailed',
] as const;

/** One of the thirteen classes of failure. */
export type ErrorKind = (typeof errorKinds)[number];

/** The fine classes that only the daemon's wire has (`client-behaviour.md` 1.3). */
export const wireKinds = [
  'ProtocolError',
  'Unauthorized',
  'NotFound',
  'RequestTimeout',
  'Conflict',
  'StdinClosed',
  'TooLarge',
  'ServerError',
  'NotBootstrapped',
  'InsufficientStorage',
  'Transport',
  'AuthTokenMint',
  'ExecTimeout',
  'OutputGap',
] as const;

/** One of the fourteen fine classes. */
export type WireKind = (typeof wireKinds)[number];

/** An error as plain data: what a snapshot, a journal or an event may hold. Never a secret in it. */
export interface ErrorRecord {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly wireKind: WireKind | null;
  /** A finer, stable slug where one helps, such as `quota`, `gone` or `unsupported-region`. */
  readonly reason: string | null;
  readonly requirement: RequirementId | null;
  readonly status: number | null;
}

/** Why a VM changed its state. */
export type Cause = 'user' | 'platform' | 'lifetime' | 'window' | 'hook' | 'unknown';

/** The service's idle policy, with the unit in each name. */
export interface IdlePolicy {
  readonly maxIdleSec: number;
  readonly suspendedSec: number;
  readonly autoResume: boolean;
}

/** What the service says of one VM, decoded (`control-plane-api.md` 7.1). */
export interface MicrovmDescription {
  readonly microvmId: string;
  /** The state as the service wrote it; `parseVmState` tells whether anybody knows it. */
  readonly state: string;
  /** Bare host or URL, exactly as answered. */
  readonly endpoint: string;
  readonly imageArn: string;
  readonly imageVersion: string;
  readonly stateReason: string | null;
  readonly idlePolicy: IdlePolicy | null;
  readonly maximumDurationSec: number | null;
  /** Unix milliseconds. */
  readonly startedAtMs: number | null;
  /** Unix milliseconds. */
  readonly terminatedAtMs: number | null;
}
