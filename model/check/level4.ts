/** Level 4: the invariants of the spec, proved for every number of steps. */
import type { PropertyResult } from '../property.ts';
import { loadZ3, proveInductive } from '../symbolic.ts';
import { symspec } from '../symspec.ts';
import type { LevelFindings } from './results.ts';

/**
 * Runs level 4.
 *
 * @throws ModelError with reason `missing-dependency` where the solver is not installed
 */
export async function checkLevel4(): Promise<LevelFindings> {
  const solver = await loadZ3();
  try {
    const results = await proveInductive(symspec, solver);
    const properties = results.map(({ id, effect, says, proved, possible, counterexample }): PropertyResult => {
      const requirement = effect;
      const step = { by: 'spec', what: effect ?? 'starts', effects: [], state: counterexample ?? '', event: null };
      return {
        id: `inductive: ${id}`,
        kind: 'proof',
        requirement,
        says,
        level: 4,
        holds: proved,
        // A proof about an effect that can never happen would prove nothing.
        witnesses: possible ? 1 : 0,
        counterexample: proved
          ? null
          : {
              property: `inductive: ${id}`,
              requirement,
              says,
              start: 'any state that keeps the invariants',
              startIndex: 0,
              system: null,
              steps: [step],
            },
      };
    });
    return {
      parts: [{ name: symspec.name, states: 0, transitions: symspec.effects.length }],
      depth: 1,
      properties,
      table: [],
    };
  } finally {
    await solver.close();
  }
}
