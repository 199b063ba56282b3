/** A gate that a frozen VM closes: whoever wants to act inside waits until it opens. */

/** See {@link createGate}. */
export interface Gate {
  readonly closed: boolean;
  /** Resolves at once while the gate is open, else when it opens. */
  pass(): Promise<void>;
  close(): void;
  open(): void;
}

/** An open gate. */
export function createGate(): Gate {
  let waiting: (() => void)[] | null = null;
  return {
    get closed() {
      return waiting !== null;
    },
    async pass() {
      for (;;) {
        const queue = waiting;
        if (queue === null) return;
        await new Promise<void>((resolve) => {
          queue.push(resolve);
        });
      }
    },
    close() {
      waiting ??= [];
    },
    open() {
      const queue = waiting ?? [];
      waiting = null;
      for (const resume of queue) resume();
    },
  };
}
