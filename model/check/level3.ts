/** Level 3: the daemon's machines. */
import { bootstrapMachine, execMachine } from '../../machines/index.ts';
import { chartOf, taken } from '../coverage.ts';
import { bootstrapProperties, bootstrapSystem } from '../daemon/bootstrap-properties.ts';
import { execProperties, execSystem } from '../daemon/exec-properties.ts';
import { explore } from '../explorer.ts';
import { structural, type LevelFindings } from './results.ts';

/** Runs level 3. */
export function checkLevel3({ limit = 100_000 }: { readonly limit?: number } = {}): LevelFindings {
  const bootstrap = explore(bootstrapSystem(), { limit, level: 3, properties: bootstrapProperties });
  const chart = chartOf(execMachine);
  const seen = new Set<string>();
  const exec = explore(execSystem(), {
    limit,
    level: 3,
    properties: execProperties,
    onStep: ({ before, action }) => {
      for (const { id } of taken(execMachine, chart, before, action.event)) seen.add(id);
    },
  });
  const never = chart.transitions.filter(({ id }) => !seen.has(id)).map(({ id }) => id);
  return {
    parts: [
      { name: bootstrapMachine.id, states: bootstrap.visits.length, transitions: bootstrap.transitions },
      { name: execMachine.id, states: exec.visits.length, transitions: exec.transitions },
    ],
    depth: Math.max(bootstrap.depth, exec.depth),
    properties: [
      ...bootstrap.properties,
      ...exec.properties,
      structural(
        'exec-every-transition-taken',
        'Every transition of the exec chart is taken by some step.',
        chart.transitions.length,
        never.length === 0 ? null : `these are not: ${never.join('; ')}`,
        3,
      ),
    ],
    table: [],
  };
}
