/** Programs that are watched from outside: each sends its entries, or Stately's inspection events, over a WebSocket. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Tell, TraceEntry } from '../trace/entry.ts';
import { isEntry } from '../trace/file.ts';
import type { FleetSource } from './source.ts';
import { statelyReader } from './stately-reader.ts';
import type { CommandReply, Feed, PageCommand } from './wire.ts';

/** The largest message that is taken, in bytes. */
const messageLimit = 4 * 1024 * 1024;

/** Whoever connects, as a source of lives. */
export class FeedSource implements FleetSource {
  readonly #owners = new Map<string, { readonly socket: WebSocket; readonly name: string }>();
  readonly #configs = new Map<string, unknown>();
  #tell: Tell = () => undefined;
  #server: WebSocketServer | null = null;
  #connections = 0;

  start(tell: Tell): Promise<void> {
    this.#tell = tell;
    return Promise.resolve();
  }

  has(life: string): boolean {
    return this.#owners.has(life);
  }

  /** The config of a machine that came over a feed. */
  configOf(machine: string): unknown {
    return this.#configs.get(machine) ?? null;
  }

  /** Takes a connection over from the HTTP server. Who it is was checked before. */
  async accept(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (this.#server === null) {
      const { WebSocketServer } = await import('ws');
      this.#server ??= new WebSocketServer({ noServer: true, maxPayload: messageLimit });
    }
    this.#server.handleUpgrade(request, socket, head, (connection) => this.#serve(connection));
  }

  #serve(socket: WebSocket): void {
    this.#connections += 1;
    // Two programs may call their actors alike.
    const suffix = this.#connections === 1 ? '' : ` (${this.#connections})`;
    const names = new Map<string, string>();
    const take = (entry: TraceEntry) => {
      let life = names.get(entry.life);
      if (life === undefined) {
        life = this.#owners.has(entry.life) ? `${entry.life}${suffix}` : entry.life;
        names.set(entry.life, life);
        this.#owners.set(life, { socket, name: entry.life });
      }
      this.#tell(entry.kind === 'life' ? { ...entry, life, title: life } : { ...entry, life });
    };
    const stately = statelyReader(take, (machine, config) => this.#configs.set(machine, config));
    socket.on('message', (data) => {
      try {
        const message = JSON.parse((data as Buffer).toString('utf8')) as Feed | { readonly type: string };
        if (message.type === 'entry') {
          const { entry } = message as Extract<Feed, { type: 'entry' }>;
          if (isEntry(entry)) take(entry);
        } else if (message.type === 'chart') {
          const { machine, config } = message as Extract<Feed, { type: 'chart' }>;
          this.#configs.set(machine, config);
        } else stately(message as never);
      } catch {
        // A message that nobody understands is passed over; the program goes on.
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      for (const [life, { socket: owner }] of this.#owners) {
        if (owner !== socket) continue;
        this.#owners.delete(life);
      }
    });
  }

  send(life: string, command: PageCommand): Promise<CommandReply> {
    const owner = this.#owners.get(life);
    owner?.socket.send(JSON.stringify({ life: owner.name, command }));
    return Promise.resolve({ verdict: 'sent', requirement: null, message: null });
  }

  async close(): Promise<void> {
    for (const client of this.#server?.clients ?? []) client.terminate();
    const server = this.#server;
    if (server !== null) await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}
