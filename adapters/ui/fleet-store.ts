/** What a server remembers of the fleet, and whom it tells. */
import type { TraceEntry } from '../trace/entry.ts';
import { emptyFleet, fold, summaryOf, type Life } from './assets/fold.js';

/** An entry with its number, by which a page joins what it was greeted with to what comes after. */
export type NumberedEntry = TraceEntry & { readonly seq: number };

/** The memory of one server. */
export class FleetStore {
  readonly #fleet = emptyFleet();
  readonly #listeners = new Set<(entry: NumberedEntry) => void>();
  #seq = 0;

  /** Takes an entry in and passes it on. */
  readonly tell = (entry: TraceEntry): void => {
    this.#seq += 1;
    const numbered = { ...entry, seq: this.#seq };
    fold(this.#fleet, numbered);
    for (const listener of this.#listeners) listener(numbered);
  };

  /** The number of the latest entry. */
  get seq(): number {
    return this.#seq;
  }

  /** All lives, without their logs. */
  summaries(): Omit<Life, 'log'>[] {
    return [...this.#fleet.lives.values()].map(summaryOf);
  }

  /** One life with its log, or `null`. */
  life(name: string): Life | null {
    return this.#fleet.lives.get(name) ?? null;
  }

  /** Follows what comes, until the returned function is called. */
  follow(listener: (entry: NumberedEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
