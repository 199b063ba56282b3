/** A machine's definition as JSON: states, transitions, guards and names, resolved as XState resolves them. */
import type { AnyStateMachine } from 'xstate';
import { chartOf, type Chart } from './chart.ts';

/** The shape of the file. `version` changes when a member changes its meaning. */
export interface ChartDocument extends Chart {
  readonly version: 1;
}

/** Prints the definition. Plain data: what a function does is told by its name alone. */
export function toJson(machine: AnyStateMachine): string {
  const document: ChartDocument = { version: 1, ...chartOf(machine) };
  return `${JSON.stringify(document, null, 2)}\n`;
}
