/** The one error class of the library, and its tables (`client-behaviour.md` section 1). */
import { printed } from './printed.ts';
import type { ErrorKind, ErrorRecord, RequirementId, WireKind } from '../machines/records.ts';
import { errorKinds, wireKinds } from '../machines/records.ts';

const codes: Readonly<Record<ErrorKind, string>> = {
  Unexpected: 'ERR_UNEXPECTED',
  InvalidArg: 'ERR_INVALID_ARG',
  Retryable: 'ERR_RETRYABLE',
  Credentials: 'ERR_CREDENTIALS',
  Protocol: 'ERR_PROTOCOL',
  BuildWedged: 'ERR_BUILD_WEDGED',
  LaunchDied: 'ERR_LAUNCH_DIED',
  WindowClosed: 'ERR_WINDOW_CLOSED',
  Platform: 'ERR_PLATFORM',
  Timeout: 'ERR_TIMEOUT',
  Interrupted: 'ERR_INTERRUPTED',
  Precondition: 'ERR_PRECONDITION',
  ExecFailed: 'ERR_EXEC_FAILED',
};

const kindOfWireKind: Readonly<Record<WireKind, ErrorKind>> = {
  ProtocolError: 'Protocol',
  Unauthorized: 'Credentials',
  NotFound: 'Protocol',
  RequestTimeout: 'Retryable',
  Conflict: 'Protocol',
  StdinClosed: 'Protocol',
  TooLarge: 'Protocol',
  ServerError: 'Retryable',
  NotBootstrapped: 'Retryable',
  InsufficientStorage: 'Platform',
  Transport: 'Retryable',
  AuthTokenMint: 'Retryable',
  ExecTimeout: 'Timeout',
  OutputGap: 'Platform',
};

/** The stable code of a kind, such as `ERR_WINDOW_CLOSED`. */
export function codeOf(kind: ErrorKind): string {
  return codes[kind];
}

/** The codes of the library, in the order of `client-behaviour.md` 1.2. The command line has four more (docs/errors.md). */
export function errorCodes(): string[] {
  return errorKinds.map(codeOf);
}

/** All fourteen wire kinds. */
export function allWireKinds(): readonly WireKind[] {
  return wireKinds;
}

/** The kind that a wire kind collapses to. */
export function kindOf(wireKind: WireKind): ErrorKind {
  return kindOfWireKind[wireKind];
}

/** What an error may carry besides its kind and message. */
export interface ErrorDetails {
  readonly requirement?: RequirementId | null;
  /** A finer, stable slug, such as `quota` or `gone`. */
  readonly reason?: string | null;
  /** The HTTP status, where there was one. */
  readonly status?: number | null;
  /** The service's own name of the error. */
  readonly errorName?: string | null;
  readonly requestId?: string | null;
  /** What the service asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | null;
  readonly microvmId?: string | null;
  /** What a person can try next. */
  readonly suggestions?: readonly string[];
  readonly cause?: unknown;
}

const brand = Symbol.for('vmchart.error');

/**
 * Every failure of the library. Match on `kind` or `code`; messages are for people and may change.
 *
 * @example
 * try { await sandbox.resume(); } catch (error) {
 *   if (VmchartError.is(error) && error.code === 'ERR_WINDOW_CLOSED') await relaunch();
 * }
 */
export class VmchartError extends Error {
  readonly kind: ErrorKind;
  readonly wireKind: WireKind | null;
  readonly requirement: RequirementId | null;
  readonly reason: string | null;
  readonly status: number | null;
  readonly errorName: string | null;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
  readonly microvmId: string | null;
  readonly suggestions: readonly string[];

  constructor(kind: ErrorKind | { readonly wireKind: WireKind }, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'VmchartError';
    this.wireKind = typeof kind === 'string' ? null : kind.wireKind;
    this.kind = typeof kind === 'string' ? kind : kindOf(kind.wireKind);
    this.requirement = details.requirement ?? null;
    this.reason = details.reason ?? null;
    this.status = details.status ?? null;
    this.errorName = details.errorName ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.microvmId = details.microvmId ?? null;
    this.suggestions = details.suggestions ?? [];
    Object.defineProperty(this, brand, { value: true });
  }

  /** Derived from `kind`, so that the two can never disagree. */
  get code(): string {
    return codeOf(this.kind);
  }

  /** Whether sending the identical request again can help. Derived from `kind` alone. */
  get retryable(): boolean {
    return this.kind === 'Retryable';
  }

  /** Recognises the class across copies of the package. */
  static is(value: unknown): value is VmchartError {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** The error as plain data, for a snapshot or a journal. */
  toRecord(): ErrorRecord {
    return {
      kind: this.kind,
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      wireKind: this.wireKind,
      reason: this.reason,
      requirement: this.requirement,
      status: this.status,
    };
  }

  toJSON(): ErrorRecord {
    return this.toRecord();
  }

  [printed](): string {
    return `${this.stack ?? `${this.name}: ${this.message}`}\n  [${this.code}${this.reason === null ? '' : ` ${this.reason}`}]`;
  }
}

/** Whether the identical request may be sent again; `false` for anything that is not ours. */
export function isRetryable(error: unknown): boolean {
  return VmchartError.is(error) && error.retryable;
}

/** Makes an error of ours from anything that was thrown, keeping ours as they are. */
export function toVmchartError(error: unknown, kind: ErrorKind = 'Unexpected'): VmchartError {
  if (VmchartError.is(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new VmchartError(kind, message, { cause: error });
}

/** What to do about a refusal of the lifecycle machine, by requirement or reason. */
const adviceOnRefusal: Readonly<Record<string, readonly string[]>> = {
  'no-vm': ['Launch one first: await sandbox.run({ imageIdentifier }).'],
  'untimed-event': ['Make events with sandboxEvents(…), which reads the clock for them.'],
  'STATE-3': ['Launch another VM with another handle: new Sandbox(ports).'],
  'STATE-5': ['Resume a suspended VM first: await sandbox.resume(). One that has ended is replaced by a new Sandbox.'],
  'STATE-7': ['sandbox.lifecycle says where the VM is; a running one needs no resume.'],
  'STATE-11': ['Launch another VM: new Sandbox(ports).'],
  'STATE-12': ['Launch another VM with a new Sandbox, and ask for a longer suspendedSec.'],
};

/** Makes an error of ours from a record that a machine carried. */
export function fromRecord(record: ErrorRecord): VmchartError {
  const details: ErrorDetails = {
    reason: record.reason,
    requirement: record.requirement,
    status: record.status,
    suggestions: adviceOnRefusal[record.requirement ?? record.reason ?? ''] ?? [],
  };
  return record.wireKind === null
    ? new VmchartError(record.kind, record.message, details)
    : new VmchartError({ wireKind: record.wireKind }, record.message, details);
}
