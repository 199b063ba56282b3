/** Where each variable of a composed system lives in the few 32-bit words that make up a packed state. */
import type { CompositionVariable } from './composition.ts';
import { ModelError } from './model-error.ts';

/** The place of one variable. */
export interface PackedField {
  readonly name: string;
  readonly word: number;
  readonly shift: number;
  readonly bits: number;
  readonly max: number;
}

/** The layout of a packed state. */
export interface Packing {
  readonly words: number;
  readonly fields: readonly PackedField[];
  pack(values: Readonly<Record<string, number>>): Int32Array;
  unpack(words: Int32Array, offset: number): Record<string, number>;
}

/** Fits variables into words, widest first, so that none straddles two. */
export function packingOf(variables: readonly CompositionVariable[]): Packing {
  const used: number[] = [];
  const places = new Map<string, PackedField>();
  const widest = variables
    .map(({ name, max }) => ({ name, max, bits: max === 0 ? 0 : 32 - Math.clz32(max) }))
    .sort((left, right) => right.bits - left.bits);
  for (const { name, max, bits } of widest) {
    // The sign bit stays free: every field then reads back with a plain shift and mask.
    if (bits > 31) throw new ModelError('invalid-model', `${name} needs ${bits} bits`);
    let word = used.findIndex((taken) => taken + bits <= 31);
    if (word < 0) word = used.push(0) - 1;
    const shift = used[word] ?? 0;
    used[word] = shift + bits;
    places.set(name, { name, word, shift, bits, max });
  }
  const fields = variables.map(({ name }) => places.get(name) as PackedField);
  const words = Math.max(used.length, 1);
  return {
    words,
    fields,
    pack(values) {
      const packed = new Int32Array(words);
      for (const { name, word, shift } of fields) packed[word] = (packed[word] ?? 0) | ((values[name] ?? 0) << shift);
      return packed;
    },
    unpack: (packed, offset) =>
      Object.fromEntries(
        fields.map(({ name, word, shift, bits }) => [
          name,
          ((packed[offset + word] ?? 0) >> shift) & ((1 << bits) - 1),
        ]),
      ),
  };
}
