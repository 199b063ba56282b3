/** The ports made real, and the hosts. */
export { manualClock, systemClock } from './clock.ts';
export type { ManualClock } from './clock.ts';
export { seededEntropy, systemEntropy } from './entropy.ts';
