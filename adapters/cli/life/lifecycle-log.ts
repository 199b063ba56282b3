/** Remembers the path of states that a VM took, with times and causes. */
import type { LifecycleChange, Sandbox } from '../../../effects/index.ts';
import type { Cause, VmState } from '../../../machines/index.ts';

/** One state on the path. */
export interface VisitedState {
  readonly state: VmState;
  /** Milliseconds since the log began. */
  readonly atMs: number;
  readonly cause: Cause | null;
  /** The service's own words, where it gave some. */
  readonly stateReason: string | null;
}

/** Follows one sandbox from where it is now. */
export class LifecycleLog {
  readonly #visited: VisitedState[];
  readonly #changes: AsyncIterableIterator<LifecycleChange>;
  readonly #now: () => number;
  readonly #startedAt: number;
  #told: (state: VisitedState) => void = () => undefined;

  constructor(sandbox: Sandbox, now: () => number) {
    this.#now = now;
    this.#startedAt = now();
    this.#visited = [{ state: sandbox.lifecycle, atMs: 0, cause: null, stateReason: null }];
    this.#changes = sandbox.changes();
    void this.#follow();
  }

  /** The path so far. */
  get visited(): readonly VisitedState[] {
    return this.#visited;
  }

  /** The states alone. */
  get states(): readonly VmState[] {
    return this.#visited.map(({ state }) => state);
  }

  /** Milliseconds since the log began. */
  get elapsedMs(): number {
    return this.#now() - this.#startedAt;
  }

  /** Calls the listener for each state from now on. */
  onState(listener: (state: VisitedState) => void): void {
    this.#told = listener;
  }

  /** Takes in what has been told, then stops following. */
  async close(): Promise<void> {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    await this.#changes.return?.();
  }

  async #follow(): Promise<void> {
    for await (const { to, cause, stateReason, at } of this.#changes) {
      const visit = { state: to, atMs: (at ?? this.#now()) - this.#startedAt, cause, stateReason };
      this.#visited.push(visit);
      this.#told(visit);
    }
  }
}

/** A path as plain data for an envelope, times in whole milliseconds. */
export function pathData(log: LifecycleLog): readonly Readonly<Record<string, unknown>>[] {
  return log.visited.map(({ state, atMs, cause, stateReason }) => ({
    state,
    atMs: Math.round(atMs),
    cause,
    stateReason,
  }));
}
