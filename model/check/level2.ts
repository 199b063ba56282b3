/** Level 2: the composed system, as it is by default and in the variants that its clients can meet. */
import { composedDefaults, composedSystem, type ComposedOptions } from '../composed/composed-system.ts';
import { parseComposition } from '../composition.ts';
import { exploreProduct } from '../product.ts';
import type { LevelFindings } from './results.ts';

/** A composed system that level 2 explores. */
export interface ComposedVariant {
  readonly name: string;
  readonly options: ComposedOptions;
}

/** The default first; then launches that callers may repeat, and a platform that answers otherwise where it may. */
export const composedVariants: readonly ComposedVariant[] = [
  { name: 'the whole system', options: {} },
  { name: 'callers keep their launch token', options: { keptLaunches: true } },
  {
    name: 'the platform answers otherwise',
    options: {
      autoResume: false,
      platform: {
        resumeShowsPending: true,
        failedResume: 'suspend-again',
        applyWindowToExplicitSuspend: false,
        suspendOfSuspending: 'conflict',
        suspendOfSuspended: 'conflict',
        suspendOfTerminated: 'conflict',
        resumeOfRunning: 'conflict',
        resumeOfTerminated: 'conflict',
      },
    },
  },
];

/** Options of {@link checkLevel2}. */
export interface Level2Options extends ComposedOptions {
  readonly limit?: number;
  /** An expression of the machine, where it is a variant, for tests to paste. */
  readonly machineExpression?: string;
}

/** Runs level 2 on one variant. It stops at the first violation. */
export function checkLevel2({ name, options }: ComposedVariant, overrides: Level2Options = {}): LevelFindings {
  const { limit, machineExpression, machine, ...plain } = { ...options, ...overrides };
  const bounds = { faults: composedDefaults.faults, crashes: composedDefaults.crashes, ...plain };
  const literal = JSON.stringify(bounds);
  const found = exploreProduct(
    parseComposition(composedSystem({ ...bounds, ...(machine === undefined ? {} : { machine }) })),
    {
      ...(limit === undefined ? {} : { limit }),
      systemExpression: `composedSystem(${machineExpression === undefined ? literal : `{ ...${literal}, machine: ${machineExpression} }`})`,
    },
  );
  return {
    parts: [{ name, states: found.states, transitions: found.transitions }],
    depth: found.depth,
    properties: found.properties,
    table: [],
  };
}
