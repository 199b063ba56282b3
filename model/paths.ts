/**
 * Paths for model-based tests: drive the real thing along them and compare it with the model after every step.
 *
 * @example
 * ```ts
 * for (const path of pathsFor(trafficLight, { events: () => [{ label: 'a timer fires', by: 'clock', event: { type: 'TIMER' } }] })) {
 *   test(path.title, async () => {
 *     for (const { event, state } of path.steps) expect(await drive(event)).toBe(state.value);
 *   });
 * }
 * ```
 */
import type { AnyStateMachine, EventFromLogic, SnapshotFrom } from 'xstate';
import { explore, pathTo } from './explorer.ts';
import { machineSystem, type MachineSystemOptions } from './machine-system.ts';
import type { Action } from './transition-system.ts';

/** One step of a path and the state that the model is in after it. */
export interface PathStep<Machine extends AnyStateMachine> {
  readonly label: string;
  readonly by: string;
  readonly event: EventFromLogic<Machine>;
  readonly state: SnapshotFrom<Machine>;
}

/** A path from a start. */
export interface ModelPath<Machine extends AnyStateMachine> {
  /** Fit to be a test's title: the actions in order. */
  readonly title: string;
  readonly start: SnapshotFrom<Machine>;
  readonly steps: readonly PathStep<Machine>[];
}

/** Options of {@link pathsFor}. */
export interface PathsOptions<Machine extends AnyStateMachine> extends MachineSystemOptions<Machine> {
  /**
   * `states`: a shortest path to each state. `edges`: to each state, and on over each of its edges, so that every
   * step of the model is taken by some path. `states` unless said otherwise.
   */
  readonly cover?: 'states' | 'edges';
  readonly limit?: number;
  /** Leaves out paths that take an action which the test cannot cause. */
  readonly drivable?: (action: Action<EventFromLogic<Machine>>, before: SnapshotFrom<Machine>) => boolean;
}

/**
 * Shortest paths through a machine. A path that is the beginning of another one is left out: the longer one takes it.
 *
 * @throws ModelError with reason `limit` when there are more states than the limit allows
 */
export function pathsFor<Machine extends AnyStateMachine>(
  machine: Machine,
  options: PathsOptions<Machine>,
): ModelPath<Machine>[] {
  const { cover = 'states', limit = 10_000, drivable } = options;
  const system = machineSystem(machine, options);
  const restricted =
    drivable === undefined
      ? system
      : {
          ...system,
          actions: (state: SnapshotFrom<Machine>) => system.actions(state).filter((action) => drivable(action, state)),
        };
  const edges: { from: number; step: PathStep<Machine> }[] = [];
  let known = 0;
  const { visits } = explore(restricted, {
    limit,
    onStep: ({ action, after, effects }, from, to) => {
      // An edge into a state never seen before is part of that state's own shortest path.
      const first = to >= known;
      known = Math.max(known, to + 1);
      if (cover === 'edges' && !first && (from !== to || !system.isSilent(effects))) {
        edges.push({ from, step: { ...action, state: after } });
      }
    },
  });

  const stepsTo = (index: number): PathStep<Machine>[] =>
    pathTo(visits, index).flatMap((at) => {
      const visit = visits[at];
      return visit?.action ? [{ ...visit.action, state: visit.state }] : [];
    });
  const path = (index: number, more: readonly PathStep<Machine>[]): ModelPath<Machine> => {
    const steps = [...stepsTo(index), ...more];
    const start = visits[pathTo(visits, index)[0] ?? 0]?.state as SnapshotFrom<Machine>;
    return { title: steps.map(({ label }) => label).join(', '), start, steps };
  };

  const inner = new Set([...visits.map(({ parent }) => parent), ...edges.map(({ from }) => from)]);
  const leaves = [...visits.keys()].filter((index) => !inner.has(index)).map((index) => path(index, []));
  return [...leaves, ...edges.map(({ from, step }) => path(from, [step]))].filter(({ steps }) => steps.length > 0);
}
