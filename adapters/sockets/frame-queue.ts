/** The frames of one WebSocket, taken one at a time; while they wait, the socket is not read. */
import type { WebSocket } from 'ws';

/** One frame. */
export interface Frame {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

/** How a WebSocket was closed. Code 1006 stands for no close frame at all. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

const waitingFrames = 4;

/** Hands out frames in order, then how the socket was closed. */
export class FrameQueue {
  readonly #socket: WebSocket;
  readonly #frames: Frame[] = [];
  #closing: Closing | null = null;
  #wake: () => void = () => undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary) => {
      this.#frames.push({ data, isBinary });
      if (this.#frames.length >= waitingFrames) socket.pause();
      this.#wake();
    });
    socket.on('error', () => undefined);
    socket.once('close', (code, reason) => {
      this.#closing = { code, reason: reason.toString('utf8') };
      this.#wake();
    });
  }

  /** The next frame, or the closing once every frame was taken. */
  async next(): Promise<Frame | Closing> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.#closing !== null) return this.#closing;
      this.#socket.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
