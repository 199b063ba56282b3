/**
 * The framing of event streams, on bytes.
 *
 * It reads the whole grammar (three line ends, comments, fields without a value, a byte order mark that may itself
 * be split) and gives the same frames for every way in which the bytes are cut into chunks. Work is linear in the
 * input, lines within one chunk are not copied, and one budget bounds what an unfinished frame may hold.
 */
import { VmchartError } from '../errors.ts';

/** One dispatched event. */
export interface EventFrame {
  /** The last `event` field of the frame. */
  readonly event: string | undefined;
  /** The last usable `id` field of the frame. */
  readonly id: string | undefined;
  /** The `data` lines joined by line feeds, as UTF-8. It may be a view of a chunk. */
  readonly data: Uint8Array;
}

/** How many bytes an unfinished frame may hold by default: 4 MiB (`client-behaviour.md` 4.11). */
export const defaultFrameLimitBytes = 4 * 1024 * 1024;

const lineFeed = 10;
const carriageReturn = 13;
const space = 32;
const colon = 58;
const byteOrderMark = [0xef, 0xbb, 0xbf] as const;
const nothing = Buffer.alloc(0);

/** Reads one event stream. */
export class EventStreamParser {
  readonly #limitBytes: number;
  /** How much of a byte order mark was seen at the very start; -1 once that is decided. */
  #markBytes = 0;
  /** The last byte was a carriage return: a line feed that follows belongs to it. */
  #afterReturn = false;
  /** The pieces of a line that has no end yet. */
  #line: Buffer[] = [];
  #lineBytes = 0;
  /** Bytes of the finished lines of the frame under way, their ends included. */
  #frameBytes = 0;
  #data: Buffer[] = [];
  #event: string | undefined;
  #id: string | undefined;
  #retryMs: number | null = null;

  constructor(options: { readonly limitBytes?: number } = {}) {
    this.#limitBytes = options.limitBytes ?? defaultFrameLimitBytes;
  }

  /** Bytes held for a frame that has no end yet. */
  get pendingBytes(): number {
    return this.#frameBytes + this.#lineBytes;
  }

  /** The last `retry` field, in milliseconds. */
  get retryMs(): number | null {
    return this.#retryMs;
  }

  /**
   * Reads a chunk and appends the frames that it completes.
   *
   * @throws VmchartError `Protocol`, reason `sse-limit`, when a frame outgrows the budget. The frames before
   * it have been appended, and what was held is dropped.
   */
  push(chunk: Uint8Array, into: EventFrame[]): void {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.#markBytes >= 0) bytes = this.#withoutMark(bytes);
    let from = 0;
    if (this.#afterReturn && bytes.length > 0) {
      this.#afterReturn = false;
      if (bytes[0] === lineFeed) from = 1;
    }
    let nextReturn = bytes.indexOf(carriageReturn, from);
    let nextFeed = bytes.indexOf(lineFeed, from);
    while (nextFeed !== -1 || nextReturn !== -1) {
      const endsInReturn = nextReturn !== -1 && (nextFeed === -1 || nextReturn < nextFeed);
      const end = endsInReturn ? nextReturn : nextFeed;
      this.#endLine(bytes, from, end, into);
      from = end + 1;
      if (endsInReturn) {
        if (from === bytes.length) this.#afterReturn = true;
        else if (bytes[from] === lineFeed) from += 1;
        nextReturn = bytes.indexOf(carriageReturn, from);
        if (nextFeed !== -1 && nextFeed < from) nextFeed = bytes.indexOf(lineFeed, from);
      } else {
        nextFeed = bytes.indexOf(lineFeed, from);
      }
    }
    const left = bytes.length - from;
    if (left === 0) return;
    this.#lineBytes += left;
    this.#checkBudget();
    this.#line.push(bytes.subarray(from));
  }

  #endLine(bytes: Buffer, from: number, end: number, into: EventFrame[]): void {
    const length = end - from;
    if (length === 0 && this.#lineBytes === 0) {
      this.#dispatch(into);
      return;
    }
    this.#lineBytes += length;
    this.#checkBudget();
    let line = bytes.subarray(from, end);
    if (this.#line.length > 0) {
      this.#line.push(line);
      line = Buffer.concat(this.#line, this.#lineBytes);
      this.#line = [];
    }
    this.#frameBytes += this.#lineBytes + 1;
    this.#lineBytes = 0;
    this.#field(line);
  }

  #field(line: Buffer): void {
    if (startsWithData(line)) {
      this.#data.push(line.subarray(line[5] === space ? 6 : 5));
      return;
    }
    const at = line.indexOf(colon);
    if (at === 0) return;
    // One character more than the longest known name tells it from every longer one.
    const name = line.toString('latin1', 0, Math.min(at === -1 ? line.length : at, 6));
    const value = at === -1 ? nothing : line.subarray(line[at + 1] === space ? at + 2 : at + 1);
    if (name === 'event') this.#event = value.toString('utf8') || undefined;
    else if (name === 'data' && at === -1) this.#data.push(value);
    else if (name === 'id' && !value.includes(0)) this.#id = value.toString('utf8');
    else if (name === 'retry' && /^\d+$/.test(value.toString('latin1')))
      this.#retryMs = Number(value.toString('latin1'));
  }

  #dispatch(into: EventFrame[]): void {
    const [first] = this.#data;
    if (first !== undefined) {
      const data = this.#data.length === 1 ? first : joinLines(this.#data);
      into.push({ event: this.#event, id: this.#id, data });
      this.#data = [];
    }
    this.#event = undefined;
    this.#id = undefined;
    this.#frameBytes = 0;
  }

  #checkBudget(): void {
    if (this.pendingBytes <= this.#limitBytes) return;
    this.#line = [];
    this.#lineBytes = 0;
    this.#data = [];
    this.#frameBytes = 0;
    throw new VmchartError(
      'Protocol',
      `The event stream went beyond its ceiling of ${this.#limitBytes} bytes with no frame terminator.`,
      { reason: 'sse-limit' },
    );
  }

  /** Takes a byte order mark off the start, however it is cut; gives back bytes that turned out to be none. */
  #withoutMark(bytes: Buffer): Buffer {
    let at = 0;
    while (at < bytes.length && this.#markBytes < byteOrderMark.length) {
      if (bytes[at] !== byteOrderMark[this.#markBytes]) {
        const held = Buffer.from(byteOrderMark.slice(0, this.#markBytes));
        this.#markBytes = -1;
        return held.length === at ? bytes : Buffer.concat([held, bytes.subarray(at)]);
      }
      at += 1;
      this.#markBytes += 1;
    }
    if (this.#markBytes === byteOrderMark.length) this.#markBytes = -1;
    return bytes.subarray(at);
  }
}

function startsWithData(line: Buffer): boolean {
  return line[0] === 100 && line[1] === 97 && line[2] === 116 && line[3] === 97 && line[4] === colon;
}

function joinLines(lines: readonly Buffer[]): Buffer {
  const pieces: Buffer[] = [];
  for (const line of lines) {
    if (pieces.length > 0) pieces.push(Buffer.of(lineFeed));
    pieces.push(line);
  }
  return Buffer.concat(pieces);
}
