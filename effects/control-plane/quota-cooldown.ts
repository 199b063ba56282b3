/** Keeps a caller from knocking on a used-up quota four times a second (FC-046). */
import { VmchartError } from '../errors.ts';
import type { Clock } from '../ports.ts';

/** Refuses launches for a while after the service refused one for its quota. */
export class QuotaCooldown {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  #until = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
  }

  /** @throws VmchartError `Platform` with reason `quota` and `retryAfterMs`, while it lasts */
  check(): void {
    const leftMs = this.#until - this.#clock.now();
    if (leftMs <= 0) return;
    throw new VmchartError(
      'Platform',
      `Not launched: the service said that a quota is used up, and the cool-down lasts ${Math.ceil(leftMs / 1_000)} s more.`,
      { reason: 'quota', retryAfterMs: leftMs, suggestions: ['Terminate VMs that are no longer needed.'] },
    );
  }

  /** Starts when the launch fails for its quota. */
  async watch<T>(launch: Promise<T>): Promise<T> {
    try {
      return await launch;
    } catch (error) {
      if (VmchartError.is(error) && error.reason === 'quota') this.#until = this.#clock.now() + this.#lengthMs;
      throw error;
    }
  }

  /** Ends it: something was freed. */
  end(): void {
    this.#until = Number.NEGATIVE_INFINITY;
  }
}
