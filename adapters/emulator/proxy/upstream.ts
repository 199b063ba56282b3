/** The way from the proxy into a VM: to its daemon in this process, or to a port that its programs bound. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Guest } from '../guest.ts';
import { makeDuplexPair } from './duplex-pair.ts';

const servers = new WeakMap<Guest, Server>();

/** The daemon as an HTTP server that listens nowhere: connections are handed to it. */
function daemonServer(guest: Guest): Server {
  const known = servers.get(guest);
  if (known !== undefined) return known;
  const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
    try {
      guest.handle(request, response);
    } catch {
      // A fault of the guest is a connection that breaks, not the end of everybody's VMs.
      response.destroy();
    }
  });
  server.on('upgrade', (request, socket, head) => {
    try {
      guest.upgrade(request, socket, head);
    } catch {
      socket.destroy();
    }
  });
  // The proxy watches the outer connection; nothing inside may give up earlier.
  server.timeout = 0;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  server.keepAliveTimeout = 0;
  servers.set(guest, server);
  return server;
}

/** Opens a connection to a port of the VM. A refused one reports `error`, as a socket does. */
export function connectUpstream(guest: Guest, port: number): Duplex {
  if (port !== guest.daemonPort) return connect({ host: '127.0.0.1', port, noDelay: true });
  const [proxySide, guestSide] = makeDuplexPair();
  daemonServer(guest).emit('connection', guestSide);
  return proxySide;
}
