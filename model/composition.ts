/**
 * A composed system as data: small bounded variables, integer tables, and guarded rules that read both.
 *
 * The rules are written in the language of `expression.ts`. The same data is run by a plain interpreter
 * (`composition-interpreter.ts`), compiled to a fast successor function (`composition-codegen.ts`) and printed as
 * Promela (`promela.ts`), so that three readings can be compared.
 */
import { parseExpression, type Expression } from './expression.ts';
import { intType, typeOf, type Scope } from './expression-types.ts';
import { ModelError } from './model-error.ts';

/** A variable of the composed system. */
export interface CompositionVariable {
  readonly name: string;
  /** Largest value; the smallest is 0. */
  readonly max: number;
  readonly initial: number;
  /** What a value means, for scenarios; the number itself when left out. */
  readonly show?: (value: number) => string;
}

/** A constant table. */
export interface CompositionTable {
  readonly name: string;
  /** Sizes of its dimensions; the last one varies fastest. */
  readonly sizes: readonly number[];
  readonly data: Int32Array;
}

/** What a rule's steps are judged by. */
export interface RuleJudgement {
  /** Id of a step property. */
  readonly property: string;
  /** When the property says anything about this step. */
  readonly premise: string;
  readonly check: string;
}

/** A guarded rule: when its condition holds, all assignments happen at once. */
export interface CompositionRule {
  /** Who acts. */
  readonly by: string;
  /** What happens, in words; or a function of the state before and the chosen parameters. */
  readonly label: string | ((values: Readonly<Record<string, number>>) => string);
  /** Parameters: each takes every value from 0 up to (not including) its count. */
  readonly choose?: Readonly<Record<string, number>>;
  /** Abbreviations, in order; a later one may use an earlier one. Read only where they are needed. */
  readonly let?: Readonly<Record<string, string>>;
  readonly when: string;
  /** New values by variable. Primed names (`x'`) in judgements mean the value after the step. */
  readonly set: Readonly<Record<string, string>>;
  readonly judge?: readonly RuleJudgement[];
}

/** What must hold of the composed system's states; steps are judged by their rules. */
export type CompositionProperty = {
  readonly id: string;
  readonly requirement: string | null;
  readonly says: string;
} & (
  | { readonly kind: 'always'; readonly premise?: string; readonly check: string }
  | { readonly kind: 'sometimes'; readonly check: string }
  /** From every reachable state a path leads to a state that satisfies the goal. */
  | { readonly kind: 'reachable'; readonly goal: string }
  /** Judged by the rules that name it. */
  | { readonly kind: 'step' }
);

/** A composed system. */
export interface Composition {
  readonly name: string;
  readonly variables: readonly CompositionVariable[];
  readonly constants: Readonly<Record<string, number>>;
  readonly tables: readonly CompositionTable[];
  readonly rules: readonly CompositionRule[];
  readonly properties: readonly CompositionProperty[];
}

/** A rule with its expressions parsed and typed. */
export interface ParsedRule {
  readonly source: CompositionRule;
  readonly choose: readonly (readonly [name: string, count: number])[];
  readonly lets: readonly (readonly [name: string, value: Expression])[];
  readonly when: Expression;
  readonly set: readonly (readonly [variable: string, value: Expression])[];
  readonly judge: readonly { readonly property: number; readonly premise: Expression; readonly check: Expression }[];
}

/** A property with its expressions parsed; the fields that its kind does not have are `null`. */
export interface ParsedProperty {
  readonly source: CompositionProperty;
  readonly premise: Expression | null;
  readonly check: Expression | null;
}

/** A composed system, parsed and typed. */
export interface ParsedComposition {
  readonly source: Composition;
  readonly rules: readonly ParsedRule[];
  readonly properties: readonly ParsedProperty[];
  readonly tableOf: ReadonlyMap<string, CompositionTable>;
}

function scopeOf(composition: Composition, locals: ReadonlySet<string>): Scope {
  const variables = new Set(composition.variables.map(({ name }) => name));
  const tables = new Map(composition.tables.map(({ name, sizes }) => [name, sizes.length]));
  return {
    variable: (name) => (variables.has(name) || locals.has(name) ? intType : undefined),
    constant: (name) => {
      const value = composition.constants[name];
      return value === undefined ? undefined : { type: intType, value };
    },
    tableRank: (name) => tables.get(name),
  };
}

function read(text: string, wanted: 'bool' | 'int', scope: Scope, where: string): Expression {
  const expression = parseExpression(text);
  const { kind } = typeOf(expression, scope, where);
  if (kind !== wanted) throw new ModelError('type', `'${text}' is ${kind}, not ${wanted}, in ${where}`);
  return expression;
}

/** The label of a rule for the values before it and its parameters. */
export function ruleLabel({ label }: CompositionRule, values: Readonly<Record<string, number>>): string {
  return typeof label === 'string' ? label : label(values);
}

function parseRule(composition: Composition, rule: CompositionRule, place: number): ParsedRule {
  const where = `rule ${place + 1} (${rule.by}: ${typeof rule.label === 'string' ? rule.label : 'with parameters'})`;
  const locals = new Set(Object.keys(rule.choose ?? {}));
  const scope = (): Scope => scopeOf(composition, locals);
  const lets = Object.entries(rule.let ?? {}).map(([name, text]) => {
    const value = read(text, 'int', scope(), `${where}, ${name}`);
    locals.add(name);
    return [name, value] as const;
  });
  const known = new Set(composition.variables.map(({ name }) => name));
  const set = Object.entries(rule.set).map(([variable, text]) => {
    if (!known.has(variable)) throw new ModelError('unknown-name', `no variable '${variable}' in ${where}`);
    return [variable, read(text, 'int', scope(), `${where}, ${variable}`)] as const;
  });
  const judge = (rule.judge ?? []).map(({ property, premise, check }) => {
    const index = composition.properties.findIndex(({ id, kind }) => id === property && kind === 'step');
    if (index < 0) throw new ModelError('unknown-name', `no step property '${property}' for ${where}`);
    return {
      property: index,
      premise: read(premise, 'bool', scope(), `${where}, ${property}`),
      check: read(check, 'bool', scope(), `${where}, ${property}`),
    };
  });
  const choose = Object.entries(rule.choose ?? {});
  return { source: rule, choose, lets, when: read(rule.when, 'bool', scope(), where), set, judge };
}

/**
 * Parses and types a composed system.
 *
 * @throws ModelError for anything that is malformed: an expression, an unknown name, a table of the wrong size
 */
export function parseComposition(composition: Composition): ParsedComposition {
  for (const { name, sizes, data } of composition.tables) {
    const cells = sizes.reduce((product, size) => product * size, 1);
    if (cells !== data.length)
      throw new ModelError('invalid-model', `table ${name} has ${data.length} cells, not ${cells}`);
  }
  for (const { name, max, initial } of composition.variables) {
    if (initial < 0 || initial > max) throw new ModelError('invalid-model', `${name} starts outside of 0..${max}`);
  }
  const scope = scopeOf(composition, new Set());
  return {
    source: composition,
    rules: composition.rules.map((rule, place) => parseRule(composition, rule, place)),
    properties: composition.properties.map((source) => {
      const parse = (text: string | undefined): Expression | null =>
        text === undefined ? null : read(text, 'bool', scope, source.id);
      if (source.kind === 'always') return { source, premise: parse(source.premise), check: parse(source.check) };
      if (source.kind === 'sometimes') return { source, premise: null, check: parse(source.check) };
      return { source, premise: null, check: source.kind === 'reachable' ? parse(source.goal) : null };
    }),
    tableOf: new Map(composition.tables.map((table) => [table.name, table])),
  };
}
