/** What happens to the emulated VMs, as a stream that a page or a test can follow. */
import type { Cause, VmState } from '../../machines/index.ts';

/** One VM changed its state. */
export interface StateChange {
  readonly microvmId: string;
  /** Null for the launch itself. */
  readonly from: VmState | null;
  readonly to: VmState;
  readonly cause: Cause;
  readonly stateReason: string | null;
  /** Monotonic milliseconds on the emulator's clock. */
  readonly at: number;
  /** Unix milliseconds on the emulator's clock. */
  readonly wallAt: number;
}

/** Follows changes with a listener or with `for await`. An iteration sees what happens after it began. */
export interface ChangeFeed extends AsyncIterable<StateChange> {
  /** Calls the listener for each change until the returned function is called. */
  on(listener: (change: StateChange) => void): () => void;
}

/** The feed and its two controls. */
export interface ChangeSource {
  readonly feed: ChangeFeed;
  publish(change: StateChange): void;
  /** Ends every iteration. */
  close(): void;
}

/** Makes a feed. A listener that throws is dropped: what watches must not disturb what it watches. */
export function makeChangeSource(): ChangeSource {
  const listeners = new Set<(change: StateChange) => void>();
  const enders = new Set<() => void>();
  let closed = false;

  const on = (listener: (change: StateChange) => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };

  /** Listens from the call on, not from the first `next`. */
  function iterate(): AsyncGenerator<StateChange, void, undefined> {
    const queue: StateChange[] = [];
    let wake: () => void = () => {};
    const off = on((change) => {
      queue.push(change);
      wake();
    });
    const end = () => wake();
    enders.add(end);
    return (async function* follow() {
      try {
        while (true) {
          for (let next = queue.shift(); next !== undefined; next = queue.shift()) yield next;
          if (closed) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        off();
        enders.delete(end);
      }
    })();
  }

  return {
    feed: { on, [Symbol.asyncIterator]: iterate },
    publish(change) {
      for (const listener of listeners) {
        try {
          listener(change);
        } catch {
          listeners.delete(listener);
        }
      }
    },
    close() {
      closed = true;
      for (const end of enders) end();
    },
  };
}
