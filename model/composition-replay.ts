/** Walks a composed system along the steps of a scenario, and pastes such a walk as a test. */
import { initialComposition, stepsFrom, holdsIn, type CompositionState } from './composition-interpreter.ts';
import { parseComposition, type Composition } from './composition.ts';
import { ModelError } from './model-error.ts';
import type { Counterexample } from './property.ts';

/**
 * Takes the steps with these names (`by: what`), in order, and tells the first property that one of them breaks.
 *
 * A step that is not possible ends the walk: the path is closed, and nothing is broken on it.
 *
 * @returns the id of the broken property, or `null`
 */
export function walkComposition(composition: Composition, names: readonly string[]): string | null {
  const parsed = parseComposition(composition);
  const brokenIn = (state: CompositionState): string | null => {
    const broken = parsed.properties.find(
      ({ source, premise, check }) =>
        source.kind === 'always' &&
        check !== null &&
        (premise === null || holdsIn(parsed, state, premise)) &&
        !holdsIn(parsed, state, check),
    );
    return broken?.source.id ?? null;
  };
  let state = initialComposition(parsed);
  for (const name of names) {
    const step = stepsFrom(parsed, state).find(({ by, label }) => `${by}: ${label}` === name);
    if (step === undefined) return null;
    const judged = step.judged.find(({ holds }) => !holds);
    if (judged !== undefined) return parsed.properties[judged.property]?.source.id ?? null;
    state = step.after;
    const broken = brokenIn(state);
    if (broken !== null) return broken;
  }
  return null;
}

/** What a variant of the machine in an expression needs to be imported. */
export function variantNames(system: string): readonly string[] {
  return ['withoutGuard', 'mutantMachine'].filter((name) => system.includes(`${name}(`));
}

/** A Jest test that walks the path of a violated safety property. */
export function compositionTest({ property, says, steps, system }: Counterexample): string {
  if (steps.length === 0) throw new ModelError('invalid-model', `'${property}' is violated at the start already`);
  return [
    `import { expect, test } from '@jest/globals';`,
    `import { ${['composedSystem', 'walkComposition', ...variantNames(system ?? '')].sort().join(', ')} } from 'vmchart/model';`,
    ``,
    `test(${JSON.stringify(`${property}: ${says}`)}, () => {`,
    `  const broken = walkComposition(${system ?? 'composedSystem()'}, [`,
    ...steps.flatMap(({ by, what, state }) => [`    // → ${state}`, `    ${JSON.stringify(`${by}: ${what}`)},`]),
    `  ]);`,
    `  expect(broken).toBeNull();`,
    `});`,
    ``,
  ].join('\n');
}
