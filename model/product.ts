/**
 * Level 2's explorer: breadth-first over packed integers.
 *
 * States live in one growing typed array, their index in an open-addressing hash table beside it, and each has a
 * parent for the shortest path. Nothing is allocated per state or step.
 */
import { compileComposition, type CompiledComposition } from './composition-codegen.ts';
import { initialComposition, stepsFrom, type CompositionState } from './composition-interpreter.ts';
import type { ParsedComposition } from './composition.ts';
import { ModelError } from './model-error.ts';
import { backwards } from './backwards.ts';
import { EdgeList, StateStore } from './state-store.ts';
import type { Counterexample, PropertyResult, ScenarioStep } from './property.ts';

/** Options of {@link exploreProduct}. */
export interface ProductOptions {
  /** How many distinct states at most; 5 million unless said otherwise. */
  readonly limit?: number;
  /** The level to name in the results; 2 unless said otherwise. */
  readonly level?: number;
  /** An expression that builds the composed system, to be named in counterexamples. */
  readonly systemExpression?: string;
}

/** What the exploration of a composed system saw. */
export interface ProductExploration {
  readonly states: number;
  /** Successors computed: duplicates counted, self-loops not. */
  readonly transitions: number;
  readonly depth: number;
  readonly properties: readonly PropertyResult[];
  readonly violation: Counterexample | null;
  readonly complete: boolean;
  /** Bytes of all tables at the end. */
  readonly bytes: number;
  /** The state with this number, by name; numbers follow the search. */
  readonly stateAt: (index: number) => CompositionState;
}

/**
 * Explores a composed system.
 *
 * @throws ModelError with reason `limit` when there are more states than the limit allows, and with `invalid-model`
 *   when a rule assigns a value outside of its variable's range
 */
export function exploreProduct(composition: ParsedComposition, options: ProductOptions = {}): ProductExploration {
  const { limit = 5_000_000, level = 2 } = options;
  const compiled = compileComposition(composition);
  const { packing, findings, expand, judge, goals } = compiled;
  const { words } = packing;
  const store = new StateStore(words);
  const reachable = composition.properties.flatMap(({ source }, index) => (source.kind === 'reachable' ? [index] : []));
  const edges = reachable.length > 0 ? new EdgeList() : null;
  const buffer = new Int32Array(compiled.room);
  let broken: { property: number; state: number; byStep: boolean } | null = null;
  let transitions = 0;
  let depth = 0;
  let levelEnd = 1;

  store.add(packing.pack(initialComposition(composition)), 0, -1);
  const first = judge(store.states, 0);
  if (first >= 0) broken = { property: first, state: 0, byStep: false };

  for (let index = 0; index < store.count && broken === null; index += 1) {
    if (index === levelEnd) {
      levelEnd = store.count;
      depth += 1;
    }
    edges?.begin(index);
    const written = expand(store.states, index * words, buffer);
    transitions += written / words;
    if (findings.outOfRange) stepsFrom(composition, packing.unpack(store.states, index * words));
    if (findings.brokenByStep >= 0) {
      broken = { property: findings.brokenByStep, state: index, byStep: true };
      break;
    }
    for (let at = 0; at < written; at += words) {
      const before = store.count;
      const target = store.add(buffer, at, index);
      edges?.add(target);
      if (target !== before) continue;
      if (store.count > limit) throw overLimit(composition, compiled, store, limit);
      const property = judge(store.states, target * words);
      if (property >= 0) {
        broken = { property, state: target, byStep: false };
        break;
      }
    }
  }

  const complete = broken === null;
  let stuck: { property: number; state: number } | null = null;
  if (edges !== null && complete) {
    edges.begin(store.count);
    for (const [bit, property] of reachable.entries()) {
      const found = backwards(store.count, edges, (state) => (goals(store.states, state * words) & (1 << bit)) !== 0);
      findings.witnesses[property] = found.goals;
      if (found.stuck >= 0 && stuck === null) stuck = { property, state: found.stuck };
    }
  }

  const failed = broken ?? (stuck === null ? null : { ...stuck, byStep: false });
  const told = failed === null ? null : tell(composition, compiled, store, failed);
  const violation = told === null ? null : { ...told, system: options.systemExpression ?? null };
  return {
    states: store.count,
    transitions,
    depth,
    complete,
    violation,
    bytes: store.bytes + (edges?.bytes ?? 0),
    stateAt: (index) => packing.unpack(store.states, index * words),
    properties: composition.properties.map(({ source: { id, kind, requirement, says } }, index) => {
      const witnesses = findings.witnesses[index] ?? 0;
      const counterexample = failed?.property === index ? violation : null;
      const holds = counterexample === null && (kind !== 'sometimes' || witnesses > 0);
      return { id, kind, requirement, says, level, holds, witnesses, counterexample };
    }),
  };
}

/** The path to a state (and one step more where a step is at fault), told by the plain interpreter. */
function tell(
  composition: ParsedComposition,
  { packing }: CompiledComposition,
  store: StateStore,
  { property, state, byStep }: { property: number; state: number; byStep: boolean },
): Counterexample {
  const source = composition.properties[property]?.source;
  if (source === undefined) throw new ModelError('invalid-model', `no property ${property}`);
  const indices: number[] = [];
  for (let at = state; at >= 0; at = store.parents[at] as number) indices.unshift(at);
  const states = indices.map((index) => packing.unpack(store.states, index * packing.words));
  const steps: ScenarioStep[] = [];
  for (const [place, after] of states.entries()) {
    const before = states[place - 1];
    if (before === undefined) continue;
    const step = stepsFrom(composition, before).find((candidate) => equal(candidate.after, after));
    if (step === undefined) throw new ModelError('invalid-model', 'the compiled rules and the plain ones differ');
    steps.push(asScenario(composition, step, before));
  }
  const last = states.at(-1);
  if (byStep && last !== undefined) {
    const step = stepsFrom(composition, last).find(({ judged }) =>
      judged.some((one) => one.property === property && !one.holds),
    );
    if (step === undefined) throw new ModelError('invalid-model', 'the compiled rules and the plain ones differ');
    steps.push(asScenario(composition, step, last));
  }
  const { id, requirement, says } = source;
  const start = showComposition(composition, states[0] ?? {}, null);
  return { property: id, requirement, says, start, startIndex: 0, system: null, steps };
}

function asScenario(
  composition: ParsedComposition,
  { by, label, after }: { by: string; label: string; after: CompositionState },
  before: CompositionState,
): ScenarioStep {
  return { by, what: label, effects: [], state: showComposition(composition, after, before), event: null };
}

/** The variables that a step changed; all that are not at their start when there is no state before. */
export function showComposition(
  { source }: ParsedComposition,
  state: CompositionState,
  before: CompositionState | null,
): string {
  const changed = source.variables.filter(
    ({ name, initial }) => state[name] !== (before?.[name] ?? (before ? null : initial)),
  );
  const shown = changed.map(({ name, show }) => `${name} = ${show?.(state[name] ?? 0) ?? state[name]}`);
  return shown.length === 0 ? (before ? 'nothing changes' : 'everything at its start') : shown.join(', ');
}

function equal(left: CompositionState, right: CompositionState): boolean {
  return Object.keys(left).every((name) => left[name] === right[name]);
}

function overLimit(
  composition: ParsedComposition,
  { packing }: CompiledComposition,
  store: StateStore,
  limit: number,
): ModelError {
  const seen = new Map<string, Set<number>>(composition.source.variables.map(({ name }) => [name, new Set<number>()]));
  for (let index = 0; index < store.count; index += 1) {
    const state = packing.unpack(store.states, index * packing.words);
    for (const [name, values] of seen) values.add(state[name] ?? 0);
  }
  const [name, values] = [...seen].reduce((most, next) => (next[1].size > most[1].size ? next : most));
  return new ModelError(
    'limit',
    `more than ${limit} states: '${name}' took ${values.size} values. Lower a bound or raise the limit`,
  );
}
