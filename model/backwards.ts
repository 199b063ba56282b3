/** "From every state a path leads to a goal", computed over the whole graph. */
import type { EdgeList } from './state-store.ts';

/**
 * Spreads "leads to a goal" against the edges until nothing changes.
 *
 * The edges are read as they lie, sweep after sweep in turning directions: a handful of sweeps through memory in order
 * is faster than turning millions of edges around.
 *
 * @returns how many states are goals, and the first state (in the order of the search) from which no path leads to
 *   one; `-1` when there is none
 */
export function backwards(
  count: number,
  { starts, targets }: EdgeList,
  isGoal: (state: number) => boolean,
): { readonly goals: number; readonly stuck: number } {
  const good = new Uint8Array(count);
  let goals = 0;
  for (let state = 0; state < count; state += 1) {
    if (!isGoal(state)) continue;
    good[state] = 1;
    goals += 1;
  }
  const leadsOn = (state: number): boolean => {
    for (let edge = starts[state] as number, end = starts[state + 1] as number; edge < end; edge += 1) {
      if (good[targets[edge] as number] === 1) return true;
    }
    return false;
  };
  for (let found = goals, before = -1, down = true; found !== before && found < count; down = !down) {
    before = found;
    for (let place = 0; place < count; place += 1) {
      const state = down ? count - 1 - place : place;
      if (good[state] === 1 || !leadsOn(state)) continue;
      good[state] = 1;
      found += 1;
    }
  }
  return { goals, stuck: good.indexOf(0) };
}
