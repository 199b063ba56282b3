/** Upgrades of an HTTP server. Node hands the bare connection over, without anybody who minds what happens to it. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

/** Takes over one connection. */
export type TakeUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void | Promise<void>;

/**
 * Takes upgrades over. A client that breaks its connection, and a request that nobody can make sense of, end that
 * connection and nothing else.
 *
 * @returns ends all connections that were taken over: closing the server leaves them open
 */
export function takeUpgrades(server: Server, take: TakeUpgrade): () => void {
  const taken = new Set<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    taken.add(socket);
    socket.once('close', () => taken.delete(socket));
    socket.on('error', () => socket.destroy());
    const taking = async () => take(request, socket, head);
    taking().catch(() => socket.destroy());
  });
  return () => {
    for (const socket of taken) socket.destroy();
  };
}

/** Answers with a refusal, and ends the connection. */
export function refuseUpgrade(socket: Duplex, answer: string): void {
  if (socket.destroyed) return;
  socket.end(answer, () => socket.destroy());
}
