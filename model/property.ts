/** Properties as data: what must hold, where, what shows that it was put to the test. */
import type { Step } from './transition-system.ts';

interface PropertyBase {
  /** Unique and stable; part of the JSON report. */
  readonly id: string;
  /** The requirement that it checks, where there is one. */
  readonly requirement: string | null;
  /** One sentence. */
  readonly says: string;
}

/** Holds in every reachable state in which its premise is true. */
export interface AlwaysProperty<State> extends PropertyBase {
  readonly kind: 'always';
  /** Where the property says anything at all; everywhere when left out. */
  readonly premise?: (state: State) => boolean;
  readonly check: (state: State) => boolean;
}

/** Holds for every step for which its premise is true. */
export interface StepProperty<State, Event, Effects> extends PropertyBase {
  readonly kind: 'step';
  readonly premise: (step: Step<State, Event, Effects>) => boolean;
  readonly check: (step: Step<State, Event, Effects>) => boolean;
}

/** Happens in some reachable state, or (with `step`) by some step. */
export interface SometimesProperty<State, Event, Effects> extends PropertyBase {
  readonly kind: 'sometimes';
  readonly check: (state: State, step: Step<State, Event, Effects> | null) => boolean;
}

/** Any property. */
export type Property<State, Event, Effects> =
  AlwaysProperty<State> | StepProperty<State, Event, Effects> | SometimesProperty<State, Event, Effects>;

/** One line of a counterexample. */
export interface ScenarioStep {
  /** Who acts. */
  readonly by: string;
  readonly what: string;
  /** What the step made happen outside. */
  readonly effects: readonly string[];
  /** The state after it. */
  readonly state: string;
  /** The event itself, where the system is a machine: enough to replay the path. */
  readonly event: unknown;
}

/** A shortest path to a violation. */
export interface Counterexample {
  readonly property: string;
  readonly requirement: string | null;
  readonly says: string;
  /** Where the path starts. */
  readonly start: string;
  /** Which of the initial states it starts in. */
  readonly startIndex: number;
  /** An expression that builds the explored system, for a test to paste; `null` where nobody said. */
  readonly system: string | null;
  readonly steps: readonly ScenarioStep[];
}

/** What an exploration found out about one property. */
export interface PropertyResult {
  readonly id: string;
  readonly kind: Property<unknown, unknown, unknown>['kind'] | 'reachable' | 'proof' | 'structure';
  readonly requirement: string | null;
  readonly says: string;
  readonly level: number;
  /** True when no violation was found and (for `sometimes`) a witness was. */
  readonly holds: boolean;
  /** How often the premise was true. A property without any is not tested, and fails the run. */
  readonly witnesses: number;
  readonly counterexample: Counterexample | null;
}
