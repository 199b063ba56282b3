/** "From every state a path leads to a goal", computed backwards over the whole graph. */
import type { EdgeList } from './state-store.ts';

/**
 * Walks the graph backwards from the goals.
 *
 * @returns how many states are goals, and the first state (in the order of the search) from which no path leads to
 *   one; `-1` when there is none
 */
export function backwards(
  count: number,
  edges: EdgeList,
  isGoal: (state: number) => boolean,
): { readonly goals: number; readonly stuck: number } {
  // Turn the edges around: count the ways into each state, then fill them in.
  const starts = new Int32Array(count + 1);
  for (let edge = 0; edge < edges.count; edge += 1) {
    const target = (edges.targets[edge] as number) + 1;
    starts[target] = (starts[target] as number) + 1;
  }
  for (let state = 0; state < count; state += 1)
    starts[state + 1] = (starts[state + 1] as number) + (starts[state] as number);
  const fill = starts.slice();
  const sources = new Int32Array(edges.count);
  for (let state = 0; state < count; state += 1) {
    for (let edge = edges.starts[state] as number; edge < (edges.starts[state + 1] as number); edge += 1) {
      const target = edges.targets[edge] as number;
      sources[fill[target] as number] = state;
      fill[target] = (fill[target] as number) + 1;
    }
  }
  const good = new Uint8Array(count);
  const queue = new Int32Array(count);
  let tail = 0;
  for (let state = 0; state < count; state += 1) {
    if (!isGoal(state)) continue;
    good[state] = 1;
    queue[tail] = state;
    tail += 1;
  }
  const met = tail;
  for (let head = 0; head < tail; head += 1) {
    const state = queue[head] as number;
    for (let at = starts[state] as number; at < (starts[state + 1] as number); at += 1) {
      const source = sources[at] as number;
      if (good[source] === 1) continue;
      good[source] = 1;
      queue[tail] = source;
      tail += 1;
    }
  }
  return { goals: met, stuck: good.indexOf(0) };
}
