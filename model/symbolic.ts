/**
 * Level 4: the invariants of the spec, proved for every number of steps and every value of the counters.
 *
 * The conjunction of all invariants is shown to be inductive: it holds at the start, and each effect keeps it.
 * Every effect is a query of its own, so that a failed proof names the effect, the invariant and the state.
 */
import type { Expression } from './expression.ts';
import { ModelError } from './model-error.ts';
import { invariantsOf, type SpecEffect, type SpecInvariant, type Symspec } from './symspec.ts';
import type * as Z3Package from 'z3-solver';

/** One question to the solver: `unsat` means proved. */
export interface ProofObligation {
  readonly id: string;
  readonly effect: string | null;
  readonly says: string;
  readonly smt2: string;
  /** The same without what is to be shown: satisfiable, unless the proof is about nothing. */
  readonly premise: string;
}

/** What became of an obligation. */
export interface ProofResult {
  readonly id: string;
  readonly effect: string | null;
  readonly says: string;
  readonly proved: boolean;
  /** Whether there is a case at all that the proof speaks about. */
  readonly possible: boolean;
  /** The state before (and after) in which the proof fails, as the solver wrote it. */
  readonly counterexample: string | null;
}

/** An answer of a solver; the model is the solver's own text. */
export interface SmtAnswer {
  readonly verdict: 'sat' | 'unsat' | 'unknown';
  readonly model: string | null;
}

/** Whatever can decide a SMT-LIB script: the solver of {@link loadZ3}, or an own one. */
export interface SmtSolver {
  /** Decides the conjunction of a script's assertions. */
  check(script: string): Promise<SmtAnswer>;
  /** Frees the solver and ends its threads. */
  close(): Promise<void>;
}

function smtSort(spec: Symspec, name: string): string {
  const type = spec.scope.variable(name);
  if (type?.kind === 'bool') return 'Bool';
  return type?.kind === 'enum' ? sortName(type.name) : 'Int';
}

function sortName(name: string): string {
  return name.replace(/(^|_)([a-z])/g, (_all, _gap, letter: string) => letter.toUpperCase());
}

const smtOperators: Readonly<Record<string, string>> = { '=': '=', '<': '<', '<=': '<=', '>': '>', '>=': '>=' };

/** Prints an expression as SMT-LIB; `next` renames variables to their values after the step. */
export function toSmt(expression: Expression, rename: (name: string) => string = (name) => name): string {
  const print = (part: Expression): string => toSmt(part, rename);
  switch (expression.op) {
    case 'int':
      return String(expression.value);
    case 'bool':
      return String(expression.value);
    case 'name':
      return rename(expression.name);
    case 'not':
      return `(not ${print(expression.of)})`;
    case 'and':
    case 'or':
      return `(${expression.op} ${print(expression.left)} ${print(expression.right)})`;
    case 'compare':
      return expression.by === '!='
        ? `(not (= ${print(expression.left)} ${print(expression.right)}))`
        : `(${smtOperators[expression.by]} ${print(expression.left)} ${print(expression.right)})`;
    case 'arithmetic':
      return `(${expression.by} ${print(expression.left)} ${print(expression.right)})`;
    case 'if':
      return `(ite ${print(expression.condition)} ${print(expression.yes)} ${print(expression.no)})`;
    case 'lookup':
      throw new ModelError('invalid-model', `a spec has no tables ('${expression.table}')`);
  }
}

function declarations(spec: Symspec): string[] {
  const lines: string[] = [];
  for (const { type } of spec.variables) {
    if (type.kind !== 'enum') continue;
    lines.push(`(declare-datatypes ((${sortName(type.name)} 0)) ((${type.members.map((m) => `(${m})`).join(' ')})))`);
  }
  for (const suffix of ['', '_after']) {
    for (const { name } of spec.variables) lines.push(`(declare-const ${name}${suffix} ${smtSort(spec, name)})`);
  }
  return lines;
}

function conjunction(invariants: readonly SpecInvariant[], rename?: (name: string) => string): string {
  return `(and ${invariants.map(({ always }) => toSmt(always, rename)).join(' ')})`;
}

function afterStep(spec: Symspec): (name: string) => string {
  return (name) => (spec.scope.variable(name) === undefined ? name : `${name}_after`);
}

function stepRelation(spec: Symspec, effect: SpecEffect): string[] {
  return spec.variables.map(({ name }) => {
    const value = effect.set.get(name);
    return `(assert (= ${name}_after ${value === undefined ? name : toSmt(value)})) ; ${effect.id}`;
  });
}

function initialValues(spec: Symspec): string[] {
  return spec.variables.map(({ name, type, initial }) => {
    let value = String(initial);
    if (type.kind === 'bool') value = String(initial !== 0);
    if (type.kind === 'enum') value = type.members[initial] ?? '';
    return `(assert (= ${name} ${value}))`;
  });
}

/** The id of an effect, numbered where several effects have it. */
function effectName({ effects }: Symspec, place: number): string {
  const id = effects[place]?.id ?? '';
  const nth = effects.slice(0, place + 1).filter((effect) => effect.id === id).length;
  return effects.filter((effect) => effect.id === id).length > 1 ? `${id} (${nth})` : id;
}

/** The queries whose common answer `unsat` proves the invariants: one for the start, one for each effect. */
export function proofObligations(spec: Symspec): ProofObligation[] {
  const invariants = invariantsOf(spec);
  const after = afterStep(spec);
  const obligation = (
    id: string,
    effect: string | null,
    says: string,
    given: readonly string[],
    shown: string,
  ): ProofObligation => {
    const premise = [...declarations(spec), ...given];
    return {
      id,
      effect,
      says,
      smt2: [...premise, `(assert (not ${shown}))`, '(check-sat)'].join('\n'),
      premise: [...premise, '(check-sat)'].join('\n'),
    };
  };
  return [
    obligation('initially', null, 'The invariants hold at the start.', initialValues(spec), conjunction(invariants)),
    ...spec.effects.map((effect, place) =>
      obligation(
        `kept by ${effectName(spec, place)}`,
        effect.id,
        effect.says,
        [`(assert ${conjunction(invariants)})`, `(assert ${toSmt(effect.when)})`, ...stepRelation(spec, effect)],
        conjunction(invariants, after),
      ),
    ),
  ];
}

/** All obligations as one SMT-LIB file for any solver: each `check-sat` answers `unsat` when the spec is right. */
export function toSmtLib(spec: Symspec): string {
  const obligations = proofObligations(spec).flatMap(({ id, says, smt2 }) => [
    `; ${id}: ${says}`,
    '(push 1)',
    smt2,
    '(pop 1)',
    '',
  ]);
  const named = invariantsOf(spec).map(({ id, says }) => `; ${id}: ${says}`);
  return [`; ${spec.name}: the invariants below are inductive if and only if every answer is unsat`, ...named, '']
    .concat('(set-logic ALL)', '', obligations)
    .join('\n');
}

/**
 * Puts every obligation to a solver, in order.
 *
 * @throws ModelError with reason `limit` where the solver gives up
 */
export async function proveInductive(spec: Symspec, solver: SmtSolver): Promise<ProofResult[]> {
  const results: ProofResult[] = [];
  for (const { id, effect, says, smt2, premise } of proofObligations(spec)) {
    const { verdict, model } = await solver.check(smt2);
    if (verdict === 'unknown') throw new ModelError('limit', `the solver could not decide whether '${id}'`);
    const possible = (await solver.check(premise)).verdict === 'sat';
    const counterexample = model === null ? null : readModel(spec, model);
    results.push({ id, effect, says, proved: verdict === 'unsat', possible, counterexample });
  }
  return results;
}

/** Reads the solver's `name -> value` lines; what it left open can have any value. */
function readModel(spec: Symspec, model: string): string {
  const values = new Map([...model.matchAll(/^(\w+) -> (.+)$/gm)].map(([, name = '', value = '']) => [name, value]));
  const side = (suffix: string): string =>
    spec.variables.map(({ name }) => `${name} = ${values.get(name + suffix) ?? 'any'}`).join(', ');
  return `${side('')}; then ${side('_after')}`;
}

/**
 * Starts the solver from the optional package `z3-solver`, which is loaded here and nowhere else.
 *
 * @throws ModelError with reason `missing-dependency` where the package is not installed
 */
export async function loadZ3(): Promise<SmtSolver> {
  let z3: typeof Z3Package;
  try {
    z3 = await import('z3-solver');
  } catch (cause) {
    throw new ModelError('missing-dependency', 'level 4 needs the package z3-solver: npm install z3-solver', { cause });
  }
  const { Z3, em } = await z3.init();
  const context = Z3.mk_context(Z3.mk_config());
  return {
    async check(script) {
      const solver = Z3.mk_solver(context);
      Z3.solver_inc_ref(context, solver);
      try {
        // Parsed in one synchronous call: the package's own `eval_smtlib2_string` frees the text while it is read.
        Z3.solver_from_string(context, solver, script);
        const verdict = await Z3.solver_check(context, solver);
        if (verdict === z3.Z3_lbool.Z3_L_FALSE) return { verdict: 'unsat', model: null };
        if (verdict !== z3.Z3_lbool.Z3_L_TRUE) return { verdict: 'unknown', model: null };
        return { verdict: 'sat', model: Z3.model_to_string(context, Z3.solver_get_model(context, solver)) };
      } finally {
        Z3.solver_dec_ref(context, solver);
      }
    },
    async close() {
      Z3.del_context(context);
      // The solver's worker threads would keep the process alive.
      await z3.killThreads(em);
    },
  };
}
