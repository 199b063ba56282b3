/** Accepts local connections, one task for each, until it is stopped; then lets the open ones come to their end. */
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { VmchartError } from '../../effects/errors.ts';

/** Where to listen, and when to stop. */
export interface ListenOptions {
  /** Default: only this machine. */
  readonly localHost?: string;
  /** Default 0: the system chooses, and the choice is reported. */
  readonly localPort?: number;
  /** Stop after this many connections. */
  readonly limit?: number;
  /** How long open connections may go on after a stop, in milliseconds. Default: as long as they take. */
  readonly drainMs?: number;
  /** Stops it. */
  readonly signal?: AbortSignal | undefined;
}

/** Why it accepts no more. */
export type StopReason = 'requested' | 'limit' | 'listener-failed';

/** Serves one connection. It may throw: one connection's failure never ends the loop. */
export type ServeConnection = (socket: Socket) => Promise<void>;

/** A listener and the connections it has accepted. */
export class ServeLoop {
  readonly host: string;
  readonly port: number;
  /** Resolves with the reason once nothing is open any more. */
  readonly finished: Promise<StopReason>;
  readonly #server: Server;
  readonly #options: ListenOptions;
  readonly #open = new Set<Socket>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #stopped: Promise<StopReason>;
  #settle: (reason: StopReason) => void = () => undefined;
  #accepted = 0;
  #accepting = true;

  private constructor(server: Server, serve: ServeConnection, options: ListenOptions) {
    const { address, port } = server.address() as AddressInfo;
    this.host = address;
    this.port = port;
    this.#server = server;
    this.#options = options;
    this.#stopped = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.finished = this.#drain();
    server.on('connection', (socket) => this.#accept(socket, serve));
    server.on('error', () => this.#stop('listener-failed'));
    const stop = () => this.#stop('requested');
    options.signal?.addEventListener('abort', stop, { once: true });
    void this.#stopped.then(() => options.signal?.removeEventListener('abort', stop));
    if (options.signal?.aborted) stop();
  }

  /** @throws VmchartError `InvalidArg` when it cannot listen there. */
  static async listen(options: ListenOptions, serve: ServeConnection): Promise<ServeLoop> {
    const { localHost = '127.0.0.1', localPort = 0, limit } = options;
    if (!Number.isInteger(localPort) || localPort < 0 || localPort > 65_535) {
      throw new VmchartError('InvalidArg', `A local port is a whole number up to 65535; got ${localPort}.`, {
        reason: 'port',
      });
    }
    if (limit !== undefined && (!Number.isInteger(limit) || limit < 1)) {
      throw new VmchartError('InvalidArg', `A limit of connections is a whole number above zero; got ${limit}.`);
    }
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => {
        const message = `Cannot listen on ${localHost}:${localPort}: ${error.message}`;
        reject(new VmchartError('InvalidArg', message, { cause: error, reason: 'listen' }));
      });
      server.listen(localPort, localHost, resolve);
    });
    server.removeAllListeners('error');
    return new ServeLoop(server, serve, options);
  }

  /** Accepts no more. Safe to call more than once. */
  stop(): void {
    this.#stop('requested');
  }

  #accept(socket: Socket, serve: ServeConnection): void {
    if (!this.#accepting) {
      socket.destroy();
      return;
    }
    this.#accepted += 1;
    this.#open.add(socket);
    // Whatever goes wrong with a socket shows where it is read or written.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#open.delete(socket));
    const task = serve(socket)
      .catch(() => void socket.destroy())
      .finally(() => this.#tasks.delete(task));
    this.#tasks.add(task);
    if (this.#accepted === this.#options.limit) this.#stop('limit');
  }

  #stop(reason: StopReason): void {
    if (!this.#accepting) return;
    this.#accepting = false;
    this.#server.close();
    this.#settle(reason);
  }

  async #drain(): Promise<StopReason> {
    const reason = await this.#stopped;
    const { drainMs } = this.#options;
    const cut = () => {
      for (const socket of this.#open) socket.destroy();
    };
    const timer = drainMs === undefined ? undefined : setTimeout(cut, drainMs);
    await Promise.allSettled(this.#tasks);
    clearTimeout(timer);
    cut();
    return reason;
  }
}
