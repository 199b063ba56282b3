/** Random commands, outcomes, reports and faults: what the explorer proves for all, tried at random. */
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { checkLevel1, sandboxPropertiesOf } from '../../model/check/level1.ts';
import { composedSystem } from '../../model/composed/composed-system.ts';
import { holdsIn, initialComposition, stepsFrom } from '../../model/composition-interpreter.ts';
import { parseComposition, type ParsedComposition } from '../../model/composition.ts';
import { explore } from '../../model/explorer.ts';
import { mutantMachine, withoutGuard } from '../../model/sandbox/mutants.ts';
import { sandboxSystem, type SandboxStep, type SandboxSystem } from '../../model/sandbox/system.ts';
import { keyOf } from '../../model/transition-system.ts';

const seed = Number(process.env['FC_SEED'] ?? 20_250_909);

/** A walk is a list of numbers: each picks one of the actions that are offered. */
const walks = (maxLength: number) => fc.array(fc.nat(), { minLength: 1, maxLength });

function walk(system: SandboxSystem, picks: readonly number[]): SandboxStep[] {
  let state = system.initial()[0]!;
  return picks.flatMap((pick) => {
    const offered = system.actions(state);
    const action = offered[pick % offered.length];
    if (action === undefined) return [];
    const step = system.step(state, action);
    state = step.after;
    return [step];
  });
}

/** The first property that a walk breaks, with the labels of its steps, so that a failure reads as a scenario. */
function broken(system: SandboxSystem, picks: readonly number[], properties = sandboxPropertiesOf()): string | null {
  const labels: string[] = [];
  for (const step of walk(system, picks)) {
    labels.push(step.action.label);
    for (const property of properties) {
      const fails =
        (property.kind === 'step' && property.premise(step) && !property.check(step)) ||
        (property.kind === 'always' && (property.premise?.(step.after) ?? true) && !property.check(step.after));
      if (fails) return `${property.id}: ${labels.join(' → ')}`;
    }
  }
  return null;
}

describe(`the lifecycle machine on random walks (seed ${seed})`, () => {
  test('keeps every property, and never leaves the states that the explorer found', () => {
    const system = sandboxSystem({ newLifeOnly: true });
    const { visits } = explore(system);
    const known = new Set(visits.map(({ projection }) => keyOf(projection)));
    fc.assert(
      fc.property(walks(14), (picks) => {
        expect(broken(system, picks)).toBeNull();
        for (const { after } of walk(system, picks)) expect(known).toContain(keyOf(system.project(after)));
      }),
      { seed, numRuns: 2000 },
    );
  });

  test.each([
    ['STATE-3', () => withoutGuard('STATE-3'), 2],
    ['STATE-5', () => withoutGuard('STATE-5'), 4],
    ['stale-outcome-accepted', () => mutantMachine('stale-outcome-accepted'), 3],
  ])('without %s a walk breaks a property, and shrinks to a short scenario', (_id, machine, longest) => {
    const system = sandboxSystem({ newLifeOnly: true }, machine());
    const properties = sandboxPropertiesOf(machine());
    const { failed, counterexample } = fc.check(
      fc.property(walks(14), (picks) => broken(system, picks, properties) === null),
      { seed, numRuns: 2000 },
    );
    expect(failed).toBe(true);
    expect(counterexample?.[0].length).toBeLessThanOrEqual(longest);
  });
});

describe(`the composed system on random walks (seed ${seed})`, () => {
  function brokenIn(system: ParsedComposition, picks: readonly number[]): string | null {
    const names: string[] = [];
    let state = initialComposition(system);
    for (const pick of picks) {
      const steps = stepsFrom(system, state);
      const step = steps[pick % steps.length];
      if (step === undefined) return null;
      names.push(`${step.by}: ${step.label}`);
      const judged = step.judged.find(({ holds }) => !holds);
      state = step.after;
      const always = system.properties.find(
        ({ source, premise, check }) =>
          source.kind === 'always' &&
          check !== null &&
          (premise === null || holdsIn(system, state, premise)) &&
          !holdsIn(system, state, check),
      );
      const property = judged === undefined ? always : system.properties[judged.property];
      if (property !== undefined) return `${property.source.id}: ${names.join(' → ')}`;
    }
    return null;
  }

  test('keeps every property with more faults and crashes than the explorer tries', () => {
    const system = parseComposition(composedSystem({ faults: 4, crashes: 4, keptLaunches: true }));
    fc.assert(
      fc.property(walks(60), (picks) => expect(brokenIn(system, picks)).toBeNull()),
      { seed, numRuns: 1000 },
    );
  });

  test('a host that forgets its journal is found out', () => {
    const system = parseComposition(composedSystem({ forgetJournal: true }));
    const { failed, counterexample } = fc.check(
      fc.property(walks(30), (picks) => brokenIn(system, picks) === null),
      { seed, numRuns: 2000 },
    );
    expect(failed).toBe(true);
    expect(brokenIn(system, counterexample?.[0] ?? [])).toMatch(/^no-vm-forgotten: caller \d: RUN/);
  });
});

test('level 1 does not depend on the order in which it is run', () => {
  expect(checkLevel1().parts).toEqual(checkLevel1().parts);
});
