/** Upgrades that nobody wants, such as the `h2c` that some clients try first, are served as if not asked for. */
import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';

/** Whether a request asks for a WebSocket. */
export function wantsWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Serves a request with a declined upgrade. Its body, if any, can no longer be told from what follows, so such a
 * request is a 400.
 */
export function declineUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  serve: (response: ServerResponse) => Promise<void>,
): void {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.on('finish', () => socket.end());
  if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined) {
    response.writeHead(400, { 'content-length': '0' });
    response.end();
    return;
  }
  serve(response).catch(() => socket.destroy());
}
