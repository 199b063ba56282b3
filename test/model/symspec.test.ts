import { describe, expect, test } from '@jest/globals';
import { parseExpression } from '../../model/expression.ts';
import { boolType, intType, typeOf } from '../../model/expression-types.ts';
import { evaluate } from '../../model/evaluate.ts';
import {
  applyEffect,
  brokenInvariants,
  explain,
  initialSpecState,
  invariantsOf,
  readSymspec,
  showSpecState,
  symspec,
  symspecFile,
  type SpecState,
} from '../../model/symspec.ts';
import { loadZ3, proofObligations, proveInductive, toSmtLib } from '../../model/symbolic.ts';

const values = {
  name: (name: string) => ({ a: 1, b: 0, n: 7 })[name] ?? Number.NaN,
  lookup: (_t: string, i: readonly number[]) => i[0]! * 10,
};

describe('the expression language', () => {
  test.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['10 - 2 - 3', 5],
    ['not b and a', 1],
    ['a => b => a', 1],
    ['a or b and b', 1],
    ['if n > 3 then n else 0 - n', 7],
    ['n in { 1, 7 }', 1],
    ['n in { 1, 2 }', 0],
    ['t[n + 1] = 80', 1],
    ['n != 7', 0],
    ['n >= 7 and n <= 7 and not n < 7', 1],
  ])('%s is %d', (text, value) => {
    expect(evaluate(parseExpression(text), values)).toBe(value);
  });

  test.each(['1 +', 'a b', '(a', 'n in { }', 'and', 'a ; b', 't[1', 'if a then b'])(
    "'%s' is a syntax error",
    (text) => {
      expect(() => parseExpression(text)).toThrow(expect.objectContaining({ reason: 'syntax' }));
    },
  );

  const scope = {
    variable: (name: string) => ({ a: boolType, n: intType })[name],
    constant: (name: string) =>
      name === 'RED' ? { type: { kind: 'enum' as const, name: 'colour', members: ['RED'] }, value: 0 } : undefined,
    tableRank: (name: string) => (name === 't' ? 2 : undefined),
  };
  test.each([
    ['a + 1', 'type'],
    ['n and a', 'type'],
    ['not n', 'type'],
    ['RED < RED', 'type'],
    ['RED = 1', 'type'],
    ['if a then 1 else a', 'type'],
    ['t[1]', 'type'],
    ['t[1, a]', 'type'],
    ['x', 'unknown-name'],
    ['u[1]', 'unknown-name'],
  ])("'%s' is refused: %s", (text, reason) => {
    expect(() => typeOf(parseExpression(text), scope, 'a test')).toThrow(expect.objectContaining({ reason }));
  });
});

/** All reachable states with bootstrap counts up to a bound, by following every effect. */
function reachable(): SpecState[] {
  const seen = new Map<string, SpecState>();
  const queue: SpecState[] = [initialSpecState(symspec)];
  for (const state of queue) {
    const key = showSpecState(symspec, state);
    if (seen.has(key)) continue;
    seen.set(key, state);
    for (const effect of symspec.effects) {
      const after = applyEffect(symspec, effect, state);
      if (after !== null) queue.push(after);
    }
  }
  return [...seen.values()];
}

describe('the spec as a transition system', () => {
  test('STATE-1 to STATE-12 are all there, each with an effect, an invariant or a rule on steps', () => {
    expect(symspecFile.requirements.map(({ id }) => id)).toEqual(
      Array.from({ length: 12 }, (_, i) => `STATE-${i + 1}`),
    );
    for (const { effects, always, step, says } of symspecFile.requirements) {
      expect(effects ?? always ?? step).toBeDefined();
      expect(says.endsWith('.')).toBe(true);
    }
  });

  test('every reachable state keeps every invariant', () => {
    const states = reachable();
    expect(states.length).toBe(11);
    expect(states.filter((state) => brokenInvariants(symspec, state).length > 0)).toEqual([]);
  });

  test('every effect can be taken in some reachable state', () => {
    const states = reachable();
    const idle = symspec.effects.filter((effect) =>
      states.every((state) => applyEffect(symspec, effect, state) === null),
    );
    expect(idle).toEqual([]);
  });

  test('a step is explained by the effects that allow it, and a wrong one by none', () => {
    const start = initialSpecState(symspec);
    expect(explain(symspec, start, { ...start, image_exists: 1 }).map(({ id }) => id)).toEqual(['STATE-1']);
    expect(explain(symspec, start, { ...start, token_installed: 1 })).toEqual([]);
    expect(
      brokenInvariants(symspec, { ...start, bootstrap_count: 2, token_installed: 1, image_exists: 1 }).map(
        ({ id }) => id,
      ),
    ).toEqual(['STATE-3']);
  });

  test('a spec that assigns the wrong type or an unknown variable is refused', () => {
    const wrong = (set: Record<string, string>) => ({
      ...symspecFile,
      extensions: [{ id: 'X', says: '', effects: [{ when: 'true', set }] }],
    });
    expect(() => readSymspec(wrong({ vm_state: '1' }))).toThrow(expect.objectContaining({ reason: 'type' }));
    expect(() => readSymspec(wrong({ nobody: '1' }))).toThrow(expect.objectContaining({ reason: 'unknown-name' }));
  });
});

describe('level 4: proved for unbounded counters', () => {
  test('every obligation is proved; without a guard or an auxiliary invariant one is not', async () => {
    const solver = await loadZ3();
    try {
      const results = await proveInductive(symspec, solver);
      expect(results.length).toBe(1 + symspec.effects.length);
      expect(results.filter(({ proved }) => !proved)).toEqual([]);

      // Each auxiliary invariant carries load: without it the conjunction is not inductive.
      for (const { id } of symspec.auxiliary) {
        const weaker = { ...symspec, auxiliary: symspec.auxiliary.filter((other) => other.id !== id) };
        const failed = (await proveInductive(weaker, solver)).filter(({ proved }) => !proved);
        expect([id, failed.length > 0]).toEqual([id, true]);
        expect(failed[0]?.counterexample).toContain('vm_state = ');
      }

      const twice = {
        ...symspecFile,
        requirements: symspecFile.requirements.map((entry) =>
          entry.id === 'STATE-2'
            ? { ...entry, effects: [{ ...entry.effects![0]!, when: 'vm_state = PENDING and image_exists' }] }
            : entry,
        ),
      };
      const failed = (await proveInductive(readSymspec(twice), solver)).filter(({ proved }) => !proved);
      expect(failed.map(({ id }) => id)).toEqual(['kept by STATE-2']);
    } finally {
      await solver.close();
    }
  });

  test('the export is one file with one question an obligation', () => {
    const text = toSmtLib(symspec);
    expect(text.match(/\(check-sat\)/g)?.length).toBe(proofObligations(symspec).length);
    expect(text).toContain('(set-logic ALL)');
    for (const { id } of invariantsOf(symspec)) expect(text).toContain(`; ${id}: `);
  });
});
