/**
 * Breadth-first exploration: every reachable state once, each with a shortest path, every property on every state
 * and step.
 *
 * It is iterative (no recursion to overflow), stops at the first violation, which by the order of the search has a
 * shortest path, and gives up at a limit with an error that names the field that grows.
 */
import { ModelError } from './model-error.ts';
import type { Counterexample, Property, PropertyResult } from './property.ts';
import { keyOf, type Action, type Projection, type Step, type TransitionSystem } from './transition-system.ts';

/** Options of {@link explore}. */
export interface ExploreOptions<State, Event, Effects> {
  readonly properties?: readonly Property<State, Event, Effects>[];
  /** How many distinct states at most; 100,000 unless said otherwise. */
  readonly limit?: number;
  /** Go on after a violation, reporting the first of each property; off by default. */
  readonly keepGoing?: boolean;
  /** The level to name in the results. */
  readonly level?: number;
  /** An expression that builds the system, to be named in counterexamples. */
  readonly systemExpression?: string;
  /** Called with every step, self-loops included, in the order of the search. */
  readonly onStep?: (step: Step<State, Event, Effects>, beforeIndex: number, afterIndex: number) => void;
}

/** A reachable state. */
export interface Visit<State, Event> {
  readonly state: State;
  readonly projection: Projection;
  /** Length of a shortest path to it. */
  readonly depth: number;
  /** The state before on that path, `-1` for an initial state. */
  readonly parent: number;
  /** The action that led here; `null` for an initial state. */
  readonly action: Action<Event> | null;
}

/** What an exploration saw. */
export interface Exploration<State, Event> {
  readonly visits: readonly Visit<State, Event>[];
  /** Steps that changed the state or made something happen, duplicates counted. */
  readonly transitions: number;
  /** Steps that did neither. */
  readonly selfLoops: number;
  readonly depth: number;
  readonly properties: readonly PropertyResult[];
  /** The first violation; `null` when all is well. */
  readonly violation: Counterexample | null;
  /** False when the exploration stopped at a violation. */
  readonly complete: boolean;
  /** The index of the state with this key, or `undefined`. */
  readonly indexOf: (key: string) => number | undefined;
}

interface Tally {
  witnesses: number;
  counterexample: Counterexample | null;
}

/** The field with the most distinct values is the one that grows. */
function growing(visits: readonly Visit<unknown, unknown>[]): { field: string; values: number } {
  const values = new Map<string, Set<unknown>>();
  for (const { projection } of visits) {
    for (const [field, value] of Object.entries(projection)) {
      let seen = values.get(field);
      if (seen === undefined) values.set(field, (seen = new Set()));
      seen.add(value);
    }
  }
  let most = { field: 'nothing', values: 0 };
  for (const [field, seen] of values) if (seen.size > most.values) most = { field, values: seen.size };
  return most;
}

/** The indices from an initial state to this one. */
export function pathTo(visits: readonly Visit<unknown, unknown>[], index: number): number[] {
  const path: number[] = [];
  for (let at = index; at >= 0; at = visits[at]?.parent ?? -1) path.push(at);
  return path.reverse();
}

/**
 * Explores a system.
 *
 * @throws ModelError with reason `limit` when there are more states than the limit allows
 */
export function explore<State, Event, Effects>(
  system: TransitionSystem<State, Event, Effects>,
  options: ExploreOptions<State, Event, Effects> = {},
): Exploration<State, Event> {
  const { properties = [], limit = 100_000, keepGoing = false, level = 1, onStep } = options;
  const expression = options.systemExpression ?? null;
  const visits: Visit<State, Event>[] = [];
  const indices = new Map<string, number>();
  const tallies = properties.map((): Tally => ({ witnesses: 0, counterexample: null }));
  const starts: number[] = [];
  let transitions = 0;
  let selfLoops = 0;
  let violation: Counterexample | null = null;

  const violated = (
    property: Property<State, Event, Effects>,
    tally: Tally,
    index: number,
    last: Step<State, Event, Effects> | null,
  ): void => {
    tally.counterexample ??= {
      ...scenario(system, visits, property, index, last, starts),
      system: expression,
    };
    violation ??= tally.counterexample;
  };

  const visit = (
    state: State,
    parent: number,
    action: Action<Event> | null,
  ): { readonly index: number; readonly fresh: boolean } => {
    const projection = system.project(state);
    const key = keyOf(projection);
    const known = indices.get(key);
    if (known !== undefined) return { index: known, fresh: false };
    const index = visits.length;
    if (index >= limit) {
      const { field, values } = growing(visits);
      throw new ModelError(
        'limit',
        `more than ${limit} states: '${field}' grows (${values} values so far). Project it onto finitely many classes, or raise the limit`,
      );
    }
    indices.set(key, index);
    visits.push({ state, projection, parent, action, depth: parent < 0 ? 0 : (visits[parent]?.depth ?? 0) + 1 });
    for (const [place, property] of properties.entries()) {
      const tally = tallies[place];
      if (tally === undefined || property.kind !== 'always' || (property.premise && !property.premise(state))) continue;
      tally.witnesses += 1;
      if (!property.check(state)) violated(property, tally, index, null);
    }
    return { index, fresh: true };
  };

  const judgeStep = (step: Step<State, Event, Effects>, from: number): void => {
    for (const [place, property] of properties.entries()) {
      const tally = tallies[place];
      if (tally === undefined || property.kind === 'always') continue;
      if (property.kind === 'sometimes') {
        if (property.check(step.after, step)) tally.witnesses += 1;
      } else if (property.premise(step)) {
        tally.witnesses += 1;
        if (!property.check(step)) violated(property, tally, from, step);
      }
    }
  };

  for (const state of system.initial()) {
    const { index, fresh } = visit(state, -1, null);
    if (!fresh) continue;
    starts.push(index);
    for (const [place, property] of properties.entries()) {
      const tally = tallies[place];
      if (tally && property.kind === 'sometimes' && property.check(state, null)) tally.witnesses += 1;
    }
  }

  let complete = true;
  search: for (let from = 0; from < visits.length; from += 1) {
    const before = visits[from];
    if (before === undefined) break;
    for (const action of system.actions(before.state)) {
      if (violation !== null && !keepGoing) {
        complete = false;
        break search;
      }
      const step = system.step(before.state, action);
      judgeStep(step, from);
      if (violation !== null && !keepGoing) continue;
      const { index } = visit(step.after, from, action);
      if (index === from && system.isSilent(step.effects)) selfLoops += 1;
      else transitions += 1;
      onStep?.(step, from, index);
    }
  }

  return {
    visits,
    transitions,
    selfLoops,
    depth: visits.at(-1)?.depth ?? 0,
    violation,
    complete: complete && (violation === null || keepGoing),
    indexOf: (key) => indices.get(key),
    properties: properties.map(({ id, kind, requirement, says }, place) => {
      const { witnesses, counterexample } = tallies[place] ?? { witnesses: 0, counterexample: null };
      const holds = counterexample === null && (kind !== 'sometimes' || witnesses > 0);
      return { id, kind, requirement, says, level, holds, witnesses, counterexample };
    }),
  };
}

/** The path to a state, and one more step where it is a step that is at fault. */
function scenario<State, Event, Effects>(
  system: TransitionSystem<State, Event, Effects>,
  visits: readonly Visit<State, Event>[],
  { id, requirement, says }: Property<State, Event, Effects>,
  index: number,
  last: Step<State, Event, Effects> | null,
  starts: readonly number[],
): Counterexample {
  const path = pathTo(visits, index);
  const start = visits[path[0] ?? 0];
  if (start === undefined) throw new ModelError('invalid-model', 'a violation without a state');
  const steps: Step<State, Event, Effects>[] = [];
  let state = start.state;
  for (const at of path.slice(1)) {
    const action = visits[at]?.action;
    if (!action) continue;
    const step = system.step(state, action);
    steps.push(step);
    state = step.after;
  }
  if (last !== null) steps.push(last);
  return {
    property: id,
    requirement,
    says,
    start: system.describe(start.state),
    startIndex: starts.indexOf(path[0] ?? 0),
    system: null,
    steps: steps.map(({ action, effects, after }) => ({
      by: action.by,
      what: action.label,
      effects: system.describeEffects(effects),
      state: system.describe(after),
      event: action.event,
    })),
  };
}
