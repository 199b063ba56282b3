/** Types of expressions: what a name may be, and the check that an expression makes sense. */
import type { Expression } from './expression.ts';
import { ModelError } from './model-error.ts';

/** The type of a value: a truth value, a whole number, or one of an enumeration's named members. */
export type ValueType =
  | { readonly kind: 'bool' }
  | { readonly kind: 'int' }
  | { readonly kind: 'enum'; readonly name: string; readonly members: readonly string[] };

/** What an expression may refer to. */
export interface Scope {
  /** The type of a variable or parameter, or `undefined` where nobody declared it. */
  variable(name: string): ValueType | undefined;
  /** A named constant: an enumeration's member or a number. */
  constant(name: string): { readonly type: ValueType; readonly value: number } | undefined;
  /** The number of indices a table takes. */
  tableRank(name: string): number | undefined;
}

/** The type of whole numbers. */
export const intType: ValueType = { kind: 'int' };
/** The type of truth values. */
export const boolType: ValueType = { kind: 'bool' };

function show(type: ValueType): string {
  return type.kind === 'enum' ? type.name : type.kind;
}

function same(left: ValueType, right: ValueType): boolean {
  return left.kind === 'enum' ? right.kind === 'enum' && right.name === left.name : left.kind === right.kind;
}

function expectType(expression: Expression, wanted: ValueType, scope: Scope, where: string): void {
  const found = typeOf(expression, scope, where);
  if (!same(found, wanted)) throw new ModelError('type', `${show(wanted)} expected, ${show(found)} found in ${where}`);
}

/**
 * The type of an expression.
 *
 * @param where - named in the error, for example the id of a requirement
 * @throws ModelError with reason `type` or `unknown-name`
 */
export function typeOf(expression: Expression, scope: Scope, where: string): ValueType {
  switch (expression.op) {
    case 'int':
      return intType;
    case 'bool':
      return boolType;
    case 'name': {
      const type = scope.variable(expression.name) ?? scope.constant(expression.name)?.type;
      if (type === undefined) throw new ModelError('unknown-name', `nobody declares '${expression.name}' in ${where}`);
      return type;
    }
    case 'lookup': {
      const rank = scope.tableRank(expression.table);
      if (rank === undefined) throw new ModelError('unknown-name', `no table '${expression.table}' in ${where}`);
      if (rank !== expression.indices.length) {
        throw new ModelError('type', `table '${expression.table}' takes ${rank} indices in ${where}`);
      }
      for (const index of expression.indices) {
        if (typeOf(index, scope, where).kind === 'bool') throw new ModelError('type', `a bool as index in ${where}`);
      }
      return intType;
    }
    case 'not':
      expectType(expression.of, boolType, scope, where);
      return boolType;
    case 'and':
    case 'or':
      expectType(expression.left, boolType, scope, where);
      expectType(expression.right, boolType, scope, where);
      return boolType;
    case 'compare': {
      const left = typeOf(expression.left, scope, where);
      expectType(expression.right, left, scope, where);
      if (left.kind !== 'int' && expression.by !== '=' && expression.by !== '!=') {
        throw new ModelError('type', `${show(left)} has no order ('${expression.by}') in ${where}`);
      }
      return boolType;
    }
    case 'arithmetic':
      expectType(expression.left, intType, scope, where);
      expectType(expression.right, intType, scope, where);
      return intType;
    case 'if': {
      expectType(expression.condition, boolType, scope, where);
      const type = typeOf(expression.yes, scope, where);
      expectType(expression.no, type, scope, where);
      return type;
    }
  }
}
