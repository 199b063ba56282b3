/** Which transitions and substates of a chart an exploration takes and reaches. */
import type { AnyStateMachine, AnyTransitionDefinition, EventFromLogic, SnapshotFrom } from 'xstate';

/** A state node, as far as this file reads it. */
interface ChartNode {
  readonly id: string;
  readonly path: readonly string[];
  readonly states: Readonly<Record<string, ChartNode>>;
  readonly transitions: ReadonlyMap<string, readonly AnyTransitionDefinition[]>;
  readonly type: string;
}

/** One transition of a chart. */
export interface ChartTransition {
  /** Where it stands: state, event, and its place among the branches, such as `RUNNING.idle RESUME 2`. */
  readonly id: string;
  /** The dotted path of the state that declares it; empty for the root. */
  readonly source: string;
  readonly event: string;
  readonly targets: readonly string[];
  /** Names of its guards; those of a conjunction one by one. */
  readonly guards: readonly string[];
  /** The requirements that its `meta` names. */
  readonly requirements: readonly string[];
  readonly description: string | null;
}

function nodesOf(node: ChartNode): ChartNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

/** The names in a guard: a name, an object with a name, or a conjunction of such. */
function guardNames(guard: unknown): string[] {
  if (guard === undefined || guard === null) return [];
  if (typeof guard === 'string') return [guard];
  const { guards, type } = guard as { guards?: readonly unknown[]; type?: string };
  if (guards !== undefined) return guards.flatMap(guardNames);
  return type === undefined ? [] : [type];
}

/** What a transition names in `meta.requirements`. */
function requirementsOf({ meta }: AnyTransitionDefinition): readonly string[] {
  return (meta as { requirements?: readonly string[] } | undefined)?.requirements ?? [];
}

/** All transitions of a machine, and the way from a definition to its entry. */
export interface Chart {
  readonly transitions: readonly ChartTransition[];
  /** Dotted paths of all states without children. */
  readonly leaves: readonly string[];
  readonly entryOf: (definition: AnyTransitionDefinition) => ChartTransition | undefined;
}

/** Reads a machine's chart. */
export function chartOf(machine: AnyStateMachine): Chart {
  const entries = new Map<AnyTransitionDefinition, ChartTransition>();
  const nodes = nodesOf(machine.root as unknown as ChartNode);
  for (const node of nodes) {
    const source = node.path.join('.');
    for (const [event, definitions] of node.transitions) {
      for (const [index, definition] of definitions.entries()) {
        entries.set(definition, {
          id: `${source === '' ? 'root' : source} ${event} ${index + 1}`,
          source,
          event,
          targets: (definition.target ?? []).map(({ path }) => path.join('.')),
          guards: guardNames(definition.guard),
          requirements: requirementsOf(definition),
          description: definition.description ?? null,
        });
      }
    }
  }
  return {
    transitions: [...entries.values()],
    leaves: nodes.filter(({ states }) => Object.keys(states).length === 0).map(({ path }) => path.join('.')),
    entryOf: (definition) => entries.get(definition),
  };
}

/** The transitions that a machine takes for an event in a state; empty where it ignores the event. */
export function taken<Machine extends AnyStateMachine>(
  machine: Machine,
  chart: Chart,
  before: SnapshotFrom<Machine>,
  event: EventFromLogic<Machine>,
): readonly ChartTransition[] {
  return machine.getTransitionData(before as never, event).flatMap((definition) => {
    const entry = chart.entryOf(definition);
    return entry === undefined ? [] : [entry];
  });
}
