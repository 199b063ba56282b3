/** A local port each of whose connections is a tunnel to a port of the VM (`client-behaviour.md` 4.15). */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Session } from '../../effects/index.ts';
import { ServeLoop } from './serve-loop.ts';
import type { ListenOptions, StopReason } from './serve-loop.ts';
import { Tunnel, openTunnel } from './tunnel.ts';
import type { TunnelEnd, TunnelOptions } from './tunnel.ts';

/** How tunnels are served. */
export interface ServeTunnelOptions extends ListenOptions, TunnelOptions {
  /** Hears of each connection's end; of an error where it failed. */
  readonly onEnd?: (end: TunnelEnd | Error) => void;
}

/** What a tunnel's listener did. */
export interface TunnelReport {
  /** Connections that were tunnelled to their end. */
  readonly served: number;
  /** Connections that the daemon refused, or that failed. */
  readonly refused: number;
  /** Verified connections that ended without the promised end of stream: bytes may be missing. */
  readonly truncated: number;
  /** Verified connections to a daemon that promises no end of stream. */
  readonly unproven: number;
  /** Proxy tokens that were minted meanwhile. */
  readonly proxyTokenMints: number;
  readonly stopReason: StopReason;
}

/** A listener at work. */
export interface TunnelServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Resolves once it was stopped and its connections have ended. */
  readonly finished: Promise<TunnelReport>;
  /** Accepts no more. */
  stop(): void;
}

/**
 * Serves tunnels on a local port.
 *
 * @example
 * await using tunnel = await serveTunnel(session, { guestPort: 5432, identity: sandbox.tunnelIdentity });
 * const database = connect({ port: tunnel.port });
 *
 * @throws VmchartError `InvalidArg` when the local port cannot be had.
 */
export async function serveTunnel(session: Session, options: ServeTunnelOptions): Promise<TunnelServer> {
  const counts = { served: 0, refused: 0, truncated: 0, unproven: 0 };
  const mintsBefore = session.proxyAuth?.mintCount ?? 0;
  const cut = new AbortController();
  const loop = await ServeLoop.listen(options, async (socket) => {
    try {
      const end = await serveOne(session, socket, { ...options, signal: cut.signal });
      counts[countOf(end)] += 1;
      options.onEnd?.(end);
    } catch (error) {
      counts.refused += 1;
      socket.destroy();
      options.onEnd?.(error instanceof Error ? error : new Error(String(error)));
    }
  });
  const finished = loop.finished.then((stopReason) => {
    const proxyTokenMints = (session.proxyAuth?.mintCount ?? 0) - mintsBefore;
    return { ...counts, proxyTokenMints, stopReason };
  });
  return {
    host: loop.host,
    port: loop.port,
    finished,
    stop: () => loop.stop(),
    async [Symbol.asyncDispose]() {
      loop.stop();
      cut.abort(new Error('the tunnel was disposed of'));
      await finished;
    },
  };
}

function countOf(end: TunnelEnd): 'served' | 'refused' | 'truncated' | 'unproven' {
  if (end.kind === 'Refused') return 'refused';
  if (end.kind === 'Truncated') return 'truncated';
  return end.kind === 'ClosedUnproven' ? 'unproven' : 'served';
}

/** Tunnels one local connection to its end, whichever side ends it. */
async function serveOne(session: Session, local: Socket, options: TunnelOptions): Promise<TunnelEnd> {
  const tunnel = await openTunnel(session, options);
  if (!(tunnel instanceof Tunnel)) {
    local.destroy();
    return tunnel;
  }
  const abort = () => {
    tunnel.abort();
    local.destroy();
  };
  options.signal?.addEventListener('abort', abort, { once: true });
  if (options.signal?.aborted) abort();
  const outgoing = sendAll(local, tunnel);
  try {
    for await (const bytes of tunnel.bytes()) {
      if (local.destroyed) continue;
      if (!local.write(bytes)) await Promise.race([once(local, 'drain'), once(local, 'close')]).catch(() => undefined);
    }
  } catch (error) {
    // What is missing must not look like an end to whoever reads the local side.
    local.resetAndDestroy();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', abort);
  }
  const end = tunnel.end ?? { kind: 'Closed' };
  if (end.kind === 'Truncated') local.resetAndDestroy();
  else local.end(() => local.destroy());
  await outgoing;
  return end;
}

/** Sends what the local side writes; its end, or its breaking, ends the tunnel. */
async function sendAll(local: Socket, tunnel: Tunnel): Promise<void> {
  try {
    for await (const chunk of local as AsyncIterable<Buffer>) await tunnel.send(chunk);
  } catch {
    // A local side that broke has ended as well.
  }
  await tunnel.finish();
}
