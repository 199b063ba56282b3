/**
 * A machine compiled once into integer tables: `next[state, action]`, and whatever else a composition needs to know
 * of a step, such as the call that it starts.
 *
 * The compiler is the explorer: every reachable state under a projection, every action in every state. So the tables
 * say what the machine does, and {@link checkTables} walks the machine at random to see that they do.
 */
import { explore } from './explorer.ts';
import { ModelError } from './model-error.ts';
import { keyOf, type Action, type Step, type TransitionSystem } from './transition-system.ts';

/** A machine as tables. All tables are indexed by `state * actions.length + action`. */
export interface CompiledMachine<State, Event> {
  readonly name: string;
  /** One representative of each state. */
  readonly states: readonly State[];
  /** Labels of all actions, in the order of the columns. */
  readonly actions: readonly string[];
  /** Who does each action. */
  readonly actors: readonly string[];
  /** An event of each action, as it was in the first state that offered it. */
  readonly events: readonly Event[];
  /** The state after; `-1` where the action is not offered. */
  readonly next: Int32Array;
  /** Facts about each step, as {@link CompileOptions.derive} computes them; 0 where the action is not offered. */
  readonly derived: Readonly<Record<string, Int32Array>>;
  /** Facts about each state, as {@link CompileOptions.describe} computes them. */
  readonly described: Readonly<Record<string, Int32Array>>;
  /** The states in which the machine may start. */
  readonly initial: readonly number[];
  /** The state with this key, or `undefined`. */
  readonly indexOf: (key: string) => number | undefined;
  /** The column of an action. @throws ModelError where no state offers it */
  readonly column: (label: string) => number;
}

/** Options of {@link compileMachine}. */
export interface CompileOptions<State, Event, Effects> {
  readonly name: string;
  /** Facts about a step that the composition needs, as small whole numbers. */
  readonly derive?: Readonly<Record<string, (step: Step<State, Event, Effects>) => number>>;
  /** Facts about a state, likewise. */
  readonly describe?: Readonly<Record<string, (state: State) => number>>;
  readonly limit?: number;
}

/** Explores a system and writes down what it does. */
export function compileMachine<State, Event, Effects>(
  system: TransitionSystem<State, Event, Effects>,
  { name, derive = {}, describe = {}, limit = 20_000 }: CompileOptions<State, Event, Effects>,
): CompiledMachine<State, Event> {
  const columns = new Map<string, number>();
  const actions: Action<Event>[] = [];
  const rows: { from: number; column: number; to: number; facts: readonly number[] }[] = [];
  const deriving = Object.entries(derive);
  const { visits, indexOf } = explore(system, {
    limit,
    onStep: (step, from, to) => {
      let column = columns.get(step.action.label);
      if (column === undefined) {
        column = actions.length;
        columns.set(step.action.label, column);
        actions.push(step.action);
      }
      rows.push({ from, column, to, facts: deriving.map(([, fact]) => fact(step)) });
    },
  });

  const width = actions.length;
  const next = new Int32Array(visits.length * width).fill(-1);
  const tables = deriving.map(() => new Int32Array(visits.length * width));
  for (const { from, column, to, facts } of rows) {
    next[from * width + column] = to;
    for (const [place, fact] of facts.entries()) {
      const table = tables[place];
      if (table) table[from * width + column] = fact;
    }
  }
  return {
    name,
    states: visits.map(({ state }) => state),
    actions: actions.map(({ label }) => label),
    actors: actions.map(({ by }) => by),
    events: actions.map(({ event }) => event),
    next,
    derived: Object.fromEntries(deriving.map(([fact], place) => [fact, tables[place] ?? new Int32Array(0)])),
    described: Object.fromEntries(
      Object.entries(describe).map(([fact, of]) => [fact, Int32Array.from(visits, ({ state }) => of(state))]),
    ),
    initial: visits.flatMap(({ parent }, index) => (parent < 0 ? [index] : [])),
    indexOf,
    column: (label) => {
      const column = columns.get(label);
      if (column === undefined) throw new ModelError('unknown-name', `${name} never offers '${label}'`);
      return column;
    },
  };
}

/** Where a table and its machine differ. */
export interface TableDifference {
  readonly state: string;
  readonly action: string;
  readonly says: string;
}

/** Options of {@link checkTables}. */
export interface CheckTablesOptions<State, Event, Effects> {
  /** What the tables were compiled with. */
  readonly derive?: Readonly<Record<string, (step: Step<State, Event, Effects>) => number>>;
  readonly walks: number;
  readonly stepsPerWalk: number;
  /** A number from 0 (inclusive) to `below` (exclusive); drawn outside, because the model draws nothing. */
  readonly draw: (below: number) => number;
}

/**
 * Walks the machine at random, beside its tables. Unlike the compiler, a walk goes on from the very state that it
 * reached, so it also meets states other than the representatives.
 */
export function checkTables<State, Event, Effects>(
  compiled: CompiledMachine<State, Event>,
  system: TransitionSystem<State, Event, Effects>,
  { derive = {}, walks, stepsPerWalk, draw }: CheckTablesOptions<State, Event, Effects>,
): TableDifference | null {
  const width = compiled.actions.length;
  const starts = system.initial();
  for (let walk = 0; walk < walks; walk += 1) {
    let state = starts[draw(starts.length)] as State;
    for (let at = 0; at < stepsPerWalk; at += 1) {
      const key = keyOf(system.project(state));
      const row = compiled.indexOf(key);
      const offered = system.actions(state);
      const action = offered[draw(offered.length)];
      if (action === undefined) break;
      const differs = (says: string): TableDifference => ({ state: key, action: action.label, says });
      if (row === undefined) return differs('the table does not know this state');
      const step = system.step(state, action);
      const cell = row * width + compiled.column(action.label);
      if (compiled.next[cell] !== compiled.indexOf(keyOf(system.project(step.after))))
        return differs('another state after');
      for (const [fact, of] of Object.entries(derive)) {
        if (compiled.derived[fact]?.[cell] !== of(step)) return differs(`another '${fact}'`);
      }
      state = step.after;
    }
  }
  return null;
}
