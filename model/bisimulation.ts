/**
 * The test of a projection: states with the same key must behave the same, or the exploration leaves something out.
 *
 * Several states of each key are kept and every action is taken from each: the keys and the effects that follow have
 * to be equal. What is compared of the effects is a signature, because ids and times differ and may.
 */
import { keyOf, type TransitionSystem } from './transition-system.ts';

/** Two states that the projection calls equal and that behave differently. */
export interface Difference {
  readonly state: string;
  readonly action: string;
  readonly oneWay: string;
  readonly otherWay: string;
}

/** What {@link checkProjection} found. */
export interface ProjectionCheck {
  readonly keys: number;
  /** Keys of which at least two different states were compared. */
  readonly compared: number;
  readonly comparisons: number;
  readonly difference: Difference | null;
}

/** Options of {@link checkProjection}. */
export interface ProjectionCheckOptions<State, Effects> {
  /** How many states of a key to compare with the first; 3 unless said otherwise. */
  readonly perKey?: number;
  readonly limit?: number;
  /** The part of the effects that the projection promises to preserve; what `describeEffects` says when left out. */
  readonly signature?: (effects: Effects) => string;
  /** Tells states apart that have the same key: the whole state as text. */
  readonly identity: (state: State) => string;
}

/** Explores a system and compares states of the same key. */
export function checkProjection<State, Event, Effects>(
  system: TransitionSystem<State, Event, Effects>,
  options: ProjectionCheckOptions<State, Effects>,
): ProjectionCheck {
  const { perKey = 3, limit = 100_000, identity } = options;
  const signature = options.signature ?? ((effects: Effects) => system.describeEffects(effects).join(', '));
  const answers = new Map<string, ReadonlyMap<string, string>>();
  const members = new Map<string, Set<string>>();
  const queue: State[] = [...system.initial()];
  let comparisons = 0;

  for (let head = 0; head < queue.length && answers.size <= limit; head += 1) {
    const state = queue[head] as State;
    const key = keyOf(system.project(state));
    let known = members.get(key);
    if (known === undefined) members.set(key, (known = new Set()));
    const name = identity(state);
    if (known.has(name) || known.size > perKey) continue;
    known.add(name);

    const answer = new Map<string, string>();
    for (const action of system.actions(state)) {
      const { after, effects } = system.step(state, action);
      answer.set(action.label, `${keyOf(system.project(after))} ${signature(effects)}`);
      queue.push(after);
    }
    const first = answers.get(key);
    if (first === undefined) {
      answers.set(key, answer);
      continue;
    }
    comparisons += 1;
    for (const label of new Set([...first.keys(), ...answer.keys()])) {
      const oneWay = first.get(label) ?? 'not offered';
      const otherWay = answer.get(label) ?? 'not offered';
      if (oneWay !== otherWay) {
        const difference = { state: key, action: label, oneWay, otherWay };
        return { keys: answers.size, compared: countShared(members), comparisons, difference };
      }
    }
  }
  return { keys: answers.size, compared: countShared(members), comparisons, difference: null };
}

function countShared(members: ReadonlyMap<string, ReadonlySet<string>>): number {
  return [...members.values()].filter(({ size }) => size > 1).length;
}
