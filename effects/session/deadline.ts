/** Deadlines over the clock port: bounded work, aborts that settle at once, and durations that are checked. */
import type { Clock } from '../ports.ts';

export { checkedDurationMs, longestDeadlineMs } from '../durations.ts';

/** Calls `fire` once after `ms` milliseconds, unless the returned function is called before. */
export function alarm(clock: Clock, ms: number, fire: () => void): () => void {
  if (clock.alarm !== undefined) return clock.alarm(ms, fire);
  const stop = new AbortController();
  clock.sleep(ms, stop.signal).then(fire, () => undefined);
  return () => stop.abort();
}

/** Settles with the work, or rejects with the signal's reason the moment it aborts, whichever is first. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) {
      work.catch(() => undefined);
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    work.then(
      (value) => {
        signal.removeEventListener('abort', abort);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', abort);
        reject(error as Error);
      },
    );
  });
}

/** An abort controller that also follows other signals, until `release` is called. */
export interface Linked {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  release(): void;
}

/** Links signals by hand: `AbortSignal.any` keeps every short-lived signal alive on Node 20. */
export function linkSignals(...sources: readonly (AbortSignal | undefined)[]): Linked {
  const controller = new AbortController();
  const undo: (() => void)[] = [];
  for (const source of sources) {
    if (source === undefined) continue;
    if (source.aborted) {
      controller.abort(source.reason);
      break;
    }
    const follow = () => controller.abort(source.reason);
    source.addEventListener('abort', follow, { once: true });
    undo.push(() => source.removeEventListener('abort', follow));
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => {
      for (const step of undo) step();
    },
  };
}

/** What bounds a piece of work. */
export interface Bounds {
  readonly clock: Clock;
  /** Absent: no time limit. */
  readonly limitMs?: number | undefined;
  /** Makes the error of the elapsed limit. */
  readonly expired: () => Error;
  /** Any of them ends the work. */
  readonly signals?: readonly (AbortSignal | undefined)[];
}

/**
 * Runs work under one deadline and some signals.
 *
 * It settles at the moment of the deadline or the abort even when the work ignores its signal,
 * and a late failure of such work is swallowed, so that nothing is left unhandled.
 */
export async function bounded<T>(bounds: Bounds, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const linked = linkSignals(...(bounds.signals ?? []));
  linked.signal.throwIfAborted();
  const cancel =
    bounds.limitMs === undefined
      ? () => undefined
      : alarm(bounds.clock, bounds.limitMs, () => linked.abort(bounds.expired()));
  try {
    return await orAborted(work(linked.signal), linked.signal);
  } finally {
    cancel();
    linked.release();
  }
}
