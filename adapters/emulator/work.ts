/** What is under way inside the VMs, so that moving the clock by hand can wait for it. */

/** Keeps count of started work. */
export interface Work {
  track(work: Promise<unknown>): void;
  /**
   * Resolves when nothing is under way, or after `graceMs` of real time: something may hang for ever, such as a hook
   * that never answers. That is waited for once.
   */
  settled(graceMs: number): Promise<void>;
}

/** Makes the count. Work must not reject, or must be caught by whoever started it. */
export function makeWork(): Work {
  const running = new Set<Promise<unknown>>();
  // What was waited for in vain is not waited for again.
  const hanging = new WeakSet<Promise<unknown>>();
  const turn = () =>
    new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  return {
    track(work) {
      const forget = () => void running.delete(work);
      running.add(work);
      work.then(forget, forget);
    },
    async settled(graceMs) {
      const until = performance.now() + graceMs;
      const awaited = () => [...running].filter((work) => !hanging.has(work));
      await turn();
      for (let left = awaited(); left.length > 0; left = awaited()) {
        let timer: NodeJS.Timeout | undefined;
        const grace = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, until - performance.now());
        });
        await Promise.race([Promise.allSettled(left), grace]);
        clearTimeout(timer);
        await turn();
        if (performance.now() < until) continue;
        for (const work of awaited()) hanging.add(work);
      }
    },
  };
}
