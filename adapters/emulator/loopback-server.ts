/** What keeps a server on loopback standing, whatever is thrown at it. */
import type { Server } from 'node:http';

/**
 * Sets time limits that cut dead clients, and answers what cannot be parsed. `requestTimeoutMs` limits how long a
 * request may take to arrive; 0 lets long transfers be.
 *
 * Idle connections are kept for longer than clients' pools do, so that none is closed under a request.
 */
export function hardenServer(server: Server, { requestTimeoutMs }: { readonly requestTimeoutMs: number }): void {
  server.headersTimeout = 30_000;
  server.requestTimeout = requestTimeoutMs;
  server.timeout = 0;
  server.keepAliveTimeout = 75_000;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
    socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  });
  // A failure of the listening socket itself, such as too many open files, must not end the process.
  server.on('error', () => {});
}
