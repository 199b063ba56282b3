/** One text, several readings: an expression evaluated, and the same compiled, agree; a packed set is a set. */
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { compileComposition } from '../../model/composition-codegen.ts';
import { stepsFrom } from '../../model/composition-interpreter.ts';
import { parseComposition, type Composition } from '../../model/composition.ts';
import { StateStore } from '../../model/state-store.ts';

const seed = Number(process.env['FC_SEED'] ?? 20_250_909);

const { number } = fc.letrec<{ number: string; truth: string }>((tie) => ({
  number: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('a', 'b', 'c', 'SEVEN', '0', '1', '5'),
    fc.tuple(tie('number'), fc.constantFrom('+', '-', '*'), tie('number')).map(([l, by, r]) => `(${l} ${by} ${r})`),
    fc.tuple(tie('truth'), tie('number'), tie('number')).map(([c, yes, no]) => `(if ${c} then ${yes} else ${no})`),
    fc.constantFrom('a', 'b', 'c').map((index) => `square[${index}]`),
    fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('b', 'c')).map(([i, j]) => `sum[${i}, ${j}]`),
  ),
  truth: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('true', 'false', 'a = b', 'a in { 1, SEVEN }'),
    fc
      .tuple(tie('number'), fc.constantFrom('=', '!=', '<', '<=', '>', '>='), tie('number'))
      .map((parts) => parts.join(' ')),
    tie('truth').map((truth) => `not (${truth})`),
    fc
      .tuple(tie('truth'), fc.constantFrom('and', 'or', '=>'), tie('truth'))
      .map(([l, by, r]) => `((${l}) ${by} (${r}))`),
  ),
}));

/** A system with one rule: it writes the number, brought into range, to `out`. */
function systemOf(expression: string, values: { a: number; b: number; c: number }): Composition {
  const range = (name: string) => ({ name, max: 7, initial: values[name as 'a'] });
  return {
    name: 'one rule',
    variables: [range('a'), range('b'), range('c'), { name: 'out', max: 1_000_000, initial: 500_000 }],
    constants: { SEVEN: 7 },
    tables: [
      { name: 'square', sizes: [8], data: Int32Array.from({ length: 8 }, (_, i) => i * i) },
      { name: 'sum', sizes: [8, 8], data: Int32Array.from({ length: 64 }, (_, cell) => (cell >> 3) + (cell & 7)) },
    ],
    rules: [
      {
        by: 'test',
        label: 'evaluates',
        let: { value: expression },
        when: 'true',
        set: { out: 'if value > 0 - 400000 and value < 400000 then 500000 + value else 0' },
      },
    ],
    properties: [],
  };
}

test(`an expression means the same to the interpreter and to the compiled rule (seed ${seed})`, () => {
  const byte = fc.nat({ max: 7 });
  fc.assert(
    fc.property(number, fc.record({ a: byte, b: byte, c: byte }), (expression, values) => {
      const composition = parseComposition(systemOf(expression, values));
      const { packing, expand, room } = compileComposition(composition);
      const state = { ...values, out: 500_000 };
      const plain = stepsFrom(composition, state)[0]?.after['out'];
      const into = new Int32Array(room);
      const written = expand(packing.pack(state), 0, into);
      // A step that changes nothing is left out by the compiled rule.
      expect(written === 0 ? 500_000 : packing.unpack(into, 0)['out']).toBe(plain);
    }),
    { seed, numRuns: 3000 },
  );
});

test(`the packed set of states is a set (seed ${seed})`, () => {
  const word = fc.integer({ min: 0, max: 40 });
  fc.assert(
    fc.property(fc.array(fc.tuple(word, word, word), { maxLength: 400 }), (states) => {
      const store = new StateStore(3);
      const known = new Map<string, number>();
      for (const state of states) {
        const expected = known.get(state.join()) ?? known.size;
        known.set(state.join(), expected);
        expect(store.add(Int32Array.from(state), 0, -1)).toBe(expected);
      }
      expect(store.count).toBe(known.size);
    }),
    { seed, numRuns: 300 },
  );
});

test('the packed set grows over its first sizes and forgets nothing', () => {
  const store = new StateStore(2);
  const size = 50_000;
  const at = (index: number) => Int32Array.from([index * 7919, index ^ 0x5555]);
  for (let index = 0; index < size; index += 1) expect(store.add(at(index), 0, index - 1)).toBe(index);
  for (let index = 0; index < size; index += 997) expect(store.add(at(index), 0, -1)).toBe(index);
  expect(store.count).toBe(size);
});
