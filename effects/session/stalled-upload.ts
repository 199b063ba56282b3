/** Long uploads: no limit on the whole, a limit on silence. */
import type { Clock } from '../ports.ts';
import { VmchartError } from '../errors.ts';
import { alarm, linkSignals } from './deadline.ts';

/** An upload that is watched. */
export interface WatchedUpload {
  readonly signal: AbortSignal;
  /** Passes a body on and notes its progress. */
  watch(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Ends the watching. */
  release(): void;
}

/**
 * Ends an upload when the other side takes nothing, or does not answer, for `stallMs`. Time that the local source
 * takes to give its next bytes does not count.
 */
export function watchedUpload(
  clock: Clock,
  stallMs: number,
  what: string,
  onProgress: ((sentBytes: number) => void) | undefined,
  signal: AbortSignal | undefined,
): WatchedUpload {
  const link = linkSignals(signal);
  let waitingSince: number | null = null;
  let cancel: (() => void) | null = null;
  const arm = (ms: number) => {
    cancel = alarm(clock, ms, () => {
      cancel = null;
      if (waitingSince === null) return;
      const silentMs = clock.now() - waitingSince;
      if (silentMs < stallMs) arm(stallMs - silentMs);
      else {
        const message = `${what} made no progress for ${stallMs / 1000} s.`;
        link.abort(new VmchartError({ wireKind: 'Transport' }, message, { reason: 'stalled' }));
      }
    });
  };
  const wait = () => {
    waitingSince = clock.now();
    if (cancel === null) arm(stallMs);
  };
  wait();
  return {
    signal: link.signal,
    async *watch(body) {
      let sentBytes = 0;
      waitingSince = null;
      for await (const piece of body) {
        wait();
        yield piece;
        waitingSince = null;
        sentBytes += piece.length;
        onProgress?.(sentBytes);
      }
      wait();
    },
    release() {
      waitingSince = null;
      cancel?.();
      link.release();
    },
  };
}
