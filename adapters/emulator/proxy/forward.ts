/** Forwards one HTTP exchange through the endpoint, streaming both ways. */
import { request as httpRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { nobodyListens } from './denials.ts';
import type { Denial } from './denials.ts';

/** Headers that belong to one connection and not to the message. */
const hopByHop = new Set(['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'upgrade']);

/** Flat name-value pairs without those that `drop` names. */
export function filterHeaders(raw: readonly string[], drop: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const [name = '', value = ''] = raw.slice(index, index + 2);
    if (!drop(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

/** Whether a request header stops at the proxy. */
export function stopsAtProxy(name: string): boolean {
  return hopByHop.has(name) || name.startsWith('x-aws-proxy-');
}

/** One exchange to forward. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly upstream: Duplex;
  readonly requestId: string;
  readonly onBytes: () => void;
  /** The guest answered: the client learns of it, or the exchange breaks off, or a 200 with another body goes out. */
  readonly onAnswer: (status: number) => 'pass' | 'break' | { readonly body: string };
  readonly deny: (denial: Denial) => void;
}

/**
 * Forwards and returns a function that breaks the exchange off on both sides.
 *
 * An upstream that fails before it answered is a 502; afterwards the client's connection breaks, as it would live.
 */
export function forward({ request, response, upstream, requestId, onBytes, onAnswer, deny }: Exchange): () => void {
  const headers = filterHeaders(request.rawHeaders, stopsAtProxy);
  headers.push('x-amzn-requestid', requestId, 'connection', 'close');
  const outgoing = httpRequest({
    createConnection: () => upstream,
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: headers as unknown as Record<string, string>,
  });

  const breakOff = () => {
    outgoing.destroy();
    upstream.destroy();
    request.socket.destroy();
  };

  outgoing.on('response', (incoming) => {
    const verdict = onAnswer(incoming.statusCode ?? 502);
    if (verdict === 'break') {
      breakOff();
      return;
    }
    if (verdict !== 'pass') {
      incoming.resume();
      const { body } = verdict;
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      response.writeHead(200, { ...headers, 'x-amzn-requestid': requestId }).end(body);
      return;
    }
    const answered = filterHeaders(
      incoming.rawHeaders,
      (name) => hopByHop.has(name) || name === 'transfer-encoding' || name === 'x-amzn-requestid',
    );
    answered.push('x-amzn-requestid', requestId);
    try {
      response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, answered as unknown as string[]);
    } catch {
      // A guest may answer what no HTTP server would send.
      breakOff();
      return;
    }
    response.flushHeaders();
    onBytes();
    incoming.on('data', onBytes);
    incoming.on('error', breakOff);
    incoming.pipe(response);
  });
  outgoing.on('error', () => {
    if (response.headersSent) breakOff();
    else deny(nobodyListens);
  });
  outgoing.on('upgrade', (_incoming, socket) => {
    // The guest upgrades what was no upgrade.
    socket.destroy();
    if (!response.headersSent) deny(nobodyListens);
  });

  request.on('data', onBytes);
  request.on('error', () => outgoing.destroy());
  request.pipe(outgoing);
  response.on('close', () => {
    outgoing.destroy();
    upstream.destroy();
  });
  return breakOff;
}
