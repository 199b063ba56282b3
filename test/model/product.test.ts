import { describe, expect, test } from '@jest/globals';
import { compileComposition } from '../../model/composition-codegen.ts';
import { initialComposition, stepsFrom, type CompositionState } from '../../model/composition-interpreter.ts';
import { parseComposition, type Composition } from '../../model/composition.ts';
import { scenarioText } from '../../model/counterexample.ts';
import { packingOf } from '../../model/packing.ts';
import { exploreProduct } from '../../model/product.ts';
import { twoPhaseCommit } from './helpers/two-phase-commit.ts';

describe('the packed explorer', () => {
  test.each([
    [3, 288],
    [5, 8832],
  ])(
    'two-phase commit with %d resource managers has %d states, as published for another checker',
    (managers, states) => {
      const found = exploreProduct(parseComposition(twoPhaseCommit(managers)));
      expect(found.states).toBe(states);
      expect(found.properties.map(({ id, holds, witnesses }) => [id, holds, witnesses > 0])).toEqual([
        ['consistent', true, true],
        ['commits', true, true],
        ['ends', true, true],
      ]);
    },
  );

  test('the compiled rules and the plain ones have the same successors in every state', () => {
    const composition = parseComposition(twoPhaseCommit(3));
    const { packing, expand, room } = compileComposition(composition);
    const text = (state: CompositionState) => JSON.stringify(Object.entries(state).sort());
    const seen = new Map<string, CompositionState>();
    const queue = [initialComposition(composition)];
    let compared = 0;
    for (const state of queue) {
      if (seen.has(text(state))) continue;
      seen.set(text(state), state);
      const plain = stepsFrom(composition, state).map(({ after }) => after);
      queue.push(...plain);
      const into = new Int32Array(room);
      const written = expand(packing.pack(state), 0, into);
      const compiled = Array.from({ length: written / packing.words }, (_, at) =>
        packing.unpack(into, at * packing.words),
      );
      expect(compiled.map(text).sort()).toEqual(
        plain
          .map(text)
          .filter((key) => key !== text(state))
          .sort(),
      );
      compared += compiled.length;
    }
    expect(seen.size).toBe(288);
    expect(compared).toBe(exploreProduct(composition).transitions);
  });

  test('a faulty protocol is caught with a shortest path', () => {
    const right = twoPhaseCommit(2);
    const hasty: Composition = {
      ...right,
      rules: right.rules.map((rule) =>
        rule.label === 'commits' ? { ...rule, when: 'tm = tm', set: { commit: '1' } } : rule,
      ),
    };
    const { violation, complete } = exploreProduct(parseComposition(hasty));
    expect(complete).toBe(false);
    expect(violation?.property).toBe('consistent');
    expect(violation?.steps.map(({ by, what }) => `${by} ${what}`)).toEqual([
      'TM commits',
      'RM 0 gives up',
      'RM 1 is told to commit',
    ]);
    expect(scenarioText(violation!)).toMatch(/3\. RM 1 +is told to commit/);
  });
});

/** A counter with a trap door: small systems whose answers are known by heart. */
function counter(change: Partial<Composition> = {}): Composition {
  return {
    name: 'counter',
    variables: [
      { name: 'n', max: 9, initial: 0 },
      { name: 'trap', max: 1, initial: 0 },
    ],
    constants: { TOP: 9 },
    tables: [{ name: 'after', sizes: [10], data: Int32Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 0]) }],
    rules: [
      { by: 'clock', label: 'ticks', when: 'trap = 0', set: { n: 'after[n]' } },
      {
        by: 'user',
        label: ({ to }) => `jumps to ${to}`,
        choose: { to: 3 },
        let: { far: 'to + 1' },
        when: 'trap = 0 and n = TOP',
        set: { n: 'far' },
        judge: [{ property: 'short-jumps', premise: 'to > 0', check: "n' <= 3 and n = 9" }],
      },
    ],
    properties: [
      { id: 'short-jumps', requirement: null, says: 'Nobody jumps beyond three.', kind: 'step' },
      { id: 'low', requirement: null, says: 'Never above nine.', kind: 'always', check: 'n <= TOP' },
      { id: 'home', requirement: null, says: 'Zero can always be reached.', kind: 'reachable', goal: 'n = 0' },
    ],
    ...change,
  };
}

describe('composed systems', () => {
  test('rules with parameters, abbreviations, tables and judgements', () => {
    const found = exploreProduct(parseComposition(counter()));
    expect({ states: found.states, transitions: found.transitions, depth: found.depth }).toEqual({
      states: 10,
      transitions: 13,
      depth: 9,
    });
    expect(found.properties.map(({ holds, witnesses }) => [holds, witnesses])).toEqual([
      [true, 2],
      [true, 10],
      [true, 1],
    ]);
  });

  test('a step property is violated by a step: the path ends with it', () => {
    const rules = counter().rules.map((rule) => (rule.judge ? { ...rule, set: { n: 'far + 3' } } : rule));
    const { violation } = exploreProduct(parseComposition(counter({ rules })));
    expect(violation?.property).toBe('short-jumps');
    expect(violation?.steps.length).toBe(10);
    expect(violation?.steps.at(-1)).toMatchObject({ by: 'user', what: 'jumps to 1', state: 'n = 5' });
  });

  test('a dead end is told with the path into it', () => {
    const rules = [...counter().rules, { by: 'user', label: 'falls', when: 'n = 2', set: { trap: '1' } }];
    const { violation, states } = exploreProduct(parseComposition(counter({ rules })));
    expect(states).toBe(11);
    expect(violation).toMatchObject({
      property: 'home',
      steps: [{ what: 'ticks' }, { what: 'ticks' }, { what: 'falls', state: 'trap = 1' }],
    });
  });

  test('a value outside of its range, a limit and malformed systems are clear errors', () => {
    const explore =
      (change: Partial<Composition>, limit = 100) =>
      () =>
        exploreProduct(parseComposition(counter(change)), { limit });
    const rule = (set: Record<string, string>, when = 'true') => ({
      rules: [{ by: 'clock', label: 'ticks', when, set }],
    });
    expect(explore(rule({ n: 'n + 1' }))).toThrow(
      expect.objectContaining({ reason: 'invalid-model', message: 'n becomes 10, outside of 0..9: ticks' }),
    );
    expect(explore({}, 5)).toThrow(
      expect.objectContaining({ reason: 'limit', message: expect.stringContaining("more than 5 states: 'n' took") }),
    );
    expect(explore(rule({ m: '1' }))).toThrow(expect.objectContaining({ reason: 'unknown-name' }));
    expect(explore(rule({ n: 'm' }))).toThrow(expect.objectContaining({ reason: 'unknown-name' }));
    expect(explore(rule({ n: '1' }, 'n + 1'))).toThrow(expect.objectContaining({ reason: 'type' }));
    expect(explore(rule({ n: 'after[n, n]' }))).toThrow(expect.objectContaining({ reason: 'type' }));
    expect(explore({ tables: [{ name: 'after', sizes: [9], data: new Int32Array(10) }] })).toThrow(
      expect.objectContaining({ reason: 'invalid-model' }),
    );
  });

  test('fields pack and unpack, across words too', () => {
    const variables = Array.from({ length: 12 }, (_, at) => ({ name: `v${at}`, max: 2 ** (at + 1) - 1, initial: 0 }));
    const packing = packingOf(variables);
    const values = Object.fromEntries(
      variables.map(({ name, max }, at) => [name, at % 2 === 0 ? max : Math.floor(max / 3)]),
    );
    expect(packing.words).toBeGreaterThan(2);
    expect(packing.unpack(packing.pack(values), 0)).toEqual(values);
    for (const [at, one] of packing.fields.entries()) {
      for (const other of packing.fields.slice(at + 1)) {
        const apart =
          one.word !== other.word || one.shift + one.bits <= other.shift || other.shift + other.bits <= one.shift;
        expect([one.name, other.name, apart]).toEqual([one.name, other.name, true]);
      }
    }
  });
});
