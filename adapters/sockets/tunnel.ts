/** One TCP connection to a port of the VM, over one WebSocket; verified where keys came with the launch. */
import type { WebSocket } from 'ws';
import { VmchartError, bounded } from '../../effects/index.ts';
import type { Session, TunnelIdentity } from '../../effects/index.ts';
import { NoiseFailure, noiseInitiator } from '../noise.ts';
import type { NoiseTransport } from '../noise.ts';
import { endOfStreamFlag, tunnelConfirmation, tunnelPrologue } from '../tunnel-terms.ts';
import type { TunnelGeneration, TunnelPrologue } from '../tunnel-terms.ts';
import { openDaemonSocket } from './daemon-socket.ts';
import type { DaemonSocketOptions } from './daemon-socket.ts';
import type { Closing, Frame, FrameQueue } from './frame-queue.ts';

/**
 * How a tunnel ended.
 *
 * - `Closed`: either side came to its end; on a verified tunnel, provably
 * - `Refused`: the daemon said no, with one of its close codes
 * - `Truncated`: a verified tunnel ended without the end of stream that the daemon had promised: bytes may be missing
 * - `ClosedUnproven`: a verified tunnel to an older daemon, which promises none
 */
export type TunnelEnd =
  | { readonly kind: 'Closed' }
  | { readonly kind: 'Refused'; readonly code: number; readonly reason: string }
  | { readonly kind: 'Truncated'; readonly code: number | null }
  | { readonly kind: 'ClosedUnproven' };

/** How a verified tunnel shakes hands. */
export interface VerifyOptions extends DaemonSocketOptions {
  /** Which daemons are spoken to. Default: what the daemon's own version says. */
  readonly generation?: TunnelGeneration;
  /** In place of the generation's own prologue. */
  readonly prologue?: TunnelPrologue;
}

/** How a tunnel is opened. */
export interface TunnelOptions extends VerifyOptions {
  /** The port in the VM. */
  readonly guestPort: number;
  /** The keys of the launch: with them the tunnel is verified and encrypted from end to end. */
  readonly identity?: TunnelIdentity | null;
}

const plainChunkBytes = 64 * 1024;
const verifiedChunkBytes = 32 * 1024;
/** How much may wait in the socket before whoever sends has to wait as well, in bytes. */
const highWaterBytes = 1024 * 1024;
const noCloseCode = 1_006;

/** An open tunnel. */
export class Tunnel {
  readonly #socket: WebSocket;
  readonly #frames: FrameQueue;
  readonly #noise: NoiseTransport | null;
  readonly #peerProvesEnd: boolean;
  #localEnded = false;
  #end: TunnelEnd | null = null;

  constructor(socket: WebSocket, frames: FrameQueue, noise: NoiseTransport | null, peerProvesEnd: boolean) {
    this.#socket = socket;
    this.#frames = frames;
    this.#noise = noise;
    this.#peerProvesEnd = peerProvesEnd;
  }

  /** How it ended; `null` while it is open, and when it was broken by an error. */
  get end(): TunnelEnd | null {
    return this.#end;
  }

  /**
   * The bytes from the VM. When the iteration is over, {@link Tunnel.end} says how it ended.
   *
   * @throws VmchartError `Unexpected`, reason `tunnel-forged`, for a frame that does not authenticate: its bytes
   *   are not delivered, and neither is anything after it.
   */
  async *bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const next = await this.#frames.next();
        if ('code' in next) {
          this.#end = this.#ending(next);
          return;
        }
        const bytes = this.#opened(next);
        if (bytes === null) {
          this.#end = { kind: 'Closed' };
          return;
        }
        if (bytes.length > 0) yield bytes;
      }
    } finally {
      if (this.#end === null || this.#end.kind === 'Closed') this.#socket.close(1_000);
    }
  }

  /** Sends bytes to the VM; resolves when there is room for more. */
  async send(bytes: Uint8Array): Promise<void> {
    const chunkBytes = this.#noise === null ? plainChunkBytes : verifiedChunkBytes;
    for (let from = 0; from < bytes.length; from += chunkBytes) {
      const chunk = bytes.subarray(from, from + chunkBytes);
      await this.#sendFrame(this.#noise === null ? chunk : this.#noise.seal(chunk));
    }
  }

  /** The local side has nothing more to send: ends the tunnel, since there is no half of one. */
  async finish(): Promise<void> {
    if (this.#localEnded) return;
    this.#localEnded = true;
    if (this.#noise !== null) await this.#sendFrame(this.#noise.seal(new Uint8Array(0)));
    this.#socket.close(1_000);
  }

  /** Breaks the connection at once. */
  abort(): void {
    this.#socket.terminate();
  }

  /** The plaintext of a frame; `null` for the end of stream. */
  #opened(frame: Frame): Uint8Array | null {
    if (this.#noise === null) return frame.data;
    try {
      if (!frame.isBinary) throw new NoiseFailure('a text frame');
      const bytes = this.#noise.open(frame.data);
      return bytes.length === 0 ? null : bytes;
    } catch (error) {
      this.#socket.terminate();
      throw new VmchartError(
        'Unexpected',
        'A frame of the verified tunnel does not authenticate; it was not delivered.',
        {
          cause: error,
          reason: 'tunnel-forged',
        },
      );
    }
  }

  #ending({ code, reason }: Closing): TunnelEnd {
    if (this.#localEnded) return { kind: 'Closed' };
    if (code >= 4_400 && code < 4_600) return { kind: 'Refused', code, reason };
    if (this.#noise === null) return { kind: 'Closed' };
    if (!this.#peerProvesEnd) return { kind: 'ClosedUnproven' };
    return { kind: 'Truncated', code: code === noCloseCode ? null : code };
  }

  async #sendFrame(data: Uint8Array): Promise<void> {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const sent = new Promise<void>((resolve) => {
      // What became of it shows in how the tunnel ends.
      socket.send(data, { binary: true }, () => resolve());
    });
    if (socket.bufferedAmount > highWaterBytes) await sent;
  }
}

/**
 * Opens a tunnel to a port of the VM.
 *
 * @returns the tunnel, or the daemon's refusal where a verified handshake got one.
 * @throws VmchartError `Unexpected`: the WebSocket could not be opened, or (reason `identity-mismatch`) whoever
 *   answered is not the VM whose key was pinned at launch.
 */
export async function openTunnel(session: Session, options: TunnelOptions): Promise<Tunnel | TunnelEnd> {
  const { guestPort, identity = null } = options;
  if (!Number.isInteger(guestPort) || guestPort < 0 || guestPort > 65_535) {
    throw new VmchartError('InvalidArg', `A port is a whole number up to 65535; got ${guestPort}.`, { reason: 'port' });
  }
  const path = `/v1/tcp?port=${guestPort}${identity === null ? '' : '&identity=true'}`;
  const generation = identity === null ? null : (options.generation ?? (await generationOf(session, options.signal)));
  const { socket, frames } = await openDaemonSocket(session, path, options);
  if (identity === null || generation === null) return new Tunnel(socket, frames, null, false);
  const prologue = (options.prologue ?? tunnelPrologue(generation))(guestPort);
  const initiator = noiseInitiator({
    secret: Buffer.from(identity.hostSeed, 'base64'),
    remotePublicKey: Buffer.from(identity.vmPublicKey, 'base64'),
    prologue,
    payload: Uint8Array.of(endOfStreamFlag),
  });
  socket.send(initiator.message1, { binary: true });
  const answer = await firstAnswer(session, socket, frames, options.signal);
  if ('code' in answer) return { kind: 'Refused', ...answer };
  try {
    if (!answer.isBinary) throw new NoiseFailure('a text frame');
    const { payload, transport } = initiator.finish(answer.data);
    if (generation === '1.x') socket.send(transport.seal(tunnelConfirmation), { binary: true });
    return new Tunnel(socket, frames, transport, ((payload[0] ?? 0) & endOfStreamFlag) !== 0);
  } catch (error) {
    socket.terminate();
    throw new VmchartError(
      'Unexpected',
      `Whoever answered is not the VM whose key was pinned at launch (${identity.vmPublicKey}).`,
      { cause: error, reason: 'identity-mismatch' },
    );
  }
}

/** The daemon's half of the handshake, within the session's limit. */
async function firstAnswer(
  session: Session,
  socket: WebSocket,
  frames: FrameQueue,
  signal: AbortSignal | undefined,
): Promise<Frame | Closing> {
  const { clock, timeoutMs } = session.transport;
  const late = () =>
    new VmchartError({ wireKind: 'Transport' }, `The daemon did not shake hands within ${timeoutMs / 1000} s.`, {
      reason: 'timeout',
    });
  try {
    return await bounded(
      { clock, limitMs: timeoutMs, expired: late, signals: [signal] },
      async () => await frames.next(),
    );
  } catch (error) {
    socket.terminate();
    throw error;
  }
}

/**
 * Proves that the VM behind a session is the one that was launched: a handshake with the daemon and nothing else.
 *
 * @returns `Closed` when it is, `Refused` when the daemon said no.
 * @throws VmchartError as {@link openTunnel}.
 */
export async function verifyIdentity(
  session: Session,
  identity: TunnelIdentity,
  options: VerifyOptions = {},
): Promise<TunnelEnd> {
  const opened = await openTunnel(session, { ...options, identity, guestPort: session.port });
  if (!(opened instanceof Tunnel)) return opened;
  await opened.finish();
  for await (const _bytes of opened.bytes()) continue;
  return opened.end ?? { kind: 'Closed' };
}

async function generationOf(session: Session, signal: AbortSignal | undefined): Promise<TunnelGeneration> {
  const { version } = await session.health(signal);
  return version.startsWith('0.') ? '0.12' : '1.x';
}
