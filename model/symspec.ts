/**
 * The spec as a transition system: `symspec.json` read, typed and given a meaning.
 *
 * The same data is explored here, refined by the real machine (`refinement.ts`) and proved inductive by a solver
 * (`symbolic.ts`).
 */
import { evaluate } from './evaluate.ts';
import { parseExpression, type Expression } from './expression.ts';
import { boolType, intType, typeOf, type Scope, type ValueType } from './expression-types.ts';
import { ModelError } from './model-error.ts';
import data from './symspec.json' with { type: 'json' };

/** One variable of the spec. */
export interface SpecVariable {
  readonly name: string;
  readonly type: ValueType;
  /** Naturals have no upper bound. */
  readonly natural: boolean;
  readonly initial: number;
  readonly says: string;
}

/** What a step may do to the variables: `when …: x := …`, all assignments at once. */
export interface SpecEffect {
  /** The requirement, environment or extension effect that allows it. */
  readonly id: string;
  readonly says: string;
  readonly when: Expression;
  readonly set: ReadonlyMap<string, Expression>;
}

/** What holds in every state. */
export interface SpecInvariant {
  readonly id: string;
  readonly says: string;
  readonly always: Expression;
}

/** What a requirement demands of steps (of calls and times) rather than of the five variables. */
export interface SpecStepRule {
  readonly id: string;
  readonly says: string;
  readonly step: string;
}

/** The whole spec, parsed and typed. */
export interface Symspec {
  readonly name: string;
  readonly variables: readonly SpecVariable[];
  readonly effects: readonly SpecEffect[];
  /** The requirements' own invariants. */
  readonly invariants: readonly SpecInvariant[];
  /** Those without which the conjunction is not inductive. */
  readonly auxiliary: readonly SpecInvariant[];
  /** What holds besides, and is proved along. */
  readonly facts: readonly SpecInvariant[];
  readonly stepRules: readonly SpecStepRule[];
  readonly scope: Scope;
}

/** Values of all variables; truth is 1 and 0, an enumeration's member its place in the list. */
export type SpecState = Readonly<Record<string, number>>;

/** The shape of a spec file. */
export interface SymspecFile {
  readonly name: string;
  readonly variables: readonly {
    readonly name: string;
    readonly type: 'bool' | 'nat' | readonly string[];
    readonly initial: string;
    readonly says: string;
  }[];
  readonly requirements: readonly SymspecEntry[];
  readonly auxiliary: readonly SymspecEntry[];
  readonly facts: readonly SymspecEntry[];
  readonly environment: readonly SymspecEntry[];
  readonly extensions: readonly SymspecEntry[];
}

/** One requirement, invariant or effect of a spec file. */
export interface SymspecEntry {
  readonly id: string;
  readonly says: string;
  readonly effects?: readonly { readonly when: string; readonly set: Readonly<Record<string, string | undefined>> }[];
  readonly always?: string;
  readonly step?: string;
}

/** The spec of the MicroVM lifecycle, as written in `symspec.json`. */
export const symspecFile: SymspecFile = data as SymspecFile;

function scopeOf(file: SymspecFile): Scope {
  const variables = new Map<string, ValueType>();
  const constants = new Map<string, { type: ValueType; value: number }>();
  for (const { name, type } of file.variables) {
    if (type === 'bool' || type === 'nat') {
      variables.set(name, type === 'bool' ? boolType : intType);
      continue;
    }
    const enumeration: ValueType = { kind: 'enum', name, members: type };
    variables.set(name, enumeration);
    for (const [value, member] of type.entries()) {
      if (constants.has(member)) throw new ModelError('invalid-model', `'${member}' is declared twice`);
      constants.set(member, { type: enumeration, value });
    }
  }
  return {
    variable: (name) => variables.get(name),
    constant: (name) => constants.get(name),
    tableRank: () => undefined,
  };
}

function typed(text: string, wanted: ValueType | undefined, scope: Scope, where: string): Expression {
  const expression = parseExpression(text);
  const found = typeOf(expression, scope, where);
  if (wanted === undefined) throw new ModelError('unknown-name', `${where} assigns what nobody declares`);
  const equal =
    wanted.kind === 'enum' ? found.kind === 'enum' && found.name === wanted.name : found.kind === wanted.kind;
  if (!equal) throw new ModelError('type', `'${text}' is ${found.kind}, not ${wanted.kind}, in ${where}`);
  return expression;
}

/**
 * Reads a spec: parses and types every expression.
 *
 * @throws ModelError where an expression is malformed, ill-typed or names what nobody declares
 */
export function readSymspec(file: SymspecFile): Symspec {
  const scope = scopeOf(file);
  const readInvariants = (entries: readonly SymspecEntry[]): SpecInvariant[] =>
    entries.flatMap(({ id, says, always }) =>
      always === undefined ? [] : [{ id, says, always: typed(always, boolType, scope, id) }],
    );
  const all = [...file.requirements, ...file.environment, ...file.extensions];
  return {
    name: file.name,
    scope,
    variables: file.variables.map(({ name, type, initial, says }) => ({
      name,
      says,
      type: scope.variable(name) ?? intType,
      natural: type === 'nat',
      initial: evaluate(typed(initial, scope.variable(name), scope, name), constantsOnly(scope)),
    })),
    effects: all.flatMap(({ id, says, effects = [] }) =>
      effects.map(({ when, set }) => ({
        id,
        says,
        when: typed(when, boolType, scope, id),
        set: new Map(
          Object.entries(set).map(([name, text]) => [
            name,
            typed(text ?? '', scope.variable(name), scope, `${id}, ${name}`),
          ]),
        ),
      })),
    ),
    invariants: readInvariants(file.requirements),
    auxiliary: readInvariants(file.auxiliary),
    facts: readInvariants(file.facts),
    stepRules: file.requirements.flatMap(({ id, says, step }) => (step === undefined ? [] : [{ id, says, step }])),
  };
}

function constantsOnly(scope: Scope): { name(name: string): number; lookup(): number } {
  return {
    name: (name) => scope.constant(name)?.value ?? Number.NaN,
    lookup: () => Number.NaN,
  };
}

/** Where every variable starts. */
export function initialSpecState(spec: Symspec): SpecState {
  return Object.fromEntries(spec.variables.map(({ name, initial }) => [name, initial]));
}

function read(spec: Symspec, state: SpecState, expression: Expression): number {
  return evaluate(expression, {
    name: (name) => state[name] ?? spec.scope.constant(name)?.value ?? Number.NaN,
    lookup: () => Number.NaN,
  });
}

/** The state after an effect, or `null` where the effect is not enabled. */
export function applyEffect(spec: Symspec, effect: SpecEffect, state: SpecState): SpecState | null {
  if (read(spec, state, effect.when) === 0) return null;
  const after: Record<string, number> = { ...state };
  for (const [name, value] of effect.set) after[name] = read(spec, state, value);
  return after;
}

/** All invariants: the requirements' own, the auxiliary ones and the facts. */
export function invariantsOf(spec: Symspec): SpecInvariant[] {
  return [...spec.invariants, ...spec.auxiliary, ...spec.facts];
}

/** The invariants that a state breaks; empty for a good state. */
export function brokenInvariants(spec: Symspec, state: SpecState): SpecInvariant[] {
  return invariantsOf(spec).filter(({ always }) => read(spec, state, always) === 0);
}

/** The effects that explain one step of the variables: enabled before, and with exactly this outcome. */
export function explain(spec: Symspec, before: SpecState, after: SpecState): SpecEffect[] {
  return spec.effects.filter((effect) => {
    const outcome = applyEffect(spec, effect, before);
    return outcome !== null && spec.variables.every(({ name }) => outcome[name] === after[name]);
  });
}

/** A state as a reader writes it: `vm_state = RUNNING, token_installed, …`. */
export function showSpecState(spec: Symspec, state: SpecState): string {
  return spec.variables
    .map(({ name, type }) => {
      const value = state[name] ?? 0;
      if (type.kind === 'bool') return value === 0 ? `not ${name}` : name;
      return `${name} = ${type.kind === 'enum' ? (type.members[value] ?? value) : value}`;
    })
    .join(', ');
}

/** The spec of the MicroVM lifecycle. */
export const symspec: Symspec = readSymspec(symspecFile);
