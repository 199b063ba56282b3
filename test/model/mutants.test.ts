import { describe, expect, test } from '@jest/globals';
import { runTask } from '../../model/check/tasks.ts';
import { pathLines } from '../../model/check/report.ts';
import { sandboxPropertiesOf } from '../../model/check/level1.ts';
import { composedSystem } from '../../model/composed/composed-system.ts';
import { walkComposition } from '../../model/composition-replay.ts';
import { firstViolation, replay } from '../../model/replay.ts';
import { guardNames, mutantMachine, mutants, seededFaults, withoutGuard } from '../../model/sandbox/mutants.ts';
import { sandboxSystem } from '../../model/sandbox/system.ts';
import type { MutantReport } from '../../model/check/report.ts';
import { checkLevel2 } from '../../model/check/level2.ts';

async function hunted(id: string): Promise<MutantReport> {
  const result = await runTask({ kind: 'mutant', id, bounds: {} }, () => 0);
  if (result.kind !== 'mutant') throw new Error('not a mutant');
  return result.report;
}

/** The property by which each is found, and the length of the shortest path to it. */
const expected: Readonly<Record<string, readonly [property: string, steps: number]>> = {
  'STATE-3': ['payload-only-with-launch', 2],
  'STATE-5': ['suspend-only-running', 3],
  'STATE-11': ['refines-spec', 4],
  'STATE-12': ['no-resume-past-window', 4],
  'payload-again-on-resume': ['token-never-replaced', 6],
  'proxy-token-kept': ['resume-drops-proxy-token', 4],
  'stale-outcome-accepted': ['late-outcome-is-ignored', 2],
  'journal-forgotten': ['no-vm-forgotten', 3],
  'fresh-token-per-try': ['payload-only-with-launch', 3],
  'bootstrap-from-launches': ['token-never-replaced', 4],
  'suspend-without-waiting': ['suspend-accepted', 5],
  'terminate-forgotten-while-launching': ['nobody-waits-for-nothing', 3],
};

describe('guards and seeded faults', () => {
  test('the four guards and all faults are hunted, and nothing twice', () => {
    expect(mutants.map(({ id }) => id)).toEqual(Object.keys(expected));
    expect(mutants.length).toBe(guardNames.length + seededFaults.length);
  });

  test.each(Object.entries(expected))('FC-140 %s is found, by a shortest path', async (id, [property, steps]) => {
    const report = await hunted(id);
    expect(report).toMatchObject({ id, killed: true, property });
    expect(report.path.length).toBe(steps);
    expect(report.path).toEqual(pathLines(report.counterexample));
  });

  test('a counterexample of level 1 replays on the mutant, and not on the machine that is right', async () => {
    const { counterexample } = await hunted('STATE-12');
    const path = counterexample?.steps.map(({ what, event }) => [what, event] as const) ?? [];
    const violationOn = (machine: ReturnType<typeof withoutGuard> | undefined) => {
      const system = sandboxSystem({}, machine);
      const start = system.initial()[counterexample?.startIndex ?? 0]!;
      return firstViolation(sandboxPropertiesOf(machine), 'no-resume-past-window', replay(system, start, path));
    };
    expect(violationOn(withoutGuard('STATE-12'))).toEqual({ step: 4, label: 'RESUME, too late' });
    expect(violationOn(undefined)).toBeNull();
  });

  test('a counterexample of level 2 walks on the mutant, and not on the system that is right', async () => {
    const { counterexample } = await hunted('journal-forgotten');
    const path = counterexample?.steps.map(({ by, what }) => `${by}: ${what}`) ?? [];
    expect(walkComposition(composedSystem({ forgetJournal: true }), path)).toBe('no-vm-forgotten');
    expect(walkComposition(composedSystem(), path)).toBeNull();
  });

  // The composed system finds on its own what level 1 finds first, as long as it can be seen from outside.
  test.each([
    ['STATE-3', 'callers-are-answered'],
    ['STATE-5', 'no-suspend-outside-running'],
    ['STATE-11', 'ended-never-runs'],
    ['STATE-12', 'no-resume-past-window'],
    ['stale-outcome-accepted', 'token-where-believed'],
    ['fresh-token-per-try', 'one-vm-per-intent'],
  ])('%s is found on level 2, too: %s', (id, property) => {
    const { properties } = checkLevel2({ name: id, options: {} }, { machine: mutantMachine(id) });
    expect(properties.filter(({ counterexample }) => counterexample !== null).map((found) => found.id)).toEqual([
      property,
    ]);
  });

  test('an id that nobody knows is an error', async () => {
    await expect(hunted('no-such-mutant')).rejects.toThrow(expect.objectContaining({ reason: 'unknown-name' }));
    expect(() => mutantMachine('journal-forgotten')).toThrow(expect.objectContaining({ reason: 'unknown-name' }));
  });
});
