/**
 * What can be explored: states, the actions that each state offers, and what an action does.
 *
 * The explorer knows nothing but this; machines, the spec and small examples are all turned into it.
 */

/** A value of one field of a state's projection. */
export type FieldValue = string | number | boolean | null;

/**
 * The finite part of a state that decides its future, field by field. Two states with equal projections count as
 * one; `bisimulation.ts` tests that they may.
 */
export type Projection = Readonly<Record<string, FieldValue>>;

/** Something that may happen: who does it, in words, and the event that stands for it. */
export interface Action<Event> {
  /** Unique in a state, and the same in every state with the same projection. */
  readonly label: string;
  /** Who acts: `caller`, `service`, `platform`, … */
  readonly by: string;
  readonly event: Event;
}

/** One step. `effects` is what it made happen outside: actors started, answers given. */
export interface Step<State, Event, Effects> {
  readonly before: State;
  readonly action: Action<Event>;
  readonly after: State;
  readonly effects: Effects;
}

/** A system to explore. All functions are pure. */
export interface TransitionSystem<State, Event, Effects> {
  /** Every state in which the system may start. */
  initial(): readonly State[];
  /** Everything that may happen in a state. */
  actions(state: State): readonly Action<Event>[];
  /** What an action does. */
  step(state: State, action: Action<Event>): Step<State, Event, Effects>;
  /** The finite classes of a state. */
  project(state: State): Projection;
  /** Whether a step made anything happen outside; one that did not and changed nothing is a self-loop. */
  isSilent(effects: Effects): boolean;
  /** A state in a few words. */
  describe(state: State): string;
  /** Effects in a few words, one line each. */
  describeEffects(effects: Effects): readonly string[];
}

/** The key of a projection: equal keys, equal states. */
export function keyOf(projection: Projection): string {
  return JSON.stringify(Object.values(projection));
}
