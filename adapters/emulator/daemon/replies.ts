/** How the daemon answers (`agentd-protocol.md` 1.2 to 1.5). */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A refusal with a status. With a slug it is JSON, else plain text, else empty. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly slug: string | null;

  constructor(status: number, slug: string | null, detail = '') {
    super(detail);
    this.status = status;
    this.slug = slug;
  }
}

/** A refusal of an exec or procs route. */
export function problem(status: number, slug: string, detail: string): Refusal {
  return new Refusal(status, slug, detail);
}

/** A refusal of an fs route: text for people, no slug. */
export function textProblem(status: number, text: string): Refusal {
  return new Refusal(status, null, text);
}

const jsonType = 'application/json';
const textType = 'text/plain; charset=utf-8';

function send(response: ServerResponse, status: number, type: string | null, body: string): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  if (type !== null) response.setHeader('content-type', type);
  if (status !== 204) response.setHeader('content-length', Buffer.byteLength(body));
  response.end(body);
}

/** Answers 200 with JSON. */
export function sendJson(response: ServerResponse, value: unknown): void {
  send(response, 200, jsonType, JSON.stringify(value));
}

/** Answers with a status and an empty body. */
export function sendEmpty(response: ServerResponse, status: number): void {
  send(response, status, null, '');
}

/** Answers with what a handler threw. Anything but a {@link Refusal} is the daemon's own failure: 500. */
export function sendFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    // Too late for a status: a cut body is the one honest sign that is left.
    response.destroy();
    return;
  }
  if (!(error instanceof Refusal)) {
    send(response, 500, textType, 'internal error');
    return;
  }
  if (error.slug !== null) {
    send(response, error.status, jsonType, JSON.stringify({ error: error.slug, detail: error.message }));
  } else send(response, error.status, error.message === '' ? null : textType, error.message);
}

/** How long a connection stays after the answer to a body that is too long to be read away, in real milliseconds. */
const lingerMs = 250;

/**
 * Reads what is left of a request's body, up to `limit` bytes, and gives up the connection beyond that.
 * Without it, and without a moment's wait, a client that is still sending would see a reset instead of the answer.
 */
export function drain(request: IncomingMessage, response: ServerResponse, limit: number): void {
  request.on('error', () => undefined);
  if (request.complete || request.readableEnded) return;
  let seen = 0;
  const giveUp = (): void => void setTimeout(() => request.destroy(), lingerMs).unref();
  request.on('data', (chunk: Buffer) => {
    if (seen > limit) return;
    seen += chunk.length;
    if (seen <= limit) return;
    request.pause();
    if (response.writableFinished) giveUp();
    else response.once('finish', giveUp);
  });
}
