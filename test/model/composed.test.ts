import { describe, expect, test } from '@jest/globals';
import { checkTables } from '../../model/compile.ts';
import { composedParts, composedSystem } from '../../model/composed/composed-system.ts';
import { checkLevel2, composedVariants } from '../../model/check/level2.ts';
import { compileComposition } from '../../model/composition-codegen.ts';
import { initialComposition, stepsFrom, type CompositionState } from '../../model/composition-interpreter.ts';
import { parseComposition } from '../../model/composition.ts';
import { exploreProduct } from '../../model/product.ts';

/** A small generator, so that walks are the same every time: the seed is in the title. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('level 2: the composed system', () => {
  test.each([
    ['the whole system', 303_237, 3_516_312],
    ['callers keep their launch token', 354_168, 4_013_489],
    ['the platform answers otherwise', 239_311, 2_434_317],
  ])('%s: every property holds over %d states', (name, states, transitions) => {
    const variant = composedVariants.find((candidate) => candidate.name === name)!;
    const { parts, properties } = checkLevel2(variant);
    expect(parts).toEqual([{ name, states, transitions }]);
    expect(properties.filter(({ holds, witnesses }) => !holds || witnesses === 0)).toEqual([]);
  });

  test('bounds are options: without faults and crashes there is less to see, with more of them more', () => {
    const count = (faults: number, crashes: number) =>
      exploreProduct(parseComposition(composedSystem({ faults, crashes }))).states;
    const none = count(0, 0);
    expect(none).toBeLessThan(count(1, 0));
    expect(count(1, 0)).toBeLessThan(303_237);
    expect(() => exploreProduct(parseComposition(composedSystem()), { limit: 1000 })).toThrow(
      expect.objectContaining({
        reason: 'limit',
        message: expect.stringMatching(/more than 1000 states: '\w+' took \d+ values/),
      }),
    );
  });

  test('the tables are the machines: random walks (seed 7) find no difference', () => {
    const { client } = composedParts({ keptLaunches: true });
    expect(
      checkTables(client.compiled, client.system, {
        derive: client.derive,
        walks: 60,
        stepsPerWalk: 60,
        draw: generator(7),
      }),
    ).toBeNull();
  });

  test('a table with a wrong cell is caught by such walks', () => {
    const { client } = composedParts();
    const next = client.compiled.next.map((state, cell) =>
      cell % client.compiled.actions.length === 0 && state >= 0 ? 0 : state,
    );
    const wrong = { ...client.compiled, next };
    const found = checkTables(wrong, client.system, { walks: 60, stepsPerWalk: 60, draw: generator(7) });
    expect(found).toMatchObject({ says: 'another state after' });
  });

  test('the compiled rules and the plain ones agree along random walks (seed 11)', () => {
    const composition = parseComposition(composedSystem());
    const { packing, expand, room } = compileComposition(composition);
    const into = new Int32Array(room);
    const draw = generator(11);
    const text = (state: CompositionState) => JSON.stringify(Object.entries(state).sort());
    for (let walk = 0; walk < 20; walk += 1) {
      let state = initialComposition(composition);
      for (let at = 0; at < 40; at += 1) {
        const steps = stepsFrom(composition, state);
        const written = expand(packing.pack(state), 0, into);
        const compiled = Array.from({ length: written / packing.words }, (_, place) =>
          text(packing.unpack(into, place * packing.words)),
        );
        const plain = steps.map(({ after }) => text(after)).filter((after) => after !== text(state));
        expect(compiled.sort()).toEqual(plain.sort());
        const step = steps[draw(steps.length)];
        if (step === undefined) break;
        state = step.after;
      }
    }
  });
});
