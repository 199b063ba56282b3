/** Sending one request again: when, how often and how late (`client-behaviour.md` 3.2). */
import { VmchartError } from '../errors.ts';
import type { Clock, Entropy } from '../ports.ts';
import { namesDeniedAction } from './classify.ts';
import { isDefinite, markDoubtful } from './definite.ts';

/** Numbers of the retry policy. */
export interface RetryPolicy {
  /** Retries after the first send. */
  readonly maxRetries: number;
  /** The first delay, doubled with each retry. */
  readonly baseMs: number;
  /** The longest base delay. */
  readonly maxMs: number;
  /** The longest `Retry-After` that is waited out; past it the error is returned at once. */
  readonly retryAfterCapMs: number;
  /** Retries of a 403 that names a denied action, for roles that were just made. Launches only (FC-014). */
  readonly accessDeniedRetries: number;
}

/** Five retries from 200 ms, doubling, up to 20 s; a `Retry-After` of up to 20 s is honoured. */
export const standardRetry: RetryPolicy = {
  maxRetries: 5,
  baseMs: 200,
  maxMs: 20_000,
  retryAfterCapMs: 20_000,
  accessDeniedRetries: 0,
};

/** A number in [0, 1) from the entropy port; one half when the pool is unavailable: a delay is no secret. */
function fraction(entropy: Entropy): number {
  const bytes = new Uint8Array(4);
  try {
    entropy.fill(bytes);
  } catch {
    return 0.5;
  }
  return new DataView(bytes.buffer).getUint32(0) / 2 ** 32;
}

/**
 * The delay before a retry: the doubled base plus a random part as wide as itself, so between one and
 * two times the base. Clients that were throttled together do not come back together.
 *
 * @param retry - from 1
 */
export function backoffMs(retry: number, policy: RetryPolicy, entropy: Entropy): number {
  const base = Math.min(policy.maxMs, policy.baseMs * 2 ** (retry - 1));
  return base * (1 + fraction(entropy));
}

/** What {@link withRetries} works with. */
export interface RetryContext {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly policy: RetryPolicy;
  readonly signal?: AbortSignal | undefined;
  /** Whether a 403 that names a denied action may be retried. */
  readonly mayRetryDenied?: boolean;
}

/**
 * Sends until there is an answer, a final error, or no retry left. Only errors of kind `Retryable` are
 * sent again; an error after a send that may have been carried out is marked as not definite.
 */
export async function withRetries<T>(send: () => Promise<T>, context: RetryContext): Promise<T> {
  const { clock, entropy, policy, signal } = context;
  let retries = 0;
  let denials = 0;
  let inDoubt = false;
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!VmchartError.is(error)) throw error;
      const denied = context.mayRetryDenied === true && namesDeniedAction(error);
      const again = denied ? denials < policy.accessDeniedRetries : error.retryable && retries < policy.maxRetries;
      const asked = error.retryAfterMs ?? 0;
      if (!again || asked > policy.retryAfterCapMs) throw inDoubt ? markDoubtful(error) : error;
      inDoubt ||= !isDefinite(error);
      if (denied) denials += 1;
      else retries += 1;
      await clock.sleep(Math.max(asked, backoffMs(retries + denials, policy, entropy)), signal);
    }
  }
}
