/** One call of an operation, as the operations see it. */
import type { EmulatorContext } from '../context.ts';
import type { Region } from '../service/region.ts';
import type { JsonObject } from './constraints.ts';
import type { OperationName } from './routes.ts';

/** A call that passed the front door. */
export interface Call {
  readonly context: EmulatorContext;
  readonly region: Region;
  readonly operation: OperationName;
  readonly labels: readonly string[];
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly body: JsonObject;
}

/** What an operation answers; a refusal is a thrown `ServiceError`. */
export interface Answer {
  /** 200 when absent. */
  readonly status?: number;
  /** Null for an answer without a body. */
  readonly body: object | null;
}

/** An operation. */
export type Operation = (call: Call) => Answer | Promise<Answer>;

/** A table of operations. */
export type Operations = Partial<Record<OperationName, Operation>>;

/** Unix milliseconds as the wire has them: a number of seconds with fractions. */
export function timestamp(wallMs: number): number {
  return Math.round(wallMs) / 1000;
}
