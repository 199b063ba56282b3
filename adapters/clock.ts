/** Clocks: the system's, and a simulated one that tests and users' tests share. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../effects/index.ts';

/** Node fires a timer above this at once, so longer sleeps are taken in pieces. */
const longestTimerMs = 2 ** 31 - 1;

/** The real clock: monotonic readings from `performance`, wall time from `Date`. */
export function systemClock(): Clock {
  return {
    now: () => performance.now(),
    wallNow: () => Date.now(),
    async sleep(ms, signal) {
      const until = performance.now() + ms;
      for (let left = ms; left > 0; left = until - performance.now()) {
        await delay(Math.min(left, longestTimerMs), undefined, signal === undefined ? {} : { signal }).catch(
          (error) => {
            throw signal?.aborted ? signal.reason : error;
          },
        );
      }
      signal?.throwIfAborted();
    },
    alarm(ms, fire) {
      const at = performance.now() + ms;
      let timer: NodeJS.Timeout;
      const arm = () => {
        const left = at - performance.now();
        timer = setTimeout(left > longestTimerMs ? arm : fire, Math.min(Math.max(0, left), longestTimerMs));
      };
      arm();
      return () => clearTimeout(timer);
    },
  };
}

/** A clock that moves only when it is told to. */
export interface ManualClock extends Clock {
  /** Moves time forward, waking sleepers in order and letting what they wake run before going on. */
  advance(ms: number): Promise<void>;
  /** Sets the wall time without moving the monotonic reading. */
  setWall(unixMs: number): void;
  /** How many sleeps are waiting; alarms do not count. */
  readonly sleepers: number;
}

interface Sleeper {
  readonly wakeAt: number;
  readonly alarm: boolean;
  readonly wake: () => void;
}

/** Lets promise callbacks, and what they start, run to rest. */
async function settle(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}

/**
 * A simulated clock, starting at 0.
 *
 * With `autoAdvance` a sleep moves the clock instead of waiting, as the reference scenarios assume;
 * without it a sleep waits for {@link ManualClock.advance}.
 *
 * @example
 * const clock = manualClock();
 * const waiting = clock.sleep(60_000);
 * await clock.advance(60_000);
 * await waiting;
 */
export function manualClock(options: { autoAdvance?: boolean; startMs?: number; wallMs?: number } = {}): ManualClock {
  let now = options.startMs ?? 0;
  let wallOffset = (options.wallMs ?? Date.UTC(2026, 0, 1)) - now;
  const sleepers = new Set<Sleeper>();

  const earliest = (until: number): Sleeper | undefined => {
    let found: Sleeper | undefined;
    for (const sleeper of sleepers) {
      if (sleeper.wakeAt <= until && (found === undefined || sleeper.wakeAt < found.wakeAt)) found = sleeper;
    }
    return found;
  };

  return {
    now: () => now,
    wallNow: () => now + wallOffset,
    get sleepers() {
      return [...sleepers].filter((sleeper) => !sleeper.alarm).length;
    },
    setWall(unixMs) {
      wallOffset = unixMs - now;
    },
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      if (options.autoAdvance === true) {
        now += Math.max(0, ms);
        for (let due = earliest(now); due !== undefined; due = earliest(now)) {
          sleepers.delete(due);
          due.wake();
        }
        await settle();
        signal?.throwIfAborted();
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const sleeper: Sleeper = {
          wakeAt: now + Math.max(0, ms),
          alarm: false,
          wake: () => {
            signal?.removeEventListener('abort', abort);
            resolve();
          },
        };
        const abort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason as Error);
        };
        signal?.addEventListener('abort', abort, { once: true });
        sleepers.add(sleeper);
      });
    },
    alarm(ms, fire) {
      const sleeper: Sleeper = { wakeAt: now + Math.max(0, ms), alarm: true, wake: fire };
      sleepers.add(sleeper);
      return () => void sleepers.delete(sleeper);
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let next = earliest(until); next !== undefined; next = earliest(until)) {
        now = Math.max(now, next.wakeAt);
        sleepers.delete(next);
        next.wake();
        await settle();
      }
      now = until;
      await settle();
    },
  };
}
