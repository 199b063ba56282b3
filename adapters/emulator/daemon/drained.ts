/** Waiting for a stream that had enough for now. */

/** The part of a writable stream of any library that is needed here. */
interface Drainable {
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

/** Resolves when the stream takes more, or is closed and never will. Leaves no listener behind. */
export function drained(stream: Drainable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.once('drain', done);
    stream.once('close', done);
  });
}
