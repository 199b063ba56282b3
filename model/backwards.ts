/** "From every state a path leads to a goal", computed backwards over the whole graph. */
import type { EdgeList } from './state-store.ts';

/** The edges turned around: the sources of state `n` lie from `starts[n]` up to `starts[n + 1]`. */
export interface ReversedEdges {
  readonly starts: Int32Array;
  readonly sources: Int32Array;
}

/** Turns a graph around: counts the ways into each state, then fills them in. */
export function reversed(count: number, edges: EdgeList): ReversedEdges {
  const { targets } = edges;
  const starts = new Int32Array(count + 1);
  for (let edge = 0; edge < edges.count; edge += 1) {
    const after = (targets[edge] as number) + 1;
    starts[after] = (starts[after] as number) + 1;
  }
  for (let state = 0; state < count; state += 1) {
    starts[state + 1] = (starts[state + 1] as number) + (starts[state] as number);
  }
  const fill = starts.slice();
  const sources = new Int32Array(edges.count);
  for (let state = 0, edge = 0; state < count; state += 1) {
    for (const end = edges.starts[state + 1] as number; edge < end; edge += 1) {
      const target = targets[edge] as number;
      const at = fill[target] as number;
      sources[at] = state;
      fill[target] = at + 1;
    }
  }
  return { starts, sources };
}

/**
 * Walks from the goals against the edges.
 *
 * @returns how many states are goals, and the first state (in the order of the search) from which no path leads to
 *   one; `-1` when there is none
 */
export function backwards(
  count: number,
  { starts, sources }: ReversedEdges,
  isGoal: (state: number) => boolean,
): { readonly goals: number; readonly stuck: number } {
  const good = new Uint8Array(count);
  const queue = new Int32Array(count);
  let tail = 0;
  for (let state = 0; state < count; state += 1) {
    if (!isGoal(state)) continue;
    good[state] = 1;
    queue[tail] = state;
    tail += 1;
  }
  const goals = tail;
  for (let head = 0; head < tail; head += 1) {
    const state = queue[head] as number;
    for (let at = starts[state] as number, end = starts[state + 1] as number; at < end; at += 1) {
      const source = sources[at] as number;
      if (good[source] === 1) continue;
      good[source] = 1;
      queue[tail] = source;
      tail += 1;
    }
  }
  return { goals, stuck: tail === count ? -1 : good.indexOf(0) };
}
