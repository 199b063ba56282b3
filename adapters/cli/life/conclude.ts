/** From all that happened in a life to one outcome or one failure. */
import type { TeardownReport } from '../../../effects/index.ts';
import { CliError, toCliError } from '../cli-error.ts';
import type { Interrupts } from '../signals.ts';
import {
  cleanupSuggestions,
  leftovers,
  unresolvedSentence,
  unresolvedSuggestions,
  unresolvedToken,
} from './teardown.ts';

/** What is known at the end. */
export interface Ending {
  /** What was thrown on the way, if anything. */
  readonly failure: unknown;
  /** The failure of the command in the VM, if it failed. */
  readonly execFailure: CliError | null;
  readonly teardown: TeardownReport;
  readonly data: Readonly<Record<string, unknown>>;
  readonly region: string;
  readonly interrupts: Interrupts;
  /** Nobody keeps a record of this life: what is not known now, no later command can find out. */
  readonly unnamed?: boolean;
}

/**
 * The failure of a life, or `null`. An interrupt comes first, then what went wrong, then the command's own
 * failure, then what could not be deleted; whichever it is, what is left behind is named.
 */
export function failureOf(ending: Ending): CliError | null {
  const { failure, execFailure, teardown, data, region, interrupts } = ending;
  const token = ending.unnamed === true ? unresolvedToken(teardown) : null;
  const left = token === null ? leftovers(teardown) : unresolvedSentence(token);
  const cleanup = token === null ? cleanupSuggestions(teardown, region) : unresolvedSuggestions(region);
  const interrupted = interrupts.signal.aborted;
  const cause = interrupted ? (interrupts.signal.reason as unknown) : failure;
  if (cause !== null) {
    const told = toCliError(cause, data);
    // "Try the same command again" would launch a second VM beside the one that may be there.
    const error = token === null ? told : withoutSuggestions(told);
    const clean = interrupted ? endText(teardown) : null;
    return withMore(error, left ?? clean, cleanup, data);
  }
  if (execFailure !== null) return left === null ? execFailure : withMore(execFailure, left, cleanup, data);
  if (left === null) return null;
  return new CliError('Platform', left, { suggestions: cleanup, data });
}

function withoutSuggestions(error: CliError): CliError {
  const { kind, message, exitCode, data } = error;
  return new CliError(kind, message, { exitCode, ...(data === null ? {} : { data }), cause: error });
}

function endText({ terminateAccepted, lifecycle }: TeardownReport): string {
  if (lifecycle === 'TERMINATED') return 'The VM was ended.';
  return terminateAccepted ? 'The VM is ending.' : 'Nothing was launched.';
}

function withMore(
  error: CliError,
  sentence: string | null,
  suggestions: readonly string[],
  data: Readonly<Record<string, unknown>>,
): CliError {
  return new CliError(error.kind, sentence === null ? error.message : `${error.message} ${sentence}`, {
    suggestions: [...error.suggestions, ...suggestions],
    exitCode: error.exitCode,
    data,
    cause: error,
  });
}
