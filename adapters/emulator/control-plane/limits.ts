/** Rates of calls, enforced when a user asks for it (`platform-behaviour.md` 16). */
import type { Clock } from '../../../effects/index.ts';
import type { EmulatorLimits } from '../options.ts';
import type { OperationName } from './routes.ts';
import { ServiceError } from './service-error.ts';

/** Throws a ThrottlingException when a call comes over its operation's rate. */
export type RateLimit = (region: string, operation: OperationName) => void;

/** A token bucket for each region and operation: one second's worth of calls in store. */
export function makeRateLimit(clock: Clock, limits: EmulatorLimits): RateLimit {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return (region, operation) => {
    const rate = limits.ratePerSec[operation];
    if (rate === undefined) return;
    const key = `${region} ${operation}`;
    const now = clock.now();
    const bucket = buckets.get(key) ?? { tokens: rate, at: now };
    bucket.tokens = Math.min(rate, bucket.tokens + ((now - bucket.at) * rate) / 1000);
    bucket.at = now;
    buckets.set(key, bucket);
    if (bucket.tokens < 1) {
      throw new ServiceError('ThrottlingException', 'Rate exceeded', {
        status: limits.throttleStatus,
        retryAfterSec: 1,
        unseen: true,
      });
    }
    bucket.tokens -= 1;
  };
}
