/** Checks of the lifecycle chart as a whole: no dead end, nothing unreachable, no transition that is never taken. */
import { chartOf, taken, type Chart } from '../coverage.ts';
import { explore, type Visit } from '../explorer.ts';
import type { PropertyResult } from '../property.ts';
import { structural } from '../check/results.ts';
import { guardNames, withoutGuard } from './mutants.ts';
import { describeSandbox, restartLabel, sandboxSystem } from './system.ts';
import type { SandboxEvent, SandboxSnapshot } from '../../machines/index.ts';

/** From every state a path leads to TERMINATED, so nothing but TERMINATED is a dead end. */
export function deadEnds(
  visits: readonly Visit<SandboxSnapshot, SandboxEvent>[],
  edges: readonly (readonly [from: number, to: number])[],
): PropertyResult {
  const sources = new Map<number, number[]>();
  for (const [from, to] of edges) sources.set(to, [...(sources.get(to) ?? []), from]);
  const good = new Set<number>();
  const queue = [...visits.keys()].filter((index) => visits[index]?.projection['substate'] === 'TERMINATED');
  for (const index of queue) {
    if (good.has(index)) continue;
    good.add(index);
    queue.push(...(sources.get(index) ?? []));
  }
  const stuck = visits.find((_visit, index) => !good.has(index));
  return structural(
    'no-dead-end',
    'From every state a path leads to TERMINATED; nothing else is an end.',
    visits.length,
    stuck === undefined ? null : `no way to TERMINATED leads from ${describeSandbox(stuck.state)}`,
  );
}

/** Every leaf of the chart is reached. */
export function substatesReached({ leaves }: Chart, reached: ReadonlySet<string>): PropertyResult {
  const missing = leaves.filter((leaf) => !reached.has(leaf));
  return structural(
    'every-substate-reached',
    'Every substate of the chart is reached.',
    leaves.length,
    missing.length === 0 ? null : `these are not: ${missing.join(', ')}`,
  );
}

/** Every transition is taken, or one of the four guards alone blocks it and it is taken when that guard is off. */
export function transitionsTaken(chart: Chart, seen: ReadonlySet<string>, limit: number): PropertyResult {
  const missing = chart.transitions.filter(({ id }) => !seen.has(id));
  const unblocked = new Set<string>();
  for (const guard of guardNames.filter((name) => missing.some(({ guards }) => guards.includes(name)))) {
    const open = withoutGuard(guard);
    const openChart = chartOf(open);
    explore(sandboxSystem({}, open), {
      limit,
      onStep: ({ before, action }) => {
        if (action.label === restartLabel) return;
        for (const { id, guards } of taken(open, openChart, before, action.event)) {
          if (guards.includes(guard)) unblocked.add(id);
        }
      },
    });
  }
  const never = missing.filter(({ id }) => !unblocked.has(id)).map(({ id }) => id);
  return structural(
    'every-transition-taken',
    'Every transition of the chart is taken by some step, or only one of the four guards blocks it.',
    chart.transitions.length,
    never.length === 0 ? null : `these are not: ${never.join('; ')}`,
  );
}
