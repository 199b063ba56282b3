/** How long a wait sleeps between two polls. */

/** A schedule of polls. */
export interface PollSchedule {
  /** The sleep after the poll with this number (the first is 1), in milliseconds. */
  delayMs(attempt: number): number;
}

/** Always the same sleep. */
export function fixedPolling(delayMs: number): PollSchedule {
  return { delayMs: () => delayMs };
}

/** Sleeps that double from the first to the longest. */
export function doublingPolling(firstMs: number, longestMs: number): PollSchedule {
  return { delayMs: (attempt) => Math.min(firstMs * 2 ** Math.min(attempt - 1, 40), longestMs) };
}

/** The reference client's wait for a command: once a second (`client-behaviour.md` 4.8). */
export const referenceExecPolling: PollSchedule = fixedPolling(1_000);

/** The reference client's wait for the daemon: every two seconds (`client-behaviour.md` 4.7). */
export const referenceReadyPolling: PollSchedule = fixedPolling(2_000);

/** The default wait for a command: a short command is noticed within milliseconds, a long one costs a poll a second. */
export const adaptiveExecPolling: PollSchedule = doublingPolling(5, 1_000);

/** The default wait for the daemon. */
export const adaptiveReadyPolling: PollSchedule = doublingPolling(50, 2_000);
