/** Forwards a WebSocket through the endpoint (`platform-behaviour.md` 9.4). */
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { nobodyListens } from './denials.ts';
import type { Denial } from './denials.ts';
import { filterHeaders, stopsAtProxy } from './forward.ts';
import { readProtocols } from './gate.ts';

/** One upgrade to forward. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly upstream: Duplex;
  readonly requestId: string;
  readonly onBytes: () => void;
  readonly onAnswer: (status: number) => void;
  readonly deny: (denial: Denial) => void;
}

function writeHead(socket: Duplex, status: number, reason: string, headers: readonly string[]): void {
  let text = `HTTP/1.1 ${status} ${reason}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  socket.write(`${text}\r\n`, 'latin1');
}

/**
 * Forwards the handshake without the proxy's own subprotocols, then bytes both ways. When the guest chooses no
 * subprotocol the proxy supplies its own. Returns a function that breaks the connection off.
 */
export function forwardUpgrade({
  request,
  socket,
  head,
  upstream,
  requestId,
  onBytes,
  onAnswer,
  deny,
}: Upgrade): () => void {
  const { marker, application } = readProtocols(request);
  const headers = filterHeaders(
    request.rawHeaders,
    (name) => stopsAtProxy(name) || name === 'sec-websocket-protocol' || name === 'content-length',
  );
  headers.push('connection', 'Upgrade', 'upgrade', 'websocket', 'x-amzn-requestid', requestId);
  if (application.length > 0) headers.push('sec-websocket-protocol', application.join(', '));
  const outgoing = httpRequest({
    createConnection: () => upstream,
    method: 'GET',
    path: request.url ?? '/',
    headers: headers as unknown as Record<string, string>,
  });

  let open = false;
  const breakOff = () => {
    outgoing.destroy();
    upstream.destroy();
    socket.destroy();
  };

  outgoing.on('upgrade', (incoming, guestSocket, guestHead) => {
    open = true;
    onAnswer(101);
    const answered = filterHeaders(incoming.rawHeaders, (name) => name === 'x-amzn-requestid');
    if (marker && incoming.headers['sec-websocket-protocol'] === undefined) {
      answered.push('sec-websocket-protocol', 'lambda-microvms');
    }
    answered.push('x-amzn-requestid', requestId);
    writeHead(socket, 101, 'Switching Protocols', answered);
    if (guestHead.length > 0) socket.write(guestHead);
    if (head.length > 0) guestSocket.write(head);
    guestSocket.on('data', onBytes);
    socket.on('data', onBytes);
    guestSocket.on('error', breakOff);
    guestSocket.on('close', () => socket.end());
    guestSocket.pipe(socket);
    socket.pipe(guestSocket);
  });
  outgoing.on('response', (incoming) => {
    onAnswer(incoming.statusCode ?? 502);
    // The guest answered the handshake with an ordinary response: the client gets it, then the end.
    const answered = filterHeaders(
      incoming.rawHeaders,
      (name) => name === 'connection' || name === 'transfer-encoding' || name === 'x-amzn-requestid',
    );
    answered.push('connection', 'close', 'x-amzn-requestid', requestId);
    writeHead(socket, incoming.statusCode ?? 502, incoming.statusMessage ?? '', answered);
    incoming.on('error', breakOff);
    incoming.pipe(socket);
  });
  outgoing.on('error', () => {
    if (open) breakOff();
    else deny(nobodyListens);
  });
  outgoing.end();
  socket.on('close', () => {
    outgoing.destroy();
    upstream.destroy();
  });
  return breakOff;
}
