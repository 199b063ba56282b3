/** Whether a VM sleeps by our own hand, and for how long it has. */
import type { Clock } from '../ports.ts';

/** Stands still between a suspend and the next sign of life. */
export class VmPause {
  readonly #clock: Clock;
  #pausedAt: number | null = null;
  #pausedMs = 0;
  #wake: () => void = () => undefined;
  #awake: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get paused(): boolean {
    return this.#pausedAt !== null;
  }

  /** A reading that stands still while the VM is suspended, in milliseconds. */
  get activeNow(): number {
    return (this.#pausedAt ?? this.#clock.now()) - this.#pausedMs;
  }

  /** Resolves once the VM is awake. */
  get awake(): Promise<void> {
    return this.#awake;
  }

  begin(): void {
    if (this.#pausedAt !== null) return;
    this.#pausedAt = this.#clock.now();
    this.#awake = new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  end(): void {
    if (this.#pausedAt !== null) this.#pausedMs += this.#clock.now() - this.#pausedAt;
    this.#pausedAt = null;
    this.#wake();
  }
}
