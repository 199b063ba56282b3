/**
 * The fast reading of a composed system: its rules compiled to one JavaScript function that writes all successors of
 * a packed state into a buffer, without allocating anything.
 *
 * The code is made from parsed expressions only (names, numbers and operators of our own language), never from text
 * that somebody else wrote.
 */
import type { ParsedComposition, ParsedProperty, ParsedRule } from './composition.ts';
import { namesIn, type Expression } from './expression.ts';
import { packingOf, type PackedField, type Packing } from './packing.ts';

/** What the compiled function reports besides successors. */
export interface Findings {
  /** How often each property's premise (or, for `sometimes`, its check) was true. */
  readonly witnesses: Float64Array;
  /** Index of the property that a step broke, `-1` for none. */
  brokenByStep: number;
  /** Whether an assignment left its variable's range. */
  outOfRange: boolean;
}

/** A composed system, compiled. */
export interface CompiledComposition {
  readonly packing: Packing;
  readonly findings: Findings;
  /** Writes the successors that differ from the state at `offset`, one after the other; answers how many words. */
  readonly expand: (states: Int32Array, offset: number, into: Int32Array) => number;
  /** Judges a new state; answers the index of the property that it breaks, or `-1`. */
  readonly judge: (states: Int32Array, offset: number) => number;
  /** Whether each `reachable` property's goal is met, as bits in the order of those properties. */
  readonly goals: (states: Int32Array, offset: number) => number;
  /** At most so many words are written by one call of `expand`. */
  readonly room: number;
}

const operators: Readonly<Record<string, string>> = { '=': '===', '!=': '!==' };

class Writer {
  private readonly composition: ParsedComposition;
  private readonly fields: ReadonlyMap<string, PackedField>;

  constructor(composition: ParsedComposition, packing: Packing) {
    this.composition = composition;
    this.fields = new Map(packing.fields.map((field) => [field.name, field]));
  }

  /** An expression as JavaScript; `assigned` names the variables that have a value after the step of their own. */
  expression(expression: Expression, assigned: ReadonlySet<string> = new Set()): string {
    const write = (part: Expression): string => this.expression(part, assigned);
    switch (expression.op) {
      case 'int':
        return String(expression.value);
      case 'bool':
        return String(expression.value);
      case 'name': {
        const constant = this.composition.source.constants[expression.name];
        if (this.fields.has(expression.name)) {
          return expression.primed && assigned.has(expression.name)
            ? `after_${expression.name}`
            : `v_${expression.name}`;
        }
        return constant === undefined ? `l_${expression.name}` : String(constant);
      }
      case 'lookup': {
        const sizes = this.composition.tableOf.get(expression.table)?.sizes ?? [];
        const cell = expression.indices
          .map((index, dimension) => (dimension === 0 ? write(index) : `${sizes[dimension]} + ${write(index)}`))
          .reduce((outer, inner) => `(${outer}) * ${inner}`);
        return `t_${expression.table}[${cell}]`;
      }
      case 'not':
        return `!(${write(expression.of)})`;
      case 'and':
        return `(${write(expression.left)} && ${write(expression.right)})`;
      case 'or':
        return `(${write(expression.left)} || ${write(expression.right)})`;
      case 'compare':
        return `(${write(expression.left)} ${operators[expression.by] ?? expression.by} ${write(expression.right)})`;
      case 'arithmetic':
        return `(${write(expression.left)} ${expression.by} ${write(expression.right)})`;
      case 'if':
        return `(${write(expression.condition)} ? ${write(expression.yes)} : ${write(expression.no)})`;
    }
  }

  /** One rule: its choices as loops, its condition as nested tests, each abbreviation right before its first use. */
  rule(rule: ParsedRule, packing: Packing): string {
    const open: string[] = [];
    let close = '';
    const pending = new Map(rule.lets);
    const define = (expression: Expression): void => {
      for (const { name } of namesIn(expression)) {
        const value = pending.get(name);
        if (value === undefined) continue;
        pending.delete(name);
        define(value);
        open.push(`const l_${name} = ${this.expression(value)};`);
      }
    };
    const parameters = new Set(rule.choose.map(([name]) => name));
    const dependsOnChoice = (expression: Expression): boolean =>
      namesIn(expression).some(({ name }) => {
        const value = rule.lets.find(([local]) => local === name)?.[1];
        return parameters.has(name) || (value !== undefined && dependsOnChoice(value));
      });
    const test = (conjunct: Expression): void => {
      define(conjunct);
      open.push(`if (${this.expression(conjunct)}) {`);
      close += '}';
    };
    // What does not depend on the choices is tested once, before their loops.
    const tests = conjuncts(rule.when);
    for (const conjunct of tests) if (!dependsOnChoice(conjunct)) test(conjunct);
    for (const [name, count] of rule.choose) {
      open.push(`for (let l_${name} = 0; l_${name} < ${count}; l_${name}++) {`);
      close += '}';
    }
    for (const conjunct of tests) if (dependsOnChoice(conjunct)) test(conjunct);
    for (const [, value] of rule.set) define(value);
    for (const { premise, check } of rule.judge) {
      define(premise);
      define(check);
    }
    const body: string[] = [];
    const words = new Map<number, { keep: number; parts: string[] }>();
    for (const [name, value] of rule.set) {
      const field = this.fields.get(name) as PackedField;
      body.push(`const after_${name} = ${this.expression(value)};`);
      body.push(`if (after_${name} >>> 0 > ${field.max}) findings.outOfRange = true;`);
      const word = words.get(field.word) ?? { keep: -1, parts: [] };
      word.keep &= ~(((1 << field.bits) - 1) << field.shift);
      word.parts.push(`(after_${name} << ${field.shift})`);
      words.set(field.word, word);
    }
    for (let word = 0; word < packing.words; word += 1) {
      const change = words.get(word);
      body.push(
        `const n${word} = ${change ? `(w${word} & ${change.keep}) | ${change.parts.join(' | ')}` : `w${word}`};`,
      );
    }
    const assigned = new Set(rule.set.map(([name]) => name));
    for (const { property, premise, check } of rule.judge) {
      body.push(
        `if (${this.expression(premise, assigned)}) { witnesses[${property}]++;`,
        `if (!(${this.expression(check, assigned)}) && findings.brokenByStep < 0) findings.brokenByStep = ${property}; }`,
      );
    }
    const differs = [...words.keys()].map((word) => `n${word} !== w${word}`).join(' || ');
    const store = Array.from({ length: packing.words }, (_, word) => `into[at++] = n${word};`).join(' ');
    body.push(`if (${differs || 'false'}) { ${store} }`);
    return [...open, ...body, close].join('\n');
  }

  /** Unpacks the variables that these expressions read. */
  unpack(expressions: readonly Expression[]): string {
    const names = new Set(expressions.flatMap(namesIn).map(({ name }) => name));
    return [...this.fields.values()]
      .filter(({ name }) => names.has(name))
      .map(({ name, word, shift, bits }) => `const v_${name} = (w${word} >> ${shift}) & ${(1 << bits) - 1};`)
      .join('\n');
  }
}

/** `a and b and c` as three tests. */
function conjuncts(expression: Expression): Expression[] {
  return expression.op === 'and' ? [...conjuncts(expression.left), ...conjuncts(expression.right)] : [expression];
}

function readWords(packing: Packing): string {
  return Array.from({ length: packing.words }, (_, word) => `const w${word} = states[offset + ${word}];`).join('\n');
}

function judgeStates(writer: Writer, properties: readonly ParsedProperty[]): string {
  const lines: string[] = [];
  for (const [index, { source, premise, check }] of properties.entries()) {
    if (check === null || source.kind === 'reachable' || source.kind === 'step') continue;
    const test = writer.expression(check);
    if (source.kind === 'sometimes') lines.push(`if (${test}) witnesses[${index}]++;`);
    else {
      lines.push(`if (${premise === null ? 'true' : writer.expression(premise)}) { witnesses[${index}]++;`);
      lines.push(`if (!(${test}) && broken < 0) broken = ${index}; }`);
    }
  }
  return lines.join('\n');
}

/** Compiles a composed system. */
export function compileComposition(composition: ParsedComposition): CompiledComposition {
  const packing = packingOf(composition.source.variables);
  const writer = new Writer(composition, packing);
  const findings: Findings = {
    witnesses: new Float64Array(composition.properties.length),
    brokenByStep: -1,
    outOfRange: false,
  };
  const checks = composition.properties.flatMap(({ premise, check }) =>
    [premise, check].filter((part) => part !== null),
  );
  const goals = composition.properties.filter(({ source }) => source.kind === 'reachable');
  const ruleExpressions = composition.rules.flatMap(({ when, set, lets, judge }) => [
    when,
    ...set.map(([, value]) => value),
    ...lets.map(([, value]) => value),
    ...judge.flatMap(({ premise, check }) => [premise, check]),
  ]);
  const source = `'use strict';
    const witnesses = findings.witnesses;
    ${composition.source.tables.map(({ name }, index) => `const t_${name} = tables[${index}];`).join('\n')}
    return {
      expand(states, offset, into) {
        ${readWords(packing)}
        ${writer.unpack(ruleExpressions)}
        let at = 0;
        ${composition.rules.map((rule) => writer.rule(rule, packing)).join('\n')}
        return at;
      },
      judge(states, offset) {
        ${readWords(packing)}
        ${writer.unpack(checks)}
        let broken = -1;
        ${judgeStates(writer, composition.properties)}
        return broken;
      },
      goals(states, offset) {
        ${readWords(packing)}
        ${writer.unpack(checks)}
        return ${goals.map(({ check }, bit) => (check === null ? '0' : `((${writer.expression(check)}) ? ${1 << bit} : 0)`)).join(' | ') || '0'};
      },
    };`;
  // oxlint-disable-next-line no-new-func -- the whole point: rules as machine code, from our own parsed expressions.
  const make = new Function('tables', 'findings', source) as (
    tables: readonly Int32Array[],
    findings: Findings,
  ) => Pick<CompiledComposition, 'expand' | 'judge' | 'goals'>;
  const steps = composition.rules.reduce(
    (sum, { choose }) => sum + choose.reduce((product, [, count]) => product * count, 1),
    0,
  );
  const functions = make(
    composition.source.tables.map(({ data }) => data),
    findings,
  );
  return { packing, findings, room: steps * packing.words, ...functions };
}
