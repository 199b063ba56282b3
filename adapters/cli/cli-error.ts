/** What a command ends with when it fails: one sentence, something to try, and a documented exit code. */
import { VmchartError } from '../../effects/errors.ts';
import type { ErrorKind } from '../../machines/records.ts';
import type { CliErrorKind, ExitRow } from './exit-codes.ts';
import { exitRowOf } from './exit-codes.ts';

/** What a failure may carry besides its sentence. */
export interface CliErrorDetails {
  /** What a person can try next, each a sentence. */
  readonly suggestions?: readonly string[];
  /** What the command knows in spite of the failure: it becomes `data` of the envelope. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Another exit code than the class's own: only for `--exec-status`. */
  readonly exitCode?: number;
  readonly cause?: unknown;
}

/** A failure of the command line. Its class decides the exit code. */
export class CliError extends Error {
  readonly kind: CliErrorKind;
  readonly code: string;
  readonly exitCode: number;
  readonly suggestions: readonly string[];
  readonly data: Readonly<Record<string, unknown>> | null;

  constructor(kind: CliErrorKind, message: string, details: CliErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const row: ExitRow = exitRowOf(kind);
    this.name = 'CliError';
    this.kind = kind;
    this.code = row.code;
    this.exitCode = details.exitCode ?? row.exitCode;
    this.suggestions = details.suggestions ?? [];
    this.data = details.data ?? null;
  }
}

/** A refusal of what was typed: exit code 2, before any call. */
export function usageError(message: string, suggestions: readonly string[] = []): CliError {
  return new CliError('InvalidArg', message, { suggestions });
}

/** What helps with a class of failures when the failure itself knows nothing better. */
const usualAdvice: Partial<Record<ErrorKind, readonly string[]>> = {
  Credentials: ['Check AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and the region.'],
  Retryable: ['Check that the service can be reached, and try the same command again.'],
  Timeout: ['Nothing was cancelled: look again, or allow more time.'],
};

/** Makes a failure of the command line from anything that was thrown. Nothing but its message is shown. */
export function toCliError(error: unknown, data?: Readonly<Record<string, unknown>>): CliError {
  if (error instanceof CliError) {
    if (data === undefined || error.data !== null) return error;
    const { kind, message, suggestions, exitCode } = error;
    return new CliError(kind, message, { suggestions, exitCode, data, cause: error });
  }
  const more = data === undefined ? {} : { data };
  if (VmchartError.is(error)) {
    const suggestions = error.suggestions.length > 0 ? error.suggestions : (usualAdvice[error.kind] ?? []);
    return new CliError(error.kind, error.message, { suggestions, cause: error, ...more });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new CliError('Unexpected', `Something that should not happen did: ${message}`, {
    suggestions: ['Run it again with VMCHART_DEBUG=1 to see where, and report it.'],
    cause: error,
    ...more,
  });
}
