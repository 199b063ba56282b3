/** The events of an output stream, decoded (`agentd-protocol.md` 10). */
import { VmchartError } from '../errors.ts';
import { isBoolean, isNumber, objectIn, optional, required } from './decode.ts';
import type { JsonObject } from './decode.ts';
import type { EventFrame } from './event-stream.ts';

/** Which of the two pipes bytes came from. */
export type OutputSide = 'stdout' | 'stderr';

/** Bytes of the output. */
export interface OutputEvent {
  readonly type: 'output';
  readonly stream: OutputSide;
  /** The position of the first byte, over both sides together. */
  readonly offset: number;
  readonly data: Uint8Array;
}

/** The bytes `[from, to)` are gone for good. */
export interface GapEvent {
  readonly type: 'gap';
  readonly from: number;
  readonly to: number;
}

/** The command has ended. Always the last event, and the only proof of an end. */
export interface ExitEvent {
  readonly type: 'exit';
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly timedOut: boolean;
  readonly truncated: boolean;
  readonly writersMayBeAlive: boolean;
  /** How many bytes the command ever wrote. */
  readonly offset: number;
}

/** One event of an output stream. */
export type ExecEvent = OutputEvent | GapEvent | ExitEvent;

/**
 * Decodes a frame; `null` for an event that nobody knows and for JSON that does not parse.
 *
 * @throws VmchartError `ProtocolError` naming the offset, when the bytes of an output cannot be decoded.
 */
export function decodeExecEvent(frame: EventFrame): ExecEvent | null {
  if (frame.event === 'output') return decodeAsWritten(frame.data) ?? decodeOutput(frame.data);
  if (frame.event === 'gap') return fromJson(frame.data, decodeGap);
  return frame.event === 'exit' ? fromJson(frame.data, decodeExit) : null;
}

const opening = Buffer.from('{"offset":');
const middles: readonly (readonly [OutputSide, Buffer])[] = [
  ['stdout', Buffer.from(',"stream":"stdout","output":"')],
  ['stderr', Buffer.from(',"stream":"stderr","output":"')],
];
const zero = 48;
const quote = 34;
const closingBrace = 125;

/**
 * Reads an output that is written exactly as the daemon writes it, straight from the bytes: parsing it as JSON
 * first would cost more than everything else. Anything else is `null`, and is read the general way.
 */
function decodeAsWritten(data: Uint8Array): OutputEvent | null {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = bytes.length - 2;
  if (bytes[end] !== quote || bytes[end + 1] !== closingBrace) return null;
  if (bytes.compare(opening, 0, opening.length, 0, opening.length) !== 0) return null;
  let at = opening.length;
  let offset = 0;
  for (let digit = (bytes[at] ?? 0) - zero; digit >= 0 && digit <= 9; digit = (bytes[at] ?? 0) - zero) {
    offset = offset * 10 + digit;
    at += 1;
  }
  const digits = at - opening.length;
  if (digits === 0 || digits > 15 || (digits > 1 && bytes[opening.length] === zero)) return null;
  for (const [stream, middle] of middles) {
    if (bytes.compare(middle, 0, middle.length, at, at + middle.length) !== 0) continue;
    const output = decodeBase64(bytes.toString('latin1', at + middle.length, end));
    return output === null ? null : { type: 'output', stream, offset, data: output };
  }
  return null;
}

function decodeOutput(data: Uint8Array): OutputEvent | null {
  return fromJson(data, (from) => {
    const offset = required(from, 'offset', isOffset);
    const stream = required(from, 'stream', isSide);
    const bytes = decodeBase64(required(from, 'output', (value) => typeof value === 'string'));
    if (bytes !== null) return { type: 'output', stream, offset, data: bytes };
    throw new VmchartError({ wireKind: 'ProtocolError' }, `The output at offset ${offset} is no base64.`, {
      reason: 'undecodable-output',
    });
  });
}

function decodeGap(from: JsonObject): GapEvent {
  return { type: 'gap', from: required(from, 'from', isOffset), to: required(from, 'to', isOffset) };
}

function decodeExit(from: JsonObject): ExitEvent {
  return {
    type: 'exit',
    exitCode: optional(from, 'exit_code', isNumber, null),
    signal: optional(from, 'signal', isNumber, null),
    timedOut: optional(from, 'timed_out', isBoolean, false),
    truncated: optional(from, 'truncated', isBoolean, false),
    writersMayBeAlive: optional(from, 'writers_may_be_alive', isBoolean, false),
    offset: required(from, 'offset', isOffset),
  };
}

/** A daemon may send `{}` rather than end a stream, so what does not fit is passed over. */
function fromJson<T>(data: Uint8Array, decode: (from: JsonObject) => T): T | null {
  try {
    return decode(objectIn(JSON.parse(Buffer.from(data).toString('utf8')), 'the event'));
  } catch (error) {
    if (VmchartError.is(error)) throw error;
    return null;
  }
}

/** Strict base64: Node skips what it does not know, which shows in the length, and takes the URL alphabet, which does not. */
function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== (text.length / 4) * 3 - padding) return null;
  // Bits beyond the last byte must be zero, as an encoder leaves them.
  return padding === 0 || bytes.toString('base64', bytes.length - (3 - padding)) === text.slice(-4) ? bytes : null;
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isSide(value: unknown): value is OutputSide {
  return value === 'stdout' || value === 'stderr';
}
