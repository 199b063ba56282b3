/** Ctrl-C and its like, as abort signals. */
import { VmchartError } from '../../effects/errors.ts';
import { stopping, type SignalSource } from './early-signals.ts';

/**
 * A second signal within this time is the first one again: under `npm run` one Ctrl-C arrives twice, once from
 * the terminal's process group and once forwarded by npm. In milliseconds.
 */
const sameSignalMs = 1_000;

/** What tells a command to stop. */
export interface Interrupts {
  /** Aborts at the first signal, with an error of kind `Interrupted`. */
  readonly signal: AbortSignal;
  /** Aborts at a later, separate signal: whoever is tearing down then takes the short way. */
  readonly hurry: AbortSignal;
  /** Ends the command as a signal would. */
  stop(reason: Error): void;
}

/** Listens for signals until it is closed. */
export class ProcessInterrupts implements Interrupts {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #source: SignalSource;
  readonly #now: () => number;
  #firstAt = 0;

  /** @param now - a monotonic reading in milliseconds */
  constructor(source: SignalSource = process, now: () => number = () => performance.now()) {
    this.#source = source;
    this.#now = now;
    for (const name of stopping) source.on(name, this.#heard);
  }

  get signal(): AbortSignal {
    return this.#first.signal;
  }

  get hurry(): AbortSignal {
    return this.#second.signal;
  }

  stop(reason: Error): void {
    this.#first.abort(reason);
  }

  close(): void {
    for (const name of stopping) this.#source.off(name, this.#heard);
  }

  readonly #heard = (name: NodeJS.Signals) => {
    const reason = new VmchartError('Interrupted', `Interrupted by ${name}.`, { reason: 'signal' });
    if (!this.#first.signal.aborted) {
      this.#firstAt = this.#now();
      this.#first.abort(reason);
    } else if (this.#now() - this.#firstAt > sameSignalMs) {
      this.#second.abort(reason);
    }
  };
}

/** Resolves at the first signal: stopping is the normal end of what serves. A failure in the background is not. */
export async function untilStopped(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) {
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
  const reason = signal.reason as { kind?: string };
  if (reason.kind !== 'Interrupted') throw reason as Error;
}
