/** The frames of one WebSocket, one at a time and in order, however many came together. */
import type { WebSocket } from 'ws';

/** A frame of the caller. */
export interface Frame {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** See {@link readFrames}. */
export interface Frames {
  /** The next frame, or `null` when the WebSocket is closed and all frames are taken. */
  next(): Promise<Frame | null>;
}

/** How many frames wait before the WebSocket is told to stop reading. */
const highWaterFrames = 8;

/** Collects frames until somebody asks for them. */
export function readFrames(webSocket: WebSocket): Frames {
  const waiting: Frame[] = [];
  let closed = false;
  let wake = (): void => undefined;
  webSocket.on('message', (data: Buffer, isBinary: boolean) => {
    waiting.push({ data, isBinary });
    if (waiting.length >= highWaterFrames) webSocket.pause();
    wake();
  });
  webSocket.once('close', () => {
    closed = true;
    wake();
  });
  return {
    async next() {
      for (;;) {
        const frame = waiting.shift();
        if (frame !== undefined) {
          if (webSocket.isPaused && waiting.length === 0) webSocket.resume();
          return frame;
        }
        if (closed) return null;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
