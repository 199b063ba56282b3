/** Which of the next builds are to fail. */
import type { BuildFailure, PlannedFailure } from './service/build-failures.ts';

/** What a user of the emulator can do to builds. */
export interface BuildFailures {
  /** The next version that is built fails in this way; further calls queue up. */
  failNext(failure: BuildFailure, options?: { readonly chipsetGeneration?: '3' | '4' }): void;
  /** Takes the next failure off the queue; null: the build succeeds. */
  take(): PlannedFailure | null;
}

/** An empty queue. */
export function makeBuildFailures(): BuildFailures {
  const queue: PlannedFailure[] = [];
  return {
    failNext: (failure, options = {}) =>
      void queue.push({ failure, chipsetGeneration: options.chipsetGeneration ?? null }),
    take: () => queue.shift() ?? null,
  };
}
