/** What `vmchart check` finds, as data. The renderers beside this file turn it into text. */
import type { Counterexample, PropertyResult } from '../property.ts';
import type { CellResult } from '../sandbox/table-check.ts';

/** The four levels of the proof. */
export type Level = 1 | 2 | 3 | 4;

/** One exploration that a level consists of. */
export interface PartReport {
  readonly name: string;
  readonly states: number;
  readonly transitions: number;
}

/** What a level did. */
export interface LevelReport {
  readonly level: Level;
  readonly name: string;
  /** Distinct states, over all parts. */
  readonly states: number;
  /** Steps computed: duplicates counted, self-loops not. */
  readonly transitions: number;
  /** Length of the longest shortest path. */
  readonly depth: number;
  readonly durationMs: number;
  readonly parts: readonly PartReport[];
  /** Why the level was left out, `null` when it was not. */
  readonly skipped: string | null;
}

/** What became of one mutant. */
export interface MutantReport {
  /** The guard's own name for a guard. */
  readonly id: string;
  readonly says: string;
  readonly killed: boolean;
  /** The level that found it; `null` for one that survived. */
  readonly level: Level | null;
  /** The property that it violates. */
  readonly property: string | null;
  /** The shortest path to the violation, one line a step; empty for one that survived. */
  readonly path: readonly string[];
  readonly counterexample: Counterexample | null;
  readonly durationMs: number;
}

/** The whole report. */
export interface CheckReport {
  /** No property violated or untested, no cell of the tables wrong, no mutant alive. */
  readonly ok: boolean;
  readonly levels: readonly LevelReport[];
  readonly properties: readonly PropertyResult[];
  readonly mutants: readonly MutantReport[];
  /** The two tables of the lifecycle, cell by cell. */
  readonly table: readonly CellResult[];
  readonly durationMs: number;
  /** Everything that makes `ok` false, in words. */
  readonly failures: readonly string[];
}

/** A path as lines: who does what, and the state after it. */
export function pathLines(counterexample: Counterexample | null): readonly string[] {
  return counterexample?.steps.map(({ by, what, state }) => `${by}: ${what} → ${state}`) ?? [];
}

/** What can be said of a property. */
export type PropertyVerdict = 'kept' | 'violated' | 'untested' | 'not reached';

/**
 * The verdict on each property.
 *
 * `untested` is a property whose premise was never true, or a `sometimes` that never happened: a failure. `not
 * reached` is one that a search which stopped at a violation had not come to.
 */
export function verdictsOf(properties: readonly PropertyResult[]): ReadonlyMap<PropertyResult, PropertyVerdict> {
  const stopped = new Set(properties.filter(({ counterexample }) => counterexample !== null).map(({ level }) => level));
  const verdict = ({ holds, witnesses, counterexample, level }: PropertyResult): PropertyVerdict => {
    if (counterexample !== null || (!holds && witnesses > 0)) return 'violated';
    if (witnesses > 0) return 'kept';
    return stopped.has(level) ? 'not reached' : 'untested';
  };
  return new Map(properties.map((property) => [property, verdict(property)]));
}

/**
 * Everything in a report that must not be: a violated property, one without a witness, a cell that differs or was not
 * tested, a mutant that survived.
 */
export function failuresOf({
  properties,
  mutants,
  table,
}: Pick<CheckReport, 'properties' | 'mutants' | 'table'>): readonly string[] {
  return [
    ...[...verdictsOf(properties)].flatMap(([{ id, level, says, kind }, verdict]) => {
      if (verdict === 'violated') return [`${id} is violated (level ${level}): ${says}`];
      if (verdict !== 'untested') return [];
      return [
        kind === 'sometimes'
          ? `${id} never happens (level ${level})`
          : `${id} was never put to the test (level ${level}): witnesses 0`,
      ];
    }),
    ...table
      .filter(({ holds }) => !holds)
      .map(({ state, event, condition, expected, found }) => {
        const when = condition === null ? '' : `, ${condition}`;
        return `${state} × ${event}${when}: '${expected}' expected, ${found === null ? 'never seen' : `'${found}' found`}`;
      }),
    ...mutants.filter(({ killed }) => !killed).map(({ id, says }) => `the mutant ${id} survived: ${says}`),
  ];
}
