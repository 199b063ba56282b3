/**
 * A composed system as Promela, for SPIN: one process, one `d_step` a step, tables as arrays.
 *
 * Nothing of our explorer is in it but the rules and tables themselves, so SPIN's verdict and its number of reachable
 * states check ours. Tables are C arrays: as Promela arrays they would be part of every state.
 */
import type { CompositionTable, ParsedComposition, ParsedRule } from './composition.ts';
import type { Expression } from './expression.ts';

function promelaType(max: number): string {
  if (max <= 255) return 'byte';
  return max <= 32_767 ? 'short' : 'int';
}

/** Prints an expression in C, which Promela's own expressions are, too; `names` says what a name stands for. */
function toC(
  composition: ParsedComposition,
  expression: Expression,
  names: (name: string, primed: boolean) => string,
): string {
  const print = (part: Expression): string => toC(composition, part, names);
  switch (expression.op) {
    case 'int':
      return String(expression.value);
    case 'bool':
      return expression.value ? '1' : '0';
    case 'name':
      return names(expression.name, expression.primed);
    case 'lookup': {
      const sizes = composition.tableOf.get(expression.table)?.sizes ?? [];
      const cell = expression.indices
        .map((index, dimension) => (dimension === 0 ? print(index) : `${sizes[dimension]} + ${print(index)}`))
        .reduce((outer, inner) => `(${outer}) * ${inner}`);
      return `t_${expression.table}(${cell})`;
    }
    case 'not':
      return `!(${print(expression.of)})`;
    case 'and':
      return `(${print(expression.left)} && ${print(expression.right)})`;
    case 'or':
      return `(${print(expression.left)} || ${print(expression.right)})`;
    case 'compare':
      return `(${print(expression.left)} ${expression.by === '=' ? '==' : expression.by} ${print(expression.right)})`;
    case 'arithmetic':
      return `(${print(expression.left)} ${expression.by} ${print(expression.right)})`;
    case 'if':
      return `(${print(expression.condition)} ? ${print(expression.yes)} : ${print(expression.no)})`;
  }
}

function* choices(choose: ParsedRule['choose']): Generator<ReadonlyMap<string, number>> {
  const [first, ...rest] = choose;
  if (first === undefined) yield new Map();
  else {
    for (let value = 0; value < first[1]; value += 1) {
      for (const others of choices(rest)) yield new Map([[first[0], value], ...others]);
    }
  }
}

/** One option of the loop: the guard and the assignments as one indivisible step. */
function option(composition: ParsedComposition, rule: ParsedRule, chosen: ReadonlyMap<string, number>): string {
  const { constants, variables } = composition.source;
  const known = new Set(variables.map(({ name }) => name));
  const values = new Map(rule.set);
  const names = (name: string, primed: boolean): string => {
    if (known.has(name)) {
      const after = primed ? values.get(name) : undefined;
      return after === undefined ? `now.${name}` : toC(composition, after, names);
    }
    const value = chosen.get(name) ?? constants[name];
    if (value !== undefined) return String(value);
    const abbreviated = rule.lets.find(([local]) => local === name)?.[1];
    return abbreviated === undefined ? name : toC(composition, abbreviated, names);
  };
  const print = (expression: Expression): string => toC(composition, expression, names);
  return [
    `  :: d_step { c_expr { ${print(rule.when)} };`,
    ...rule.judge.map(({ property, premise, check }) => {
      const id = composition.properties[property]?.source.id ?? '';
      return `       c_code { holds = !(${print(premise)}) || (${print(check)}); }; assert(holds); /* ${id} */`;
    }),
    `       c_code {`,
    ...rule.set.map(([name, value]) => `         int after_${name} = ${print(value)};`),
    ...rule.set.map(([name]) => `         now.${name} = after_${name};`),
    `       } }`,
  ].join('\n');
}

/** SPIN takes no more text than this between the braces of one `c_decl`, in characters. */
const longestDeclaration = 50_000;

/** A table as C arrays, in as many pieces as SPIN's longest declaration demands, and a function `t_name` that reads them. */
function tableInC({ name, data }: CompositionTable): string[] {
  const widest = Math.max(1, ...Array.from(data, (value) => String(value).length)) + 1;
  const cells = Math.max(1, Math.floor(longestDeclaration / widest));
  const pieces: string[] = [];
  for (let from = 0; from < data.length; from += cells) {
    const values = data.slice(from, from + cells);
    pieces.push(
      `c_decl { static const int t_${name}_${pieces.length}[${values.length}] = {${[...values].join(',')}}; }`,
    );
  }
  const read = pieces
    .map((_piece, place) => (place === 0 ? `t_${name}_0[i]` : `t_${name}_${place}[i - ${place * cells}]`))
    .reduceRight((rest, piece, place) => (rest === '' ? piece : `i < ${(place + 1) * cells} ? ${piece} : ${rest}`), '');
  return [...pieces, `c_decl { static inline int t_${name}(int i) { return ${read}; } }`];
}

/**
 * Writes a composed system as Promela. `reachable` and `sometimes` properties are left out: SPIN's safety run checks
 * what must never happen.
 *
 * @example
 * ```sh
 * spin -a model.pml && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m1000000
 * ```
 */
export function toPromela(composition: ParsedComposition): string {
  const { name, variables, tables, constants } = composition.source;
  const known = new Set(variables.map((variable) => variable.name));
  const inState = (expression: Expression): string =>
    toC(composition, expression, (one) => (known.has(one) ? `now.${one}` : String(constants[one])));
  const invariants = composition.properties.flatMap(({ source, premise, check }) => {
    if (source.kind !== 'always' || check === null) return [];
    const broken = premise === null ? `!(${inState(check)})` : `(${inState(premise)}) && !(${inState(check)})`;
    return [`  :: d_step { c_expr { ${broken} }; assert(false) /* ${source.id} */ }`];
  });
  return [
    `/* ${name}: one process, one d_step a step, tables as arrays. */`,
    ...tables.flatMap(tableInC),
    `hidden byte holds = 1; /* whether the step at hand keeps what it is judged by */`,
    ...variables.map(({ name: variable, max, initial }) => `${promelaType(max)} ${variable} = ${initial};`),
    ``,
    `active proctype system() {`,
    `end:`,
    `  do`,
    ...invariants,
    ...composition.rules.flatMap((rule) =>
      [...choices(rule.choose)].map((chosen) => option(composition, rule, chosen)),
    ),
    `  od`,
    `}`,
    ``,
  ].join('\n');
}
