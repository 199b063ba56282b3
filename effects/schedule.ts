/** How often a wait looks: schedules are values that callers can choose (`client-behaviour.md` 3.3, 4.7, 4.8). */

/**
 * When to look again.
 *
 * @param attempt - how many looks there have been, from 1
 * @param elapsedMs - since the wait began, the time of the looks included
 * @returns milliseconds to sleep before the next look
 */
export type Schedule = (attempt: number, elapsedMs: number) => number;

/** Looks again after the same time, always. */
export function fixedSchedule(intervalMs: number): Schedule {
  return () => intervalMs;
}

/** Looks again after times that double from the first to the longest. */
export function doublingSchedule(firstMs: number, longestMs: number): Schedule {
  return (attempt) => Math.min(firstMs * 2 ** Math.min(attempt - 1, 40), longestMs);
}

/** Five seconds: the reference for waits on a MicroVM's state. */
export const referenceSchedule: Schedule = fixedSchedule(5_000);

/** Fifteen seconds: the reference for waits on an image. */
export const referenceImageSchedule: Schedule = fixedSchedule(15_000);

/** Two seconds: the reference for the wait on the daemon. */
export const referenceDaemonSchedule: Schedule = fixedSchedule(2_000);

/** One second: the reference for the wait on a command. */
export const referenceExecSchedule: Schedule = fixedSchedule(1_000);

const longestGapMs = 5_000;

/**
 * The moments at which the adaptive schedule looks, in milliseconds from the start.
 *
 * They are close together where most launches end, and then drift apart in proportion to the time
 * already waited, so that the share of a launch lost to not looking stays about the same.
 */
const moments: readonly number[] = (() => {
  const found = [0, 100, 200, 300];
  for (let at = 300, gap = 0; gap < longestGapMs; found.push(at)) {
    gap = Math.min(longestGapMs, Math.max(150, 0.21 * at - 165));
    at += gap;
  }
  return found;
})();

/**
 * The default: looks about every 150 ms at first, then ever less often, and every five seconds in the end.
 *
 * The moments are fixed points in time, so the time that an answer takes is not added to the gap; a look that
 * is late for its moment is made at once. Over launches spread evenly between 0.3 s and 3 s the mean lag of
 * noticing stays below the larger of 150 ms and a tenth of the launch, with at most 25 looks in the first ten
 * seconds.
 */
export const adaptiveSchedule: Schedule = (attempt, elapsedMs) => {
  const next = moments[attempt];
  return next === undefined ? longestGapMs : Math.max(0, next - elapsedMs);
};

/** For images: half a second at first, a tenth of the time already waited later, fifteen seconds at most. */
export const adaptiveImageSchedule: Schedule = (_attempt, elapsedMs) => Math.min(15_000, Math.max(500, elapsedMs / 10));

/** For commands: a short one is noticed within milliseconds, a long one costs a look a second. */
export const adaptiveExecSchedule: Schedule = doublingSchedule(5, 1_000);
