/** What is left of a time limit, on the wall or only while the VM is awake (FC-029). */
import { alarm } from './deadline.ts';
import type { Transport } from './transport.ts';

/**
 * What time a deadline counts.
 *
 * - `wall`: all of it. The guest's clocks jump over a suspend, so the daemon fires a passed deadline right at the resume
 * - `active`: only while the VM is awake
 */
export type DeadlinePolicy = 'wall' | 'active';

/** A time limit under way. */
export class Countdown {
  readonly limitMs: number;
  readonly #transport: Transport;
  readonly #policy: DeadlinePolicy;
  readonly #firesWhilePaused: boolean;
  readonly #end: number;

  /** @param firesWhilePaused - whether it may run out while the VM is suspended, when nothing can be done about it. */
  constructor(transport: Transport, limitMs: number, policy: DeadlinePolicy = 'wall', firesWhilePaused = false) {
    this.limitMs = limitMs;
    this.#transport = transport;
    this.#policy = policy;
    this.#firesWhilePaused = firesWhilePaused;
    this.#end = this.#now() + limitMs;
  }

  /** Milliseconds left; zero or less when it has run out. */
  get leftMs(): number {
    const leftMs = this.#end - this.#now();
    return this.#transport.pause.paused && !this.#firesWhilePaused ? Math.max(1, leftMs) : leftMs;
  }

  /** Calls back once it has run out, unless the returned function is called before. */
  whenOver(fire: () => void): () => void {
    let cancel: () => void = () => undefined;
    const arm = (leftMs: number) => {
      cancel = alarm(this.#transport.clock, Math.max(0, leftMs), () => {
        const { leftMs } = this;
        if (leftMs <= 0) fire();
        else arm(this.#transport.pause.paused ? Math.max(leftMs, pausedLookMs) : leftMs);
      });
    };
    arm(this.leftMs);
    return () => cancel();
  }

  #now(): number {
    return this.#policy === 'active' ? this.#transport.pause.activeNow : this.#transport.clock.now();
  }
}

/** How often a deadline that waits for a resume is looked at, in milliseconds. */
const pausedLookMs = 1_000;
