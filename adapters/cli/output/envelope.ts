/** The one JSON object that a command prints under `--json`. */
import type { CliError } from '../cli-error.ts';
import type { Outcome } from '../command.ts';

/** A success. */
export interface SuccessEnvelope {
  /** The command, such as `run`. */
  readonly type: string;
  readonly ok: true;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A failure. `data` is there when something is known in spite of it, such as the output of a failed command. */
export interface FailureEnvelope {
  readonly type: string;
  readonly ok: false;
  readonly error: {
    readonly code: string;
    readonly kind: string;
    readonly message: string;
    readonly exitCode: number;
    readonly suggestions: readonly string[];
  };
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Wraps a success. */
export function successEnvelope(type: string, outcome: Outcome): SuccessEnvelope {
  return { type, ok: true, data: outcome.data };
}

/** Wraps a failure. */
export function failureEnvelope(type: string, error: CliError): FailureEnvelope {
  const { code, kind, message, exitCode, suggestions, data } = error;
  return {
    type,
    ok: false,
    error: { code, kind, message, exitCode, suggestions },
    ...(data === null ? {} : { data }),
  };
}
