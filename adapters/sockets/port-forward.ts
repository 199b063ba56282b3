/** A local port that leads to an HTTP server in the VM, WebSocket upgrades included (`client-behaviour.md` 4.15). */
import { createServer, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { VmchartError, guestOrigin } from '../../effects/index.ts';
import type { Session } from '../../effects/index.ts';
import { agentsFor } from '../http-agents.ts';
import type { AgentOptions, Agents } from '../http-agents.ts';
import { explainRefusal } from './explain-refusal.ts';
import { forwardedRequestHeaders, forwardedResponseHeaders } from './forwarded-headers.ts';
import { ServeLoop } from './serve-loop.ts';
import type { ListenOptions, StopReason } from './serve-loop.ts';

/** How a port is forwarded. */
export interface ForwardOptions extends ListenOptions, AgentOptions {
  readonly guestPort: number;
  /** Limit for one exchange, in milliseconds; upgraded connections have none. Default 300 s. */
  readonly exchangeTimeoutMs?: number;
  /** Hears of each request that was answered. */
  readonly onExchange?: (exchange: { readonly method: string; readonly path: string; readonly status: number }) => void;
}

/** What a forward did. */
export interface ForwardReport {
  /** Requests that got the VM's own answer. */
  readonly served: number;
  /** Requests that the endpoint proxy refused: the token's scope, a refused credential, nothing listening. */
  readonly refused: number;
  /** Connections that were upgraded. */
  readonly upgrades: number;
  /** Proxy tokens that were minted meanwhile. */
  readonly proxyTokenMints: number;
  readonly stopReason: StopReason;
}

/** A forward at work. */
export interface PortForward extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Resolves once it was stopped and its connections have ended. */
  readonly finished: Promise<ForwardReport>;
  /** Accepts no more. */
  stop(): void;
}

const defaultExchangeTimeoutMs = 300_000;
const longestHeadBytes = 64 * 1024;

/**
 * Forwards a local port to a port of the VM.
 *
 * @example
 * await using forward = await forwardPort(session, { guestPort: 3000 });
 * await fetch(`http://127.0.0.1:${forward.port}/`);
 *
 * @throws VmchartError `InvalidArg` when the local port cannot be had.
 */
export async function forwardPort(session: Session, options: ForwardOptions): Promise<PortForward> {
  const forwarder = new Forwarder(session, options, await agentsFor(options));
  const mintsBefore = session.proxyAuth?.mintCount ?? 0;
  const loop = await ServeLoop.listen(options, async (socket) => await forwarder.serve(socket));
  const finished = loop.finished.then((stopReason) => {
    forwarder.close();
    const proxyTokenMints = (session.proxyAuth?.mintCount ?? 0) - mintsBefore;
    return { ...forwarder.counts, proxyTokenMints, stopReason };
  });
  return {
    host: loop.host,
    port: loop.port,
    finished,
    stop: () => {
      loop.stop();
      forwarder.closeIdle();
    },
    async [Symbol.asyncDispose]() {
      loop.stop();
      forwarder.close();
      await finished;
    },
  };
}

class Forwarder {
  readonly counts = { served: 0, refused: 0, upgrades: 0 };
  readonly #session: Session;
  readonly #options: ForwardOptions;
  readonly #agents: Agents;
  readonly #server: Server;

  constructor(session: Session, options: ForwardOptions, agents: Agents) {
    this.#session = session;
    this.#options = options;
    this.#agents = agents;
    this.#server = createServer({ maxHeaderSize: longestHeadBytes }, (request, response) => {
      void this.#exchange(request, response);
    });
    this.#server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
    // The session's own limits hold; a slow local client is none of theirs.
    this.#server.requestTimeout = 0;
    this.#server.headersTimeout = 0;
  }

  /** Serves one local connection to its end. */
  async serve(socket: Duplex): Promise<void> {
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    this.#server.emit('connection', socket);
    socket.resume();
    await closed;
  }

  closeIdle(): void {
    this.#server.closeIdleConnections();
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#agents.close();
  }

  async #exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = request;
    const abort = new AbortController();
    response.once('close', () => abort.abort());
    const timer = setTimeout(
      () => abort.abort(new Error('it took too long')),
      this.#options.exchangeTimeoutMs ?? defaultExchangeTimeoutMs,
    );
    try {
      const upstream = await this.#open(request, abort.signal, false);
      const sent = pipeline(request, upstream);
      // A server may answer before it has read everything: the answer is what counts.
      sent.catch(() => undefined);
      const answer = await answerOf(upstream);
      const refusal = await explainRefusal(answer, this.#session.proxyAuth !== null, this.#options.guestPort);
      const status = answer.statusCode ?? 502;
      if (refusal === null) this.counts.served += 1;
      else this.counts.refused += 1;
      this.#options.onExchange?.({ method, path, status });
      if (refusal !== null) {
        sayPlainly(response, status, refusal);
        return;
      }
      response.writeHead(status, answer.statusMessage, forwardedResponseHeaders(answer));
      await pipeline(answer, response);
    } catch (error) {
      if (response.headersSent || response.destroyed) response.destroy();
      else sayPlainly(response, statusOf(error, abort.signal), `The VM could not be reached: ${messageOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Replays an upgrade with the proxy's headers and splices the two connections once it is granted. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const abort = new AbortController();
    socket.once('close', () => abort.abort());
    socket.on('error', () => undefined);
    try {
      const upstream = await this.#open(request, abort.signal, true);
      upstream.end();
      const granted = await upgradeOf(upstream);
      if (granted.socket === null) {
        const refusal = await explainRefusal(
          granted.response,
          this.#session.proxyAuth !== null,
          this.#options.guestPort,
        );
        if (refusal !== null) this.counts.refused += 1;
        await declineUpgrade(socket, granted.response, refusal);
        return;
      }
      this.counts.upgrades += 1;
      socket.write(rawHead(granted.response));
      if (granted.head.length > 0) socket.write(granted.head);
      if (head.length > 0) granted.socket.write(head);
      await splice(socket, granted.socket);
    } catch (error) {
      socket.end(
        `HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\nThe VM could not be reached: ${messageOf(error)}`,
      );
    } finally {
      socket.destroy();
    }
  }

  async #open(request: IncomingMessage, signal: AbortSignal, upgrade: boolean): Promise<ClientRequest> {
    const { guestPort } = this.#options;
    const own = await this.#session.connectHeaders(guestPort, signal);
    const url = new URL(request.url ?? '/', guestOrigin(this.#session.transport, guestPort));
    const chosen = this.#agents.choose(url.href, upgrade).agent ?? this.#agents.shared;
    const secure = url.protocol === 'https:';
    const agent = secure ? chosen.https : chosen.http;
    const headers: OutgoingHttpHeaders = { ...forwardedRequestHeaders(request, upgrade), ...Object.fromEntries(own) };
    return (secure ? httpsRequest : httpRequest)(url, {
      method: request.method ?? 'GET',
      headers,
      signal,
      ...(agent === undefined ? {} : { agent }),
    });
  }
}

/** Joins two connections until both are closed; when one breaks, so does the other. */
async function splice(left: Duplex, right: Duplex): Promise<void> {
  const closed = (one: Duplex, other: Duplex) =>
    new Promise<void>((resolve) => {
      one.once('close', () => {
        if (!one.readableEnded || one.errored !== null) other.destroy();
        resolve();
      });
    });
  const both = Promise.all([closed(left, right), closed(right, left)]);
  left.pipe(right).pipe(left);
  await both;
}

function answerOf(upstream: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    upstream.once('response', resolve);
    upstream.on('error', reject);
  });
}

type UpgradeAnswer =
  | { readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer }
  | { readonly response: IncomingMessage; readonly socket: null };

function upgradeOf(upstream: ClientRequest): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    upstream.once('upgrade', (response, socket, head) => {
      socket.on('error', () => undefined);
      resolve({ response, socket, head });
    });
    upstream.once('response', (response) => resolve({ response, socket: null }));
    upstream.on('error', reject);
  });
}

function rawHead(response: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage ?? ''}`];
  for (let index = 0; index + 1 < response.rawHeaders.length; index += 2) {
    lines.push(`${response.rawHeaders[index]}: ${response.rawHeaders[index + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

async function declineUpgrade(socket: Duplex, answer: IncomingMessage, refusal: string | null): Promise<void> {
  const status = `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage ?? ''}`;
  if (refusal !== null) {
    answer.resume();
    socket.end(`${status}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n${refusal}`);
    return;
  }
  const headers = Object.entries(forwardedResponseHeaders(answer)).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => `${name}: ${each}`),
  );
  socket.write(`${[status, ...headers, 'connection: close'].join('\r\n')}\r\n\r\n`);
  await pipeline(answer, socket);
}

function sayPlainly(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  response.end(`${text}\n`);
}

function statusOf(error: unknown, signal: AbortSignal): number {
  if (signal.aborted) return 504;
  return VmchartError.is(error) && error.kind === 'Credentials' ? 403 : 502;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
