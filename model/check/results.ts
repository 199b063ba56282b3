/** Puts results together: of several explorations of one system, and of checks that are no state property. */
import type { PropertyResult } from '../property.ts';
import type { CellResult } from '../sandbox/table-check.ts';
import type { PartReport } from './report.ts';

/** What a level found, before anybody measures how long it took. */
export interface LevelFindings {
  readonly parts: readonly PartReport[];
  readonly depth: number;
  readonly properties: readonly PropertyResult[];
  readonly table: readonly CellResult[];
}

/** One result a property, over several explorations: it holds when it holds in each, and witnesses add up. */
export function mergeResults(runs: readonly (readonly PropertyResult[])[]): PropertyResult[] {
  const merged = new Map<string, PropertyResult>();
  for (const result of runs.flat()) {
    const before = merged.get(result.id);
    if (before === undefined) {
      merged.set(result.id, result);
      continue;
    }
    const witnesses = before.witnesses + result.witnesses;
    const counterexample = before.counterexample ?? result.counterexample;
    const holds = counterexample === null && (result.kind !== 'sometimes' || witnesses > 0);
    merged.set(result.id, { ...result, witnesses, counterexample, holds });
  }
  return [...merged.values()];
}

/** A result about the chart as a whole. What is wrong stands in `says`; there is no path to it. */
export function structural(
  id: string,
  says: string,
  witnesses: number,
  wrong: string | null,
  level = 1,
): PropertyResult {
  return {
    id,
    kind: 'structure',
    requirement: null,
    says: wrong === null ? says : `${says} But ${wrong}.`,
    level,
    holds: wrong === null,
    witnesses,
    counterexample: null,
  };
}
