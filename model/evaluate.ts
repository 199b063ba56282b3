/** The plain reading of an expression: a number for given values. Truth is 1 and 0, an enumeration's member its place. */
import type { Expression } from './expression.ts';

/** Where an expression finds the values that it names. */
export interface Values {
  name(name: string, primed: boolean): number;
  lookup(table: string, indices: readonly number[]): number;
}

/** Evaluates an expression; `and`, `or` and `if` read only what they need. */
export function evaluate(expression: Expression, values: Values): number {
  switch (expression.op) {
    case 'int':
      return expression.value;
    case 'bool':
      return expression.value ? 1 : 0;
    case 'name':
      return values.name(expression.name, expression.primed);
    case 'lookup':
      return values.lookup(
        expression.table,
        expression.indices.map((index) => evaluate(index, values)),
      );
    case 'not':
      return evaluate(expression.of, values) === 0 ? 1 : 0;
    case 'and':
      return evaluate(expression.left, values) === 0 ? 0 : evaluate(expression.right, values);
    case 'or':
      return evaluate(expression.left, values) === 0 ? evaluate(expression.right, values) : 1;
    case 'if':
      return evaluate(expression.condition, values) === 0
        ? evaluate(expression.no, values)
        : evaluate(expression.yes, values);
    case 'arithmetic': {
      const left = evaluate(expression.left, values);
      const right = evaluate(expression.right, values);
      if (expression.by === '+') return left + right;
      return expression.by === '-' ? left - right : left * right;
    }
    case 'compare':
      return compare(expression.by, evaluate(expression.left, values), evaluate(expression.right, values)) ? 1 : 0;
  }
}

function compare(by: '=' | '!=' | '<' | '<=' | '>' | '>=', left: number, right: number): boolean {
  switch (by) {
    case '=':
      return left === right;
    case '!=':
      return left !== right;
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
  }
}
