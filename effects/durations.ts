/** Durations and rates that callers give, checked before anything is done with them: NaN is never in time. */
import { VmchartError } from './errors.ts';

/** Thirty years of 365 days: what a deadline saturates to, since no clock holds more (`client-behaviour.md` 4.3). */
export const longestDeadlineMs = 946_080_000_000;

/**
 * Checks a duration that a caller gave, before anything is sent.
 *
 * @throws VmchartError `InvalidArg` unless it is finite, not negative and below 2^64 seconds.
 * @returns the duration, saturated to {@link longestDeadlineMs}.
 */
export function checkedDurationMs(name: string, ms: number): number {
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0 || ms >= 2 ** 64 * 1000) {
    throw new VmchartError('InvalidArg', `${name} must be a finite number of milliseconds, zero or more; got ${ms}.`, {
      reason: 'duration',
    });
  }
  return Math.min(ms, longestDeadlineMs);
}

/**
 * Checks how often something is to be done.
 *
 * @throws VmchartError `InvalidArg` unless it is finite and at least one millisecond.
 */
export function checkedIntervalMs(name: string, ms: number): number {
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= 1) return ms;
  throw new VmchartError(
    'InvalidArg',
    `${name} must be a finite number of milliseconds, one or more; got ${String(ms)}.`,
    {
      reason: 'duration',
    },
  );
}

/**
 * Checks a rate or another number that has to be above zero.
 *
 * @throws VmchartError `InvalidArg` unless it is finite and positive.
 */
export function checkedPositive(name: string, value: number): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  throw new VmchartError('InvalidArg', `${name} must be a finite number above zero; got ${String(value)}.`, {
    reason: 'number',
  });
}

/**
 * Checks how many times something may be done.
 *
 * @throws VmchartError `InvalidArg` unless it is finite and not negative.
 */
export function checkedCount(name: string, count: number): number {
  if (typeof count === 'number' && Number.isFinite(count) && count >= 0) return count;
  throw new VmchartError('InvalidArg', `${name} must be a finite number, zero or more; got ${String(count)}.`, {
    reason: 'number',
  });
}
