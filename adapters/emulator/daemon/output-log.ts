/** Everything an exec prints: the first bytes for polls, a replay window and live delivery for streams. */

/** One of the two output streams. */
export type StreamKind = 'stdout' | 'stderr';

/** A slice of output. `offset` counts the bytes of both streams together, in the order in which they were read. */
export interface OutputChunk {
  readonly offset: number;
  readonly stream: StreamKind;
  readonly data: Buffer;
}

/** Longest slice in one event, in bytes. */
export const maxChunkBytes = 16_384;

/** What an attached reader gets next. */
export type NextOutput = OutputChunk | { readonly from: number; readonly to: number };

/** An attached reader with a cursor of its own. */
export interface OutputReader {
  /** The next chunk or gap, or `null` when there is none yet. */
  next(): NextOutput | null;
  /** How many bytes it is behind. */
  readonly behind: number;
  detach(): void;
}

/** See {@link createOutputLog}. */
export interface OutputLog {
  readonly total: number;
  append(stream: StreamKind, data: Buffer): void;
  /** Attaches at a byte offset. `wake` is called when there is something new. */
  attach(offset: number, wake: () => void): OutputReader;
  /** The first bytes of a stream as text, invalid UTF-8 replaced. */
  text(stream: StreamKind): string;
  /** Whether a stream had more than a poll may show. */
  readonly truncated: boolean;
  /** Lets the polled text go. The replay window stays. */
  releaseText(): void;
  /** How far the slowest attached reader is behind, in bytes. */
  readonly slowest: number;
  /** Calls back once no attached reader is more than `bytes` behind. */
  whenCaughtUp(bytes: number, listener: () => void): void;
}

interface Captured {
  readonly chunks: Buffer[];
  size: number;
  dropped: boolean;
}

/**
 * The log of one exec. Chunks are kept as they were read, never copied.
 *
 * @param limits - `replayBytes`: size of the replay window; `capacity`: how many messages a reader may be behind
 */
export function createOutputLog(limits: {
  readonly replayBytes: number;
  readonly capacity: number;
  readonly maxOutputBytes: number;
}): OutputLog {
  /** Kept chunks; the first has number `firstNumber`. Trimmed lazily, so `head` skips what is gone. */
  let kept: OutputChunk[] = [];
  let head = 0;
  let firstNumber = 0;
  let total = 0;
  const readers = new Set<{ wake: () => void; reader: OutputReader }>();
  const captured: Record<StreamKind, Captured> = {
    stdout: { chunks: [], size: 0, dropped: false },
    stderr: { chunks: [], size: 0, dropped: false },
  };

  let waiting: { readonly bytes: number; readonly listener: () => void }[] = [];

  const slowest = (): number => Math.max(0, ...[...readers].map(({ reader }) => reader.behind));
  const noticeProgress = (): void => {
    if (waiting.length === 0) return;
    const behind = slowest();
    const served = waiting.filter(({ bytes }) => behind <= bytes);
    waiting = waiting.filter(({ bytes }) => behind > bytes);
    for (const { listener } of served) listener();
  };

  const nextNumber = (): number => firstNumber + kept.length - head;
  const chunkNumber = (number: number): OutputChunk | undefined => kept[head + number - firstNumber];
  const windowStart = (): number => Math.max(0, total - limits.replayBytes);

  const capture = (stream: StreamKind, data: Buffer): void => {
    const into = captured[stream];
    const room = limits.maxOutputBytes - into.size;
    if (data.length > room) into.dropped = true;
    if (room <= 0) return;
    const part = data.length > room ? data.subarray(0, room) : data;
    into.chunks.push(part);
    into.size += part.length;
  };

  /** Forgets chunks that neither the replay window nor a reader within capacity can still need. */
  const trim = (): void => {
    const start = windowStart();
    for (;;) {
      const first = kept[head];
      if (first === undefined || kept.length - head <= limits.capacity) break;
      if (first.offset + first.data.length > start) break;
      head += 1;
      firstNumber += 1;
    }
    if (head > 64 && head * 2 > kept.length) {
      kept = kept.slice(head);
      head = 0;
    }
  };

  return {
    get total() {
      return total;
    },
    append(stream, data) {
      capture(stream, data);
      for (let start = 0; start < data.length; start += maxChunkBytes) {
        const part = data.length <= maxChunkBytes ? data : data.subarray(start, start + maxChunkBytes);
        kept.push({ offset: total, stream, data: part });
        total += part.length;
      }
      trim();
      for (const { wake } of readers) wake();
    },
    attach(offset, wake) {
      let cursor = offset;
      const start = windowStart();
      const replay: NextOutput[] = [];
      if (cursor < start) {
        replay.push({ from: cursor, to: start });
        cursor = start;
      }
      for (let index = head; index < kept.length; index += 1) {
        const chunk = kept[index] as OutputChunk;
        if (chunk.offset + chunk.data.length <= cursor) continue;
        replay.push(cutTo(chunk, cursor));
      }
      cursor = offset;
      let replayed = 0;
      let number = nextNumber();
      const advance = (): NextOutput | null => {
        const again = replay[replayed];
        if (again !== undefined) {
          replayed += 1;
          cursor = endOf(again);
          return again;
        }
        if (nextNumber() - number > limits.capacity) {
          const gap = { from: cursor, to: total };
          number = nextNumber();
          if (gap.from >= gap.to) return null;
          cursor = total;
          return gap;
        }
        for (;;) {
          const chunk = chunkNumber(number);
          if (chunk === undefined) return null;
          number += 1;
          if (chunk.offset + chunk.data.length <= cursor) continue;
          const cut = cutTo(chunk, cursor);
          cursor = endOf(cut);
          return cut;
        }
      };
      const reader: OutputReader = {
        next() {
          const output = advance();
          noticeProgress();
          return output;
        },
        get behind() {
          return Math.max(0, total - cursor);
        },
        detach() {
          readers.delete(entry);
          noticeProgress();
        },
      };
      const entry = { wake, reader };
      readers.add(entry);
      return reader;
    },
    text: (stream) => Buffer.concat(captured[stream].chunks).toString('utf8'),
    get truncated() {
      return captured.stdout.dropped || captured.stderr.dropped;
    },
    releaseText() {
      for (const stream of [captured.stdout, captured.stderr]) stream.chunks.length = 0;
    },
    get slowest() {
      return slowest();
    },
    whenCaughtUp(bytes, listener) {
      waiting.push({ bytes, listener });
      noticeProgress();
    },
  };
}

/** The part of a chunk from `offset` on. */
function cutTo(chunk: OutputChunk, offset: number): OutputChunk {
  if (offset <= chunk.offset) return chunk;
  return { offset, stream: chunk.stream, data: chunk.data.subarray(offset - chunk.offset) };
}

function endOf(output: NextOutput): number {
  return 'to' in output ? output.to : output.offset + output.data.length;
}
