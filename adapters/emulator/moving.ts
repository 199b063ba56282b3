/** Moving an emulator's clock by hand. */
import type { Clock } from '../../effects/index.ts';
import { isMovable } from './clocks.ts';
import type { Work } from './work.ts';

/** How long a guest is waited for that may never answer, in real milliseconds. */
const graceMs = 500;

/**
 * Moves a clock from deadline to deadline, and lets what the platform does inside the VMs come to rest before time
 * goes on: a hook answers at the moment it was called. Throws a `TypeError` for a clock that moves by itself.
 */
export async function moveClock(clock: Clock, ms: number, nextDeadline: () => number, work: Work): Promise<void> {
  if (!isMovable(clock)) throw new TypeError('Only a manual clock can be advanced.');
  const until = clock.now() + ms;
  await work.settled(graceMs);
  for (let next = nextDeadline(); next <= until; next = nextDeadline()) {
    await clock.advance(Math.max(0, next - clock.now()));
    await work.settled(graceMs);
  }
  await clock.advance(until - clock.now());
  await work.settled(graceMs);
}
