/** A second opinion: `@xstate/graph` explores the same machine with the same events under the same projection. */
import { getAdjacencyMap, getShortestPaths } from '@xstate/graph';
import type { SandboxSnapshot } from '../../machines/index.ts';
import { structural } from '../check/results.ts';
import { explore } from '../explorer.ts';
import { ModelError } from '../model-error.ts';
import type { PropertyResult } from '../property.ts';
import { keyOf } from '../transition-system.ts';
import { sandboxActions } from './events.ts';
import { projectSandbox } from './projection.ts';
import { sandboxSystem, startingInputs, startOf, type SandboxMachine } from './system.ts';

const key = (snapshot: SandboxSnapshot): string => keyOf(projectSandbox(snapshot));

/** What differs between the two explorations of a new life, in words; `null` when nothing does. */
function difference(machine: SandboxMachine, limit: number): { states: number; differs: string | null } {
  const [input] = startingInputs({ newLifeOnly: true });
  if (input === undefined) throw new ModelError('invalid-model', 'there is no life to start with');
  const edges = new Map<string, string>();
  const { visits } = explore(sandboxSystem({ newLifeOnly: true, withoutRestarts: true }, machine), {
    limit,
    onStep: ({ before, action, after }) => edges.set(key(before) + JSON.stringify(action.event), key(after)),
  });
  const depths = new Map(visits.map(({ projection, depth }) => [keyOf(projection), depth]));
  // The two packages' types of a machine differ in their emitted events; what they do is the same.
  const options = {
    events: (snapshot: SandboxSnapshot) => sandboxActions(snapshot).map(({ event }) => event),
    serializeState: key,
    fromState: startOf(machine, input),
    limit: limit * 100,
  } as never;
  const logic = machine as never;
  const paths = getShortestPaths(logic, options) as unknown as { state: SandboxSnapshot; steps: unknown[] }[];
  if (paths.length !== visits.length)
    return { states: paths.length, differs: `it finds ${paths.length} states, we ${visits.length}` };
  const longer = paths.find(({ state, steps }) => depths.get(key(state)) !== steps.length - 1);
  if (longer !== undefined)
    return { states: paths.length, differs: `its path to ${key(longer.state)} is of another length` };
  const rows = getAdjacencyMap(logic, options) as unknown as Record<
    string,
    { transitions: Record<string, { state: SandboxSnapshot }> }
  >;
  for (const [from, { transitions }] of Object.entries(rows)) {
    for (const [event, { state }] of Object.entries(transitions)) {
      if (edges.get(from + event) !== key(state))
        return { states: paths.length, differs: `${event} leads elsewhere in ${from}` };
    }
  }
  return { states: paths.length, differs: null };
}

/** `@xstate/graph` finds the same states by paths of the same length, and the same edges between them. */
export function agreesWithGraph(machine: SandboxMachine, limit: number): PropertyResult {
  const { states, differs } = difference(machine, limit);
  return structural(
    'agrees-with-xstate-graph',
    '@xstate/graph finds the same states, paths of the same length and the same edges.',
    states,
    differs,
  );
}
