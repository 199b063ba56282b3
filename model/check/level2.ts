/** Level 2: the composed system. */
import { composedSystem, type ComposedOptions } from '../composed/composed-system.ts';
import { parseComposition } from '../composition.ts';
import { exploreProduct } from '../product.ts';
import type { LevelFindings } from './results.ts';

/** Runs level 2. It stops at the first violation. */
export function checkLevel2(options: ComposedOptions & { readonly limit?: number } = {}): LevelFindings {
  const composition = composedSystem(options);
  const found = exploreProduct(
    parseComposition(composition),
    options.limit === undefined ? {} : { limit: options.limit },
  );
  return {
    parts: [{ name: composition.name, states: found.states, transitions: found.transitions }],
    depth: found.depth,
    properties: found.properties,
    table: [],
  };
}
