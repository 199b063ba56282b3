/** The emulator's clocks: the real one, one that runs faster, and one that is moved by hand. */
import type { Clock } from '../../effects/index.ts';
import { manualClock, systemClock } from '../clock.ts';

/** How the emulator's time passes: `fast` runs at a multiple of real time. */
export type ClockMode = 'real' | 'fast' | 'manual';

/**
 * A clock on which `rate` seconds pass in one real second. It starts at the present wall time and runs ahead of it.
 */
export function acceleratedClock(rate: number): Clock {
  const real = systemClock();
  const startedAt = real.now();
  const startedWall = real.wallNow();
  const now = () => (real.now() - startedAt) * rate;
  return {
    now,
    wallNow: () => startedWall + now(),
    sleep: (ms, signal) => real.sleep(ms / rate, signal),
  };
}

/** A clock that can be moved by hand, such as a manual one. */
export interface MovableClock extends Clock {
  advance(ms: number): Promise<void>;
}

/** Whether a clock can be moved by hand. */
export function isMovable(clock: Clock): clock is MovableClock {
  return 'advance' in clock && typeof clock.advance === 'function';
}

/** Makes the clock of a mode. A manual one starts at the present wall time, so that real signatures are fresh. */
export function makeClock(mode: ClockMode | Clock, rate: number): Clock {
  if (typeof mode !== 'string') return mode;
  if (mode === 'manual') return manualClock({ wallMs: Date.now() });
  return mode === 'fast' ? acceleratedClock(rate) : systemClock();
}
