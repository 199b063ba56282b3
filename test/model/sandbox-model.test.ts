import { describe, expect, test } from '@jest/globals';
import { transition } from 'xstate';
import { sandboxMachine, substateOf, type SandboxSnapshot } from '../../machines/index.ts';
import { checkProjection } from '../../model/bisimulation.ts';
import { checkLevel1 } from '../../model/check/level1.ts';
import { effectsOf, type MachineEffects } from '../../model/machine-system.ts';
import { explore } from '../../model/explorer.ts';
import { commandTable, optionCells, reportTable } from '../../model/sandbox/lifecycle-tables.ts';
import { projectSandbox } from '../../model/sandbox/projection.ts';
import { restartLabel, sandboxSystem } from '../../model/sandbox/system.ts';
import { keyOf } from '../../model/transition-system.ts';
import { chartOf } from '../../model/coverage.ts';

/** What the projection promises to preserve of a step: kinds of calls, answers, endings; not ids and times. */
function signature({ started, stopped, emitted }: MachineEffects): string {
  const said = emitted.map((event) => {
    const {
      command = '',
      verdict = '',
      refusal,
      error,
    } = event as unknown as {
      command?: string;
      verdict?: string;
      refusal?: { requirement: string | null } | null;
      error?: { requirement: string | null } | null;
    };
    const why = (record: { requirement: string | null } | null | undefined) =>
      record ? (record.requirement ?? 'error') : 'none';
    return `${event.type} ${command} ${verdict} ${why(refusal)} ${why(error)}`;
  });
  return [...new Set([...started.map(({ src }) => `+${src}`), ...stopped.map((id) => `-${id}`), ...said])]
    .sort()
    .join('; ');
}

describe('level 1: the client in any environment', () => {
  const findings = checkLevel1();

  test('every property holds and was put to the test', () => {
    const wrong = findings.properties.filter(({ holds, witnesses }) => !holds || witnesses === 0);
    expect(wrong).toEqual([]);
    expect(findings.properties.length).toBe(65);
  });

  test('the number of states is the one that was found before: another number is a change of the machine', () => {
    expect(findings.parts).toEqual([
      { name: 'default policy', states: 155, transitions: 5813 },
      { name: 'whenAlreadyThere: succeed', states: 155, transitions: 5813 },
      { name: 'pastWindow: ask', states: 155, transitions: 5813 },
      { name: 'watched for cycles and proxy tokens', states: 361, transitions: 19_590 },
    ]);
  });

  test('the eighteen properties of the client and the ten of what should happen sometimes are among them', () => {
    const kinds = (kind: string) => findings.properties.filter((property) => property.kind === kind).length;
    expect(kinds('sometimes')).toBe(10 + 14);
    expect(kinds('always') + kinds('step')).toBe(18 + 16 + 2 + 1);
    expect(kinds('structure')).toBe(4);
  });

  test('every cell of both tables is as written, under every policy', () => {
    expect(findings.table.filter(({ holds }) => !holds)).toEqual([]);
    expect(findings.table.length).toBe(225);
  });
});

describe('the tables of the lifecycle', () => {
  const leaves = chartOf(sandboxMachine).leaves.slice().sort();

  test('each has one row for every substate of the chart, and no cell is empty', () => {
    for (const table of [commandTable, reportTable]) {
      expect(table.flatMap(({ substates }) => substates).sort()).toEqual(leaves);
      for (const { cells } of table) {
        for (const cell of Object.values(cells)) {
          const answers = typeof cell === 'string' ? [cell] : Object.values(cell);
          expect(answers.every((answer) => answer.length > 0)).toBe(true);
        }
      }
    }
  });

  test('an option changes only cells that there are', () => {
    for (const cells of Object.values(optionCells)) {
      for (const { substates } of cells) expect(substates.filter((substate) => !leaves.includes(substate))).toEqual([]);
    }
  });
});

describe('the projection of the lifecycle machine', () => {
  test('is a bisimulation: states of one class take every event to the same classes, with the same effects', () => {
    const check = checkProjection(sandboxSystem(), {
      identity: ({ value, context }) => JSON.stringify([value, context]),
      perKey: 4,
      signature,
    });
    expect(check.difference).toBeNull();
    expect(check).toMatchObject({ keys: 155, compared: 155 });
  });

  test.each([
    ['how the VM was launched', 'launch'],
    ['whether the one revival was made', 'revived'],
    ['whether reports can be out of date', 'accepted'],
    ['whether a call is a second try', 'callResent'],
    ['whether the terminate under way waits', 'callWaits'],
    ['the latched TERMINATE', 'latched'],
    ['the commands that wait', 'waits'],
  ])('is none without %s', (_what, field) => {
    const system = sandboxSystem();
    const blind = {
      ...system,
      project: (state: SandboxSnapshot) => {
        const { [field]: _left, ...rest } = projectSandbox(state);
        return rest;
      },
    };
    const check = checkProjection(blind, {
      identity: (state) => keyOf(projectSandbox(state)),
      perKey: 12,
      signature,
    });
    expect(check.difference).not.toBeNull();
  });
});

test("a step is XState's own transition: same snapshot, same effects, for every step of level 1", () => {
  let compared = 0;
  explore(sandboxSystem({ newLifeOnly: true }), {
    onStep: ({ before, action, after, effects }) => {
      if (action.label === restartLabel || compared % 5 !== 0) {
        compared += 1;
        return;
      }
      compared += 1;
      const [snapshot, actions] = transition(sandboxMachine, before, action.event);
      expect(JSON.stringify([snapshot.value, snapshot.context])).toBe(JSON.stringify([after.value, after.context]));
      expect(JSON.stringify(effectsOf(actions as never))).toBe(JSON.stringify(effects));
    },
  });
  expect(compared).toBeGreaterThan(4000);
});

test('FC-136 completions, lost answers and restarts are events like any other: no substate is reached by luck', () => {
  const reached = (keep: (label: string, by: string) => boolean) => {
    const system = sandboxSystem({ newLifeOnly: true });
    const { visits } = explore({
      ...system,
      actions: (state) => system.actions(state).filter(({ label, by }) => keep(label, by)),
    });
    return new Set(visits.map(({ state }) => substateOf(state)));
  };
  expect(reached((_label, by) => by === 'caller')).toEqual(new Set(['PENDING.idle', 'PENDING.launching']));
  expect(reached(() => true).size).toBe(chartOf(sandboxMachine).leaves.length);
});

test('FC-137 the result of an operation that is over changes nothing, even when its actor runs again', () => {
  const late: string[] = [];
  explore(sandboxSystem(), {
    onStep: ({ action, before, after, effects }) => {
      if (!action.label.startsWith('late: ')) return;
      expect(JSON.stringify([after.value, after.context])).toBe(JSON.stringify([before.value, before.context]));
      expect(effects.started).toEqual([]);
      if (effects.emitted.some(({ type }) => type === 'STALE_OUTCOME')) late.push(substateOf(before));
    },
  });
  expect(new Set(late).size).toBeGreaterThan(10);
});
