/** Everything an exec prints: the first bytes for polls, a replay window and live delivery for streams. */
import { createByteRing } from './byte-ring.ts';

/** One of the two output streams. */
export type StreamKind = 'stdout' | 'stderr';

/** A slice of output. `offset` counts the bytes of both streams together, in the order in which they were read. */
export interface OutputChunk {
  readonly offset: number;
  readonly stream: StreamKind;
  readonly data: Buffer;
}

/** Bytes `[from, to)` that an attached reader will not get. */
export interface OutputGap {
  readonly from: number;
  readonly to: number;
}

/** What an attached reader gets next. The bytes of a chunk are valid until more output is appended. */
export type NextOutput = OutputChunk | OutputGap;

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
  /** Appends a copy of what was read, at most {@link maxAppendBytes}. */
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

/** Longest slice in one event, in bytes. */
export const maxChunkBytes = 16_384;
/** Longest piece that may be appended at once, in bytes. */
export const maxAppendBytes = 65_536;

/** Where a chunk lies; its bytes are in the ring. */
interface Mark {
  readonly offset: number;
  readonly length: number;
  readonly stream: StreamKind;
}

interface Captured {
  readonly chunks: Buffer[];
  size: number;
  dropped: boolean;
}

/**
 * The log of one exec.
 *
 * @param limits - `replayBytes`: size of the replay window; `capacity`: how many messages a reader may be behind;
 *   `maxOutputBytes`: what a poll shows of each stream
 */
export function createOutputLog(limits: {
  readonly replayBytes: number;
  readonly capacity: number;
  readonly maxOutputBytes: number;
}): OutputLog {
  const ring = createByteRing(Math.max(limits.replayBytes, limits.capacity * maxChunkBytes), maxAppendBytes);
  /** Marks of what a reader may still ask for; the first has number `firstNumber`, those before `head` are gone. */
  let marks: Mark[] = [];
  let head = 0;
  let firstNumber = 0;
  let total = 0;
  const readers = new Set<{ readonly wake: () => void; readonly reader: OutputReader }>();
  let waiting: { readonly bytes: number; readonly listener: () => void }[] = [];
  const captured: Record<StreamKind, Captured> = {
    stdout: { chunks: [], size: 0, dropped: false },
    stderr: { chunks: [], size: 0, dropped: false },
  };

  const nextNumber = (): number => firstNumber + marks.length - head;
  const windowStart = (): number => Math.max(0, total - limits.replayBytes);
  const slowest = (): number => Math.max(0, ...[...readers].map(({ reader }) => reader.behind));
  const noticeProgress = (): void => {
    if (waiting.length === 0) return;
    const behind = slowest();
    const served = waiting.filter(({ bytes }) => behind <= bytes);
    waiting = waiting.filter(({ bytes }) => behind > bytes);
    for (const { listener } of served) listener();
  };

  const capture = (stream: StreamKind, data: Buffer): void => {
    const into = captured[stream];
    const room = limits.maxOutputBytes - into.size;
    if (data.length > room) into.dropped = true;
    if (room <= 0) return;
    const part = Buffer.from(data.subarray(0, room));
    into.chunks.push(part);
    into.size += part.length;
  };

  /** Forgets marks that neither the replay window nor a reader within capacity can still need. */
  const trim = (): void => {
    const start = windowStart();
    for (;;) {
      const first = marks[head];
      if (first === undefined || marks.length - head <= limits.capacity || first.offset + first.length > start) break;
      head += 1;
      firstNumber += 1;
    }
    if (head > 64 && head * 2 > marks.length) {
      marks = marks.slice(head);
      head = 0;
    }
  };

  /** The part of a chunk from `from` on. */
  const chunkFrom = ({ offset, length, stream }: Mark, from: number): OutputChunk => {
    const start = Math.max(offset, from);
    return { offset: start, stream, data: ring.view(start, offset + length - start) };
  };

  /** What is in the replay window from `offset` on. Copied, since the reader may take its time. */
  const replayFrom = (offset: number): NextOutput[] => {
    const start = windowStart();
    const wanted = Math.max(offset, start);
    const chunks = marks
      .slice(head)
      .filter((mark) => mark.offset + mark.length > wanted)
      .map((mark) => chunkFrom(mark, wanted))
      .map((chunk) => ({ ...chunk, data: Buffer.from(chunk.data) }));
    return offset < start ? [{ from: offset, to: start }, ...chunks] : chunks;
  };

  return {
    get total() {
      return total;
    },
    append(stream, data) {
      capture(stream, data);
      ring.append(data);
      for (let start = 0; start < data.length; start += maxChunkBytes) {
        const length = Math.min(maxChunkBytes, data.length - start);
        marks.push({ offset: total + start, length, stream });
      }
      total += data.length;
      trim();
      for (const { wake } of readers) wake();
    },
    attach(offset, wake) {
      const replay = replayFrom(offset);
      let replayed = 0;
      let number = nextNumber();
      let cursor = offset;

      const live = (): NextOutput | null => {
        if (nextNumber() - number > limits.capacity) {
          number = nextNumber();
          return cursor < total ? { from: cursor, to: total } : null;
        }
        for (;;) {
          const mark = marks[head + number - firstNumber];
          if (mark === undefined) return null;
          number += 1;
          if (mark.offset + mark.length > cursor) return chunkFrom(mark, cursor);
        }
      };
      const reader: OutputReader = {
        next() {
          const output = replay[replayed] ?? live();
          if (replayed < replay.length) replayed += 1;
          if (output === null) return null;
          cursor = 'to' in output ? output.to : output.offset + output.data.length;
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
