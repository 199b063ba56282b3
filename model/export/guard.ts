/** Guards as data: XState keeps a conjunction as a function with its parts on it; here it becomes a small tree. */
import type { AnyStateMachine } from 'xstate';

/** A guard as it is written in a chart. */
export type ChartGuard =
  | { readonly kind: 'named'; readonly name: string; readonly params: Readonly<Record<string, unknown>> | null }
  | { readonly kind: 'and' | 'or' | 'not'; readonly parts: readonly ChartGuard[] }
  | { readonly kind: 'stateIn'; readonly state: string }
  /** A function written in place; only its name, if it has one, can be shown. */
  | { readonly kind: 'inline'; readonly name: string };

interface HigherOrderGuard {
  readonly name: string;
  readonly guards?: readonly unknown[];
  readonly stateValue?: unknown;
}

/** Reads a guard as XState keeps it; `null` where there is none. */
export function readGuard(guard: unknown): ChartGuard | null {
  if (guard === undefined || guard === null) return null;
  if (typeof guard === 'string') return { kind: 'named', name: guard, params: null };
  if (typeof guard === 'object') {
    const { type, params } = guard as { type: string; params?: Record<string, unknown> };
    return { kind: 'named', name: type, params: params ?? null };
  }
  const { name, guards, stateValue } = guard as HigherOrderGuard;
  if (stateValue !== undefined) {
    return { kind: 'stateIn', state: typeof stateValue === 'string' ? stateValue : JSON.stringify(stateValue) };
  }
  if (guards !== undefined && (name === 'and' || name === 'or' || name === 'not')) {
    return { kind: name, parts: guards.flatMap((part) => readGuard(part) ?? []) };
  }
  return { kind: 'inline', name };
}

/** A guard on one line: `fresh ∧ STATE-11`, `¬conflict`, `hookPassed(run)`. */
export function guardText(guard: ChartGuard): string {
  switch (guard.kind) {
    case 'named':
      return guard.params === null ? guard.name : `${guard.name}(${paramsText(guard.params)})`;
    case 'stateIn':
      return `in ${guard.state}`;
    case 'inline':
      return guard.name === '' || guard.name === 'guard' ? 'condition' : guard.name;
    case 'not':
      return `¬${guard.parts.map(nested).join('')}`;
    default:
      return guard.parts.map(nested).join(guard.kind === 'and' ? ' ∧ ' : ' ∨ ');
  }
}

/** Parentheses where two operators would otherwise run together. */
function nested(guard: ChartGuard): string {
  return guard.kind === 'and' || guard.kind === 'or' ? `(${guardText(guard)})` : guardText(guard);
}

/** The values of parameters, in order; names are left to the code. */
export function paramsText(params: Readonly<Record<string, unknown>>): string {
  return Object.values(params)
    .map((value) => (Array.isArray(value) ? value.join('+') : typeof value === 'object' ? '…' : String(value)))
    .join(', ');
}

/** The names in a guard, in order of appearance. */
export function guardNames(guard: ChartGuard | null): string[] {
  if (guard === null) return [];
  if (guard.kind === 'named') return [guard.name];
  return 'parts' in guard ? guard.parts.flatMap(guardNames) : [];
}

/**
 * The state that a guard confines its transition to, as a path, or `null`. It is found behind a name too: `STATE-5` of
 * the lifecycle is a named `stateIn('#sandbox.RUNNING')`.
 */
export function confinedTo(guard: ChartGuard | null, machine: AnyStateMachine): string | null {
  if (guard === null) return null;
  if (guard.kind === 'stateIn') return guard.state.replace(/^#/, '').split('.').slice(1).join('.') || null;
  if (guard.kind === 'named') {
    const implementation = (machine.implementations.guards as Readonly<Record<string, unknown>>)[guard.name];
    const behind = typeof implementation === 'function' ? readGuard(implementation) : null;
    return behind === null || behind.kind === 'inline' ? null : confinedTo(behind, machine);
  }
  if (guard.kind !== 'and') return null;
  for (const part of guard.parts) {
    const state = confinedTo(part, machine);
    if (state !== null) return state;
  }
  return null;
}
