/** Reading request bodies of any shape without trusting them. */
import type { IncomingMessage } from 'node:http';

/** Why a body could not be read. */
export class BodyFailure extends Error {
  override readonly name = 'BodyFailure';
  /** `too-large`: more than the limit. `cut`: the connection ended early. */
  readonly reason: 'too-large' | 'cut';

  constructor(reason: 'too-large' | 'cut') {
    super(reason === 'cut' ? 'the body ended early' : 'the body is over the limit');
    this.reason = reason;
  }
}

/** The status for a body that could not be read: 413 over the limit, and what the route says of one that was cut. */
export function bodyStatus({ reason }: BodyFailure, cut: number): number {
  return reason === 'too-large' ? 413 : cut;
}

/** The chunks of a body as they come. Throws {@link BodyFailure}. */
export async function* bodyChunks(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length;
      if (size > limit) throw new BodyFailure('too-large');
      yield chunk as Buffer;
    }
  } catch (error) {
    throw error instanceof BodyFailure ? error : new BodyFailure('cut');
  }
  if (!request.complete) throw new BodyFailure('cut');
}

/** The whole body. Throws {@link BodyFailure}. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bodyChunks(request, limit)) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** Whether a request says that its body is JSON: `application/json` or a `+json` type. */
export function saysJson(request: IncomingMessage): boolean {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return /^application\/(json|[^/\s]+\+json)$/.test(type);
}

/** Parses strict UTF-8 JSON; `undefined` when it is none. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}

/** Whether a JSON value is an object, and not an array or `null`. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is text that UTF-8 can hold: no lone surrogates. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !/\p{Surrogate}/u.test(value);
}

/** Strict standard base64 with padding, or `null`. */
export function decodeBase64(text: string): Buffer | null {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  // Bits beyond the last byte have to be zero: one text for each value.
  return bytes.toString('base64') === text ? bytes : null;
}
