/** A streamed body that cannot hang silently and cannot end early unnoticed. */
import type { Clock, HttpStream } from '../ports.ts';
import { VmchartError } from '../errors.ts';
import { alarm, orAborted } from './deadline.ts';

/** What guards a body. */
export interface StreamGuard {
  readonly clock: Clock;
  /** Silence longer than this ends the body with `Transport`, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Method and path, for messages. */
  readonly what: string;
  readonly signals: readonly (AbortSignal | undefined)[];
}

/** Makes the error of a body that ended before its declared length (FC-091). */
export function truncatedBody(what: string, expected: number, got: number): VmchartError {
  return new VmchartError({ wireKind: 'Transport' }, `${what} ended early: ${got} of ${expected} bytes arrived.`, {
    reason: 'body-truncated',
  });
}

/**
 * Wraps a stream so that reading it ends at an abort or after a silence, whatever the source does,
 * and so that fewer bytes than declared are an error. Leaving the iteration closes the connection.
 */
export function guardedStream(stream: HttpStream, guard: StreamGuard): HttpStream {
  const ended = new AbortController();
  const follow = guard.signals.map((signal) => {
    const abort = () => ended.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    return () => signal?.removeEventListener('abort', abort);
  });
  const close = () => {
    for (const undo of follow) undo();
    stream.close();
  };
  return { status: stream.status, headers: stream.headers, close, body: guardedBody(stream, guard, ended, close) };
}

async function* guardedBody(
  stream: HttpStream,
  guard: StreamGuard,
  ended: AbortController,
  close: () => void,
): AsyncGenerator<Uint8Array> {
  const expected = stream.headers['content-encoding'] === undefined ? Number(stream.headers['content-length']) : NaN;
  const source = stream.body[Symbol.asyncIterator]();
  const watch = watchSilence(guard, ended);
  let got = 0;
  try {
    for (;;) {
      watch.listen();
      const next = await orAborted(source.next(), ended.signal);
      watch.heard();
      if (next.done === true) break;
      got += next.value.length;
      yield next.value;
    }
  } catch (error) {
    if (ended.signal.aborted) throw ended.signal.reason;
    if (VmchartError.is(error)) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new VmchartError({ wireKind: 'Transport' }, `${guard.what} was cut: ${why}`, { cause: error, reason: 'cut' });
  } finally {
    watch.stop();
    close();
    // Not awaited: a source that is stuck in a read must not hold up the one who leaves.
    source.return?.(undefined)?.catch(() => undefined);
  }
  if (Number.isSafeInteger(expected) && got < expected) throw truncatedBody(guard.what, expected, got);
}

/**
 * Watches for silence with one alarm for many chunks: setting a timer per chunk would cost more than reading it.
 * Only time spent waiting for the source counts; a consumer may be as slow as it likes.
 */
function watchSilence(guard: StreamGuard, ended: AbortController): { listen(): void; heard(): void; stop(): void } {
  let listeningSince: number | null = null;
  let cancel: (() => void) | null = null;
  const arm = (ms: number) => {
    cancel = alarm(guard.clock, ms, () => {
      cancel = null;
      if (listeningSince === null) return;
      const silentMs = guard.clock.now() - listeningSince;
      if (silentMs < guard.idleTimeoutMs) {
        arm(guard.idleTimeoutMs - silentMs);
        return;
      }
      ended.abort(
        new VmchartError({ wireKind: 'Transport' }, `${guard.what} was silent for ${guard.idleTimeoutMs / 1000} s.`, {
          reason: 'idle',
        }),
      );
    });
  };
  return {
    listen() {
      listeningSince = guard.clock.now();
      if (cancel === null) arm(guard.idleTimeoutMs);
    },
    heard() {
      listeningSince = null;
    },
    stop() {
      listeningSince = null;
      cancel?.();
    },
  };
}
