/** `GET /v1/tcp`: a WebSocket relay to a port of the VM, verified on request (`agentd-protocol.md` 14 and 15). */
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { NoiseFailure, noiseRespond } from '../../noise.ts';
import { endOfStreamFlag, tunnelCloseCodes, tunnelConfirmation, tunnelPrologue } from '../../tunnel-terms.ts';
import type { TunnelGeneration, TunnelPrologue } from '../../tunnel-terms.ts';
import type { Alarms } from './alarms.ts';
import { queried } from './fs-common.ts';
import { readFrames } from './frames.ts';
import type { Frames } from './frames.ts';
import type { TunnelIdentity } from './payload.ts';
import { oneBoolean, oneUnsigned } from './queries.ts';
import { dial, relay } from './relay.ts';
import { textProblem } from './replies.ts';
import type { Call, Route } from './router.ts';
import { plainCodec, verifiedCodec } from './tunnel-codec.ts';
import type { TunnelCodec } from './tunnel-codec.ts';

/** The one subprotocol that is ever selected; the others that callers offer carry credentials. */
const subprotocol = 'lambda-microvms';
/** Longest frame that a caller may send, in bytes. */
const maxFrameBytes = 16_777_216;

/** What tunnels work on. */
export interface TcpWorld {
  readonly version: string;
  readonly generation: TunnelGeneration;
  /** In place of the generation's own. */
  readonly prologue?: TunnelPrologue;
  readonly alarms: Alarms;
  /** The keys that came with the launch; `null` for none. */
  identity(): TunnelIdentity | null;
  /** Hears of every tunnel, so that a suspend can break it. */
  opened(webSocket: WebSocket): void;
}

/** The WebSocket route. */
export function tcpRoute(world: TcpWorld): Route {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  server.on('headers', (headers) => headers.push(`microvms-agentd-version: ${world.version}`));
  const prologue = world.prologue ?? tunnelPrologue(world.generation);

  /** The handshake; `null` when the tunnel was refused. */
  const verify = async (webSocket: WebSocket, frames: Frames, port: number): Promise<TunnelCodec | null> => {
    const identity = world.identity();
    if (identity === null) {
      webSocket.close(tunnelCloseCodes.noIdentity, 'this VM was launched without identity keys');
      return null;
    }
    try {
      const first = await frames.next();
      if (first?.isBinary !== true) throw new NoiseFailure('no handshake');
      const party = {
        secret: identity.seed,
        remotePublicKey: identity.hostPublicKey,
        prologue: prologue(port),
        payload: Uint8Array.of(endOfStreamFlag),
      };
      const { payload, message2, transport } = noiseRespond(party, first.data);
      webSocket.send(message2, { binary: true });
      if (world.generation === '1.x') {
        const confirmation = await frames.next();
        if (confirmation?.isBinary !== true || !transport.open(confirmation.data).equals(tunnelConfirmation)) {
          throw new NoiseFailure('no confirmation');
        }
      }
      return verifiedCodec(transport, ((payload[0] ?? 0) & endOfStreamFlag) !== 0);
    } catch (error) {
      if (error instanceof NoiseFailure) webSocket.close(tunnelCloseCodes.identityRefused, 'identity refused');
      else webSocket.close(tunnelCloseCodes.relayFailed, 'the handshake failed');
      return null;
    }
  };

  const tunnel = async (webSocket: WebSocket, port: number, verified: boolean): Promise<void> => {
    webSocket.on('error', () => webSocket.terminate());
    world.opened(webSocket);
    const frames = readFrames(webSocket);
    const codec = verified ? await verify(webSocket, frames, port) : plainCodec;
    if (codec === null) return;
    if (port === 0) {
      webSocket.close(tunnelCloseCodes.badPort, 'port 0');
      return;
    }
    const guest = await dial(port, world.alarms);
    if (guest === null) {
      webSocket.close(tunnelCloseCodes.noListener, `nobody accepts on port ${port}`);
      return;
    }
    await relay(webSocket, frames, guest, codec);
  };

  const serve = ({ request, response, query, upgrade }: Call): void => {
    const port = queried(() => oneUnsigned(query, 'port', 65_535n));
    const verified = queried(() => oneBoolean(query, 'identity')) ?? false;
    if (port === null) throw textProblem(400, 'port is missing');
    if (upgrade === null || request.headers.upgrade?.toLowerCase() !== 'websocket') {
      throw textProblem(400, 'not a WebSocket upgrade');
    }
    const key = request.headers['sec-websocket-key'];
    if (request.headers['sec-websocket-version'] !== '13' || key === undefined || !/^[+/0-9A-Za-z]{22}==$/.test(key)) {
      throw textProblem(400, 'not a WebSocket upgrade of version 13');
    }
    const socket = upgrade.socket as Socket;
    response.detachSocket(socket);
    server.handleUpgrade(request, socket, upgrade.head, (webSocket) => {
      void tunnel(webSocket, port, verified).catch(() => webSocket.terminate());
    });
  };

  return { path: '/v1/tcp', auth: 'bearer', methods: { GET: serve } };
}
