/** The emulator's end of a pipe from a child: read into one buffer that all pipes share, so that nothing piles up. */
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { OnReadOpts, SocketConstructorOpts } from 'node:net';

/** See {@link openReader}. */
export interface PipeReader {
  /**
   * Starts reading. `onData` gets bytes that are only valid during the call; `onEnd` is called once, when nobody
   * holds the other end any more or the pipe failed.
   */
  read(onData: (data: Buffer) => void, onEnd: () => void): void;
  pause(): void;
  resume(): void;
  /** Stops reading for good. */
  close(): void;
}

/** As much as a pipe holds. Reads happen one after the other on one thread, so one buffer serves all. */
const shared = Buffer.allocUnsafeSlow(65_536);

/** Opens the FIFO `path` for reading. It does not wait for a writer. */
export function openReader(path: string): PipeReader {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let deliver: ((data: Buffer) => void) | null = null;
  let early: Buffer | null = null;
  let socket: Socket;
  const options: SocketConstructorOpts & { readonly onread: OnReadOpts } = {
    fd,
    readable: true,
    writable: false,
    onread: {
      buffer: shared,
      callback(size, buffer) {
        const data = buffer.subarray(0, size) as Buffer;
        if (deliver !== null) deliver(data);
        // Nobody listens yet: keep what came and wait.
        else early = Buffer.from(data);
        return deliver !== null;
      },
    },
  };
  try {
    socket = new Socket(options);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  socket.on('error', () => socket.destroy());
  return {
    read(onData, onEnd) {
      deliver = onData;
      if (early !== null) onData(early);
      early = null;
      socket.once('close', onEnd);
      if (socket.closed) onEnd();
      else socket.resume();
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => void socket.destroy(),
  };
}
