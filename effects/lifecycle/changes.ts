/** Changes of the lifecycle as a stream: one item per change, never one per poll (FC-043). */
import type { Cause, SandboxSnapshot, VmState } from '../../machines/index.ts';

/** One change of state. */
export interface LifecycleChange {
  readonly from: VmState;
  readonly to: VmState;
  readonly cause: Cause | null;
  /** The service's own words, where it gave some. */
  readonly stateReason: string | null;
  /** A monotonic reading in milliseconds. */
  readonly at: number | null;
}

/** The change between two snapshots, or `null` when the state is the same. */
export function changeBetween(before: VmState, after: SandboxSnapshot): LifecycleChange | null {
  const { lifecycle, cause, stateReason, changedAt } = after.context;
  return lifecycle === before ? null : { from: before, to: lifecycle, cause, stateReason, at: changedAt };
}

/**
 * A queue between one who tells and one who iterates: nothing is lost while the reader is busy.
 * It ends when `done` is called or the reader leaves.
 */
export class ChangeStream implements AsyncIterableIterator<LifecycleChange> {
  readonly #queue: LifecycleChange[] = [];
  readonly #onLeave: () => void;
  #wake: (() => void) | null = null;
  #ended = false;
  #error: unknown = null;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  push(change: LifecycleChange): void {
    this.#queue.push(change);
    this.#wake?.();
  }

  done(error: unknown = null): void {
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<LifecycleChange>> {
    for (;;) {
      const change = this.#queue.shift();
      if (change !== undefined) return { done: false, value: change };
      if (this.#error !== null) {
        const error = this.#error;
        this.#error = null;
        throw error;
      }
      if (this.#ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  return(): Promise<IteratorResult<LifecycleChange>> {
    this.#ended = true;
    this.#queue.length = 0;
    this.#onLeave();
    this.#wake?.();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
