import { describe, expect, test } from '@jest/globals';
import { getShortestPaths } from '@xstate/graph';
import { assign, emit, fromPromise, setup } from 'xstate';
import { checkProjection } from '../../model/bisimulation.ts';
import { scenarioTest, scenarioText } from '../../model/counterexample.ts';
import { explore } from '../../model/explorer.ts';
import {
  doneEvent,
  errorEvent,
  machineSystem,
  statePath,
  wholeSnapshot,
  type MachineEffects,
} from '../../model/machine-system.ts';
import { pathsFor } from '../../model/paths.ts';
import type { Property } from '../../model/property.ts';
import { firstViolation, replay } from '../../model/replay.ts';
import { keyOf } from '../../model/transition-system.ts';

/** A door with a lock that somebody may pick: enough to have states, an actor, an emitted event and a bug. */
const door = setup({
  types: { context: {} as { opened: number }, events: {} as { type: 'OPEN' | 'CLOSE' | 'LOCK' | 'KICK' } },
  actors: { unlock: fromPromise(() => Promise.resolve('key')) },
  actions: { count: assign({ opened: ({ context }) => context.opened + 1 }), creak: emit({ type: 'CREAK' }) },
}).createMachine({
  id: 'door',
  context: { opened: 0 },
  initial: 'closed',
  states: {
    closed: { on: { OPEN: { target: 'open', actions: ['count', 'creak'] }, LOCK: 'locked' } },
    open: { on: { CLOSE: 'closed' } },
    locked: { on: { OPEN: 'unlocking', KICK: { target: 'open', actions: 'count' } } },
    unlocking: { invoke: { id: 'unlock', src: 'unlock', onDone: 'closed', onError: 'locked' } },
  },
});

type DoorState = ReturnType<typeof door.resolveState>;
const doorActions = (snapshot: DoorState) => [
  ...(['OPEN', 'CLOSE', 'LOCK', 'KICK'] as const).map((type) => ({
    label: type.toLowerCase(),
    by: 'visitor',
    event: { type },
  })),
  ...(snapshot.matches('unlocking')
    ? [
        { label: 'the key fits', by: 'lock', event: doneEvent('unlock', 'key') as never },
        { label: 'the key breaks', by: 'lock', event: errorEvent('unlock', 'broken') as never },
      ]
    : []),
];
const project = (snapshot: DoorState) => ({
  state: statePath(snapshot.value),
  opened: Math.min(snapshot.context.opened, 2),
});
const doorSystem = machineSystem(door, { events: doorActions, project });

const neverByForce: Property<DoorState, unknown, MachineEffects> = {
  id: 'no-force',
  kind: 'step',
  requirement: null,
  says: 'A locked door opens only after it was unlocked.',
  premise: ({ before }) => before.matches('locked'),
  check: ({ after }) => !after.matches('open'),
};

describe('the explorer', () => {
  test('finds every state once, with the depth of a shortest path, and counts steps and self-loops', () => {
    const { visits, transitions, selfLoops, depth, complete } = explore(doorSystem);
    expect(visits.map(({ projection }) => keyOf(projection)).sort()).toEqual(
      ['closed', 'open', 'locked', 'unlocking']
        .flatMap((state) => [0, 1, 2].map((opened) => keyOf({ state, opened })))
        .filter((key) => key !== keyOf({ state: 'open', opened: 0 }))
        .sort(),
    );
    // closed: open, lock; open: close; locked: open, kick; unlocking: two ends. Four events each, all else loops.
    expect({ transitions, selfLoops, depth, complete }).toEqual({
      transitions: 3 * 2 + 2 * 1 + 3 * 2 + 3 * 2,
      selfLoops: 3 * 2 + 2 * 3 + 3 * 2 + 3 * 4,
      depth: 6,
      complete: true,
    });
  });

  test("agrees with @xstate/graph on every state and on every path's length", () => {
    const { visits } = explore(doorSystem);
    const oracle = getShortestPaths(door, {
      events: (snapshot) => doorActions(snapshot as DoorState).map(({ event }) => event) as never,
      serializeState: (snapshot) => keyOf(project(snapshot as DoorState)),
    });
    const lengths = (pairs: (readonly [string, number])[]) => Object.fromEntries(pairs.sort());
    expect(lengths(visits.map(({ projection, depth }) => [keyOf(projection), depth]))).toEqual(
      lengths(oracle.map(({ state, steps }) => [keyOf(project(state as DoorState)), steps.length - 1])),
    );
  });

  test('a step carries the actors that it starts and stops and the events that it emits', () => {
    const steps = replay(doorSystem, doorSystem.initial()[0]!, [
      ['', { type: 'OPEN' }],
      ['', { type: 'CLOSE' }],
      ['', { type: 'LOCK' }],
      ['', { type: 'OPEN' }],
      ['', doneEvent('unlock', 'key')],
    ]);
    expect(steps.map(({ effects }) => effects)).toEqual([
      { started: [], stopped: [], emitted: [{ type: 'CREAK' }] },
      { started: [], stopped: [], emitted: [] },
      { started: [], stopped: [], emitted: [] },
      { started: [expect.objectContaining({ id: 'unlock', src: 'unlock' })], stopped: [], emitted: [] },
      { started: [], stopped: ['unlock'], emitted: [] },
    ]);
  });

  test('a violation stops the search with a shortest path, readable and replayable', () => {
    const { violation, complete, properties } = explore(doorSystem, { properties: [neverByForce] });
    expect(complete).toBe(false);
    expect(violation?.steps.map(({ what, state }) => `${what} → ${state}`)).toEqual(['lock → locked', 'kick → open']);
    expect(properties).toEqual([expect.objectContaining({ id: 'no-force', holds: false, counterexample: violation })]);
    const path = violation?.steps.map(({ what, event }) => [what, event] as const) ?? [];
    const steps = replay(doorSystem, doorSystem.initial()[0]!, path);
    expect(firstViolation([neverByForce], 'no-force', steps)).toEqual({ step: 2, label: 'kick' });
    expect(firstViolation([neverByForce], 'no-force', steps.slice(0, 1))).toBeNull();
    expect(scenarioText(violation!)).toBe(
      [
        'no-force is violated: A locked door opens only after it was unlocked.',
        '     start    closed',
        '  1. visitor  lock',
        '              → locked',
        '  2. visitor  kick',
        '              → open',
      ].join('\n'),
    );
  });

  test('the pasted test names the property, replays the events and judges them', () => {
    const { violation } = explore(doorSystem, { properties: [neverByForce] });
    const text = scenarioTest(violation!, {
      names: [],
      imports: [`import { doorProperties, doorSystem } from './door.ts';`],
      system: 'doorSystem',
      properties: 'doorProperties',
    });
    expect(text).toContain(`import { doorProperties, doorSystem } from './door.ts';`);
    expect(text).toContain(`["kick", {"type":"KICK"}],`);
    expect(text).toContain(`const system = doorSystem;`);
    expect(text).toContain(`expect(firstViolation(doorProperties, "no-force", steps)).toBeNull();`);
  });

  test('every property reports its witnesses, and a `sometimes` that never happens does not hold', () => {
    const { properties } = explore(doorSystem, {
      keepGoing: true,
      properties: [
        { id: 'opened', kind: 'sometimes', requirement: null, says: '', check: (state) => state.context.opened === 1 },
        {
          id: 'never-there',
          kind: 'sometimes',
          requirement: null,
          says: '',
          check: (state) => state.context.opened < 0,
        },
        {
          id: 'counted',
          kind: 'always',
          requirement: null,
          says: '',
          premise: (state) => state.matches('open'),
          check: (state) => state.context.opened > 0,
        },
        { id: 'vacuous', kind: 'step', requirement: null, says: '', premise: () => false, check: () => false },
        neverByForce,
      ],
    });
    const view = properties.map(({ id, holds, witnesses }) => [id, holds, witnesses > 0]);
    expect(view).toEqual([
      ['opened', true, true],
      ['never-there', false, false],
      ['counted', true, true],
      ['vacuous', true, false],
      ['no-force', false, true],
    ]);
  });

  test('FC-134 an infinite space ends in an error that names what grows', () => {
    const system = machineSystem(door, { events: doorActions });
    expect(() => explore(system, { limit: 200 })).toThrow(
      expect.objectContaining({
        reason: 'limit',
        message: expect.stringMatching(/more than 200 states: 'context.opened' grows/),
      }),
    );
    const finite = machineSystem(door, { events: doorActions, project: ({ value }) => ({ state: statePath(value) }) });
    expect(explore(finite, { limit: 200 }).visits.length).toBe(4);
  });

  test('two thousand states in a row do not overflow the stack', () => {
    const system = machineSystem(door, {
      events: doorActions,
      project: (snapshot) => ({ ...project(snapshot), opened: Math.min(snapshot.context.opened, 700) }),
    });
    const { visits, depth } = explore(system);
    expect(visits.length).toBe(4 * 701 - 1);
    expect(depth).toBeGreaterThan(1400);
  });
});

describe('the test of a projection', () => {
  const identity = (snapshot: DoorState) => keyOf(wholeSnapshot(snapshot));

  test('a projection onto what matters is a bisimulation', () => {
    const check = checkProjection(doorSystem, { identity });
    expect(check.difference).toBeNull();
    expect(check.compared).toBeGreaterThan(0);
    expect(check.comparisons).toBeGreaterThan(check.compared - 1);
  });

  test('a projection that leaves out what matters is caught', () => {
    const jammed = setup({
      types: { context: {} as { n: number }, events: {} as { type: 'GO' } },
      guards: { early: ({ context }) => context.n < 3 },
      actions: { add: assign({ n: ({ context }) => context.n + 1 }) },
    }).createMachine({
      context: { n: 0 },
      initial: 'a',
      states: { a: { on: { GO: [{ guard: 'early', actions: 'add' }, { target: 'b' }] } }, b: {} },
    });
    const system = machineSystem(jammed, {
      events: () => [{ label: 'go', by: 'caller', event: { type: 'GO' } as const }],
      project: ({ value }) => ({ state: statePath(value) }),
    });
    const { difference } = checkProjection(system, { identity: (s) => JSON.stringify(s.context), perKey: 10 });
    expect(difference).toEqual({ state: '["a"]', action: 'go', oneWay: '["a"] ', otherWay: '["b"] ' });
  });
});

describe('paths for model-based tests', () => {
  const covered = (paths: ReturnType<typeof pathsFor<typeof door>>) =>
    new Set(
      paths.flatMap(({ start, steps }) =>
        [start, ...steps.map(({ state }) => state)].map((state) => keyOf(project(state))),
      ),
    );

  test('shortest paths reach every state, and none is the beginning of another', () => {
    const paths = pathsFor(door, { events: doorActions, project });
    expect(covered(paths).size).toBe(11);
    const titles = paths.map(({ title }) => title);
    expect(titles.filter((title) => titles.some((other) => other.startsWith(`${title}, `)))).toEqual([]);
  });

  test('the paths over edges take every step of the model', () => {
    const taken = new Set<string>();
    for (const { start, steps } of pathsFor(door, { events: doorActions, project, cover: 'edges' })) {
      let before = start;
      for (const { label, state } of steps) {
        taken.add(`${keyOf(project(before))} ${label}`);
        before = state;
      }
    }
    expect(taken.size).toBe(explore(doorSystem).transitions);
  });

  test('what the test cannot cause is not on any path', () => {
    const paths = pathsFor(door, { events: doorActions, project, drivable: ({ by }) => by === 'visitor' });
    expect(paths.flatMap(({ steps }) => steps).filter(({ by }) => by !== 'visitor')).toEqual([]);
    expect(covered(paths).has(keyOf({ state: 'unlocking', opened: 0 }))).toBe(true);
  });
});
