/**
 * The plain reading of a composed system: slow, short and obvious. It tells scenarios, and it is what the compiled
 * successor function is compared with.
 */
import { ruleLabel, type ParsedComposition, type ParsedRule } from './composition.ts';
import { evaluate, type Values } from './evaluate.ts';
import type { Expression } from './expression.ts';
import { ModelError } from './model-error.ts';

/** Values of all variables, by name. */
export type CompositionState = Readonly<Record<string, number>>;

/** A successor and the rule that leads to it. */
export interface CompositionStep {
  readonly rule: number;
  readonly by: string;
  readonly label: string;
  readonly after: CompositionState;
  /** Step properties whose premise this step meets, and whether it keeps them. */
  readonly judged: readonly { readonly property: number; readonly holds: boolean }[];
}

/** Where all variables start. */
export function initialComposition({ source }: ParsedComposition): CompositionState {
  return Object.fromEntries(source.variables.map(({ name, initial }) => [name, initial]));
}

function valuesFor(
  { source, tableOf }: ParsedComposition,
  state: CompositionState,
  chosen: Readonly<Record<string, number>>,
  lets: ParsedRule['lets'] = [],
  after: CompositionState = state,
): Values {
  const known = new Map<string, number>();
  const values: Values = {
    name(name, primed) {
      if (primed) return after[name] ?? values.name(name, false);
      const value = chosen[name] ?? known.get(name) ?? state[name] ?? source.constants[name];
      if (value !== undefined) return value;
      const abbreviated = lets.find(([local]) => local === name);
      if (abbreviated !== undefined) {
        const result = evaluate(abbreviated[1], values);
        known.set(name, result);
        return result;
      }
      throw new ModelError('unknown-name', `nobody declares '${name}'`);
    },
    lookup(name, indices) {
      const table = tableOf.get(name);
      if (table === undefined) throw new ModelError('unknown-name', `no table '${name}'`);
      let cell = 0;
      for (const [dimension, size] of table.sizes.entries()) {
        const index = indices[dimension] ?? -1;
        if (index < 0 || index >= size)
          throw new ModelError('invalid-model', `${name}[${indices.join(', ')}] is outside`);
        cell = cell * size + index;
      }
      return table.data[cell] ?? 0;
    },
  };
  return values;
}

/** Whether an expression is true in a state. */
export function holdsIn(composition: ParsedComposition, state: CompositionState, expression: Expression): boolean {
  return evaluate(expression, valuesFor(composition, state, {})) !== 0;
}

function* choices(choose: ParsedRule['choose']): Generator<Record<string, number>> {
  const [first, ...rest] = choose;
  if (first === undefined) {
    yield {};
    return;
  }
  const [name, count] = first;
  for (let value = 0; value < count; value += 1) for (const others of choices(rest)) yield { [name]: value, ...others };
}

/** Every enabled step of a state, self-loops included, in the order of the rules. */
export function stepsFrom(composition: ParsedComposition, state: CompositionState): CompositionStep[] {
  const steps: CompositionStep[] = [];
  for (const [rule, { source, choose, lets, when, set, judge }] of composition.rules.entries()) {
    for (const chosen of choices(choose)) {
      const values = valuesFor(composition, state, chosen, lets);
      if (evaluate(when, values) === 0) continue;
      const after: Record<string, number> = { ...state };
      for (const [variable, value] of set) {
        const result = evaluate(value, values);
        const { max = 0 } = composition.source.variables.find(({ name }) => name === variable) ?? {};
        if (result < 0 || result > max) {
          throw new ModelError(
            'invalid-model',
            `${variable} becomes ${result}, outside of 0..${max}: ${ruleLabel(source, { ...state, ...chosen })}`,
          );
        }
        after[variable] = result;
      }
      const both = valuesFor(composition, state, chosen, lets, after);
      steps.push({
        rule,
        by: source.by,
        label: ruleLabel(source, { ...state, ...chosen }),
        after,
        judged: judge.flatMap(({ property, premise, check }) =>
          evaluate(premise, both) === 0 ? [] : [{ property, holds: evaluate(check, both) !== 0 }],
        ),
      });
    }
  }
  return steps;
}
