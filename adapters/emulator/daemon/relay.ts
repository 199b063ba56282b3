/** Carrying bytes between a WebSocket and one TCP connection inside the VM (`agentd-protocol.md` 14.2 and 15.5). */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { tunnelCloseCodes } from '../../tunnel-terms.ts';
import type { Alarms } from './alarms.ts';
import { drained } from './drained.ts';
import type { Frames } from './frames.ts';
import type { TunnelCodec } from './tunnel-codec.ts';

/** How long a program of the VM may take to accept, in milliseconds. */
const dialTimeoutMs = 2_000;
/** How much may wait in the WebSocket before the guest is not read any more, in bytes. */
const highWaterBytes = 1_048_576;

/** Connects to a port of the VM's loopback; `null` when nobody accepts in time. */
export async function dial(port: number, alarms: Alarms): Promise<Socket | null> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  const cancel = alarms.set(dialTimeoutMs, () => socket.destroy());
  const connected = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
  cancel();
  if (connected) return socket;
  socket.destroy();
  return null;
}

/** Sends what the guest writes, as fast as the caller takes it; then ends the tunnel as the guest did. */
function carryOut(webSocket: WebSocket, guest: Socket, codec: TunnelCodec): void {
  const send = (data: Buffer): void => {
    for (let start = 0; start < data.length; start += codec.maxFrameBytes) {
      const part = data.subarray(start, start + codec.maxFrameBytes);
      webSocket.send(codec.encode(part), { binary: true }, () => {
        if (guest.isPaused() && webSocket.bufferedAmount <= highWaterBytes) guest.resume();
      });
    }
    if (webSocket.bufferedAmount > highWaterBytes) guest.pause();
  };
  guest.on('data', send);
  guest.once('end', () => {
    const end = codec.endFrame();
    if (end !== null) webSocket.send(end, { binary: true });
    webSocket.close(tunnelCloseCodes.normal);
    guest.end();
  });
  guest.once('error', (error: NodeJS.ErrnoException) => {
    // A guest that refuses what is written to it has simply had enough; one that cannot be read has failed.
    if (error.syscall === 'write') webSocket.close(tunnelCloseCodes.normal);
    else webSocket.close(tunnelCloseCodes.relayFailed, 'reading from the guest failed');
  });
}

/** Runs a tunnel to its end, whichever side ends it. */
export async function relay(webSocket: WebSocket, frames: Frames, guest: Socket, codec: TunnelCodec): Promise<void> {
  let ended = false;
  guest.once('close', () => {
    // The rest of what the caller sends is dropped: there is no half-close.
    if (webSocket.readyState === webSocket.OPEN) webSocket.close(tunnelCloseCodes.normal);
  });
  carryOut(webSocket, guest, codec);
  for (let frame = await frames.next(); frame !== null; frame = await frames.next()) {
    const decoded = codec.decode(frame.data, frame.isBinary);
    if (decoded.kind === 'broken') {
      webSocket.terminate();
      break;
    }
    if (decoded.kind === 'end') {
      ended = true;
      webSocket.close(tunnelCloseCodes.normal);
      break;
    }
    if (guest.destroyed || decoded.data.length === 0) continue;
    if (!guest.write(decoded.data)) await drained(guest);
  }
  if (codec.resetsWithoutEnd && !ended && !guest.readableEnded) guest.resetAndDestroy();
  else guest.end(() => guest.destroy());
}
