/**
 * Opens a WebSocket to the daemon and tells why when it cannot (`client-behaviour.md` 4.15, FC-062, FC-067).
 *
 * The token is scoped to the daemon's port, whatever port the path names: the proxy sees a request for the daemon.
 */
import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { VmchartError } from '../../effects/errors.ts';
import type { Session } from '../../effects/index.ts';
import { agentsFor } from '../http-agents.ts';
import type { AgentOptions } from '../http-agents.ts';
import { FrameQueue } from './frame-queue.ts';

/** An open socket, and its frames from the first one on. */
export interface DaemonSocket {
  readonly socket: WebSocket;
  readonly frames: FrameQueue;
}

/** How a socket is opened. */
export interface DaemonSocketOptions extends AgentOptions {
  readonly signal?: AbortSignal | undefined;
}

interface Refusal {
  /** `null`: the connection ended without an answer. */
  readonly status: number | null;
  readonly message: string;
}

const retryDelayMs = 250;
const longestRetryDelayMs = 4_000;
const mostTries = 8;
const rateTries = 3;
const longestFrameBytes = 16 * 1024 * 1024;

/**
 * Opens a WebSocket at a path of the daemon.
 *
 * @throws VmchartError `Unexpected` whose reason is `token-scope`, `unauthorized`, `nothing-listening`, `rate`,
 *   `unreachable` or `handshake`.
 */
export async function openDaemonSocket(
  session: Session,
  path: string,
  options: DaemonSocketOptions = {},
): Promise<DaemonSocket> {
  let reminted = false;
  for (let tries = 1; ; tries += 1) {
    const attempt = await shakeHands(session, path, options);
    if ('socket' in attempt) return attempt;
    // Over a WebSocket every failure of the platform looks the same; the same port over HTTP tells them apart.
    const refusal = attempt.status === null ? await probe(session, attempt, options.signal) : attempt;
    const { status } = refusal;
    const inTime = tries < mostTries;
    const refusedToken = status === 403 && !reminted && session.proxyAuth !== null;
    const comingBack = (status === 502 || status === 503) && session.transport.comingBack && inTime;
    if (refusedToken) {
      reminted = true;
      session.proxyAuth?.invalidate();
      continue;
    }
    if (!comingBack && !(status === 429 && tries < rateTries)) throw handshakeError(path, refusal);
    await session.transport.sleep(Math.min(retryDelayMs * 2 ** (tries - 1), longestRetryDelayMs), options.signal);
  }
}

async function shakeHands(
  session: Session,
  path: string,
  options: DaemonSocketOptions,
): Promise<DaemonSocket | Refusal> {
  const { signal } = options;
  const protocols = (await session.connectSubprotocols(session.port, [], signal)) ?? [];
  const { WebSocket } = await import('ws');
  const url = `${session.baseUrl}${path}`;
  const agents = await agentsFor(options);
  const chosen = agents.choose(url, true).agent;
  const agent = url.startsWith('https:') ? chosen?.https : chosen?.http;
  signal?.throwIfAborted();
  return await new Promise<DaemonSocket | Refusal>((resolve, reject) => {
    const socket = new WebSocket(url.replace(/^http/i, 'ws'), protocols, {
      headers: { authorization: `Bearer ${session.agentToken}` },
      handshakeTimeout: session.transport.timeoutMs,
      maxPayload: longestFrameBytes,
      perMessageDeflate: false,
      ...(agent === undefined ? {} : { agent }),
    });
    const frames = new FrameQueue(socket);
    const abort = () => {
      reject(signal?.reason as Error);
      socket.terminate();
    };
    const settle = (outcome: DaemonSocket | Refusal) => {
      signal?.removeEventListener('abort', abort);
      agents.close();
      resolve(outcome);
    };
    signal?.addEventListener('abort', abort, { once: true });
    socket.once('open', () => settle({ socket, frames }));
    socket.once('unexpected-response', (_request, response: IncomingMessage) => {
      response.resume();
      settle({ status: response.statusCode ?? null, message: `the upgrade was answered ${response.statusCode}` });
      socket.terminate();
    });
    socket.once('error', (error) => settle({ status: null, message: error.message }));
  });
}

/** Asks the same port by a plain request, with the same credentials. */
async function probe(session: Session, refusal: Refusal, signal: AbortSignal | undefined): Promise<Refusal> {
  try {
    const { authorization = '' } = await session.headers('session', signal);
    const { status } = await session.fetch(session.port, { path: '/v1/procs', headers: { authorization }, signal });
    return { status, message: `${refusal.message}; the same port answers ${status} over HTTP` };
  } catch (error) {
    signal?.throwIfAborted();
    if (VmchartError.is(error) && error.wireKind === 'Transport') return { status: null, message: error.message };
    throw error;
  }
}

function handshakeError(path: string, { status, message }: Refusal): VmchartError {
  return new VmchartError('Unexpected', `The WebSocket ${path} could not be opened: ${message}.`, {
    status,
    reason: reasonOf(status),
  });
}

function reasonOf(status: number | null): string {
  if (status === null) return 'unreachable';
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'token-scope';
  if (status === 429) return 'rate';
  return status === 502 || status === 503 ? 'nothing-listening' : 'handshake';
}
