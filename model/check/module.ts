/** A check of a user's own machine: one that extends the lifecycle machine, embeds it, or has nothing to do with it. */
import type { AnyStateMachine, EventFromLogic, SnapshotFrom } from 'xstate';
import { explore } from '../explorer.ts';
import { machineSystem, type MachineEffects, type MachineSystemOptions } from '../machine-system.ts';
import { ModelError } from '../model-error.ts';
import type { Property } from '../property.ts';
import type { TransitionSystem } from '../transition-system.ts';
import { guarded, refuseWrongForm, systemOf } from './module-form.ts';
import { failuresOf, type CheckReport } from './report.ts';

/**
 * What a module exports by default to be checked.
 *
 * @example
 * ```ts
 * export default defineCheck({
 *   name: 'orders',
 *   machine: orderMachine,
 *   events: () => [{ by: 'buyer', label: 'pays', event: { type: 'PAY' } }],
 *   properties: [
 *     { id: 'paid-once', kind: 'always', requirement: null, says: 'Nobody pays twice.', check: ({ context }) => context.paid <= 1 },
 *   ],
 * });
 * ```
 */
export interface CheckModule<Machine extends AnyStateMachine = AnyStateMachine> extends MachineSystemOptions<Machine> {
  readonly name: string;
  readonly machine: Machine;
  readonly properties: readonly Property<SnapshotFrom<Machine>, EventFromLogic<Machine>, MachineEffects>[];
  /** How many states at most; 100,000 unless said otherwise. */
  readonly limit?: number;
}

/** Only gives the module its types. */
export function defineCheck<Machine extends AnyStateMachine>(module: CheckModule<Machine>): CheckModule<Machine> {
  return module;
}

/** The system that a module describes. */
export function moduleSystem<Machine extends AnyStateMachine>(
  module: CheckModule<Machine>,
): TransitionSystem<SnapshotFrom<Machine>, EventFromLogic<Machine>, MachineEffects> {
  return machineSystem(module.machine, module);
}

/**
 * Reads what a module exports: `default`, or `check`.
 *
 * @throws ModelError when it is no check
 */
export function readModule(exports: Readonly<Record<string, unknown>>, path: string): CheckModule {
  const found = (exports['default'] ?? exports['check']) as Partial<CheckModule> | undefined;
  const wants = 'a default export made with defineCheck({ name, machine, events, properties })';
  if (typeof found !== 'object' || found === null)
    throw new ModelError('invalid-model', `${path} has no check: it needs ${wants}`);
  const missing = (['name', 'machine', 'events', 'properties'] as const).filter((name) => found[name] === undefined);
  if (missing.length > 0)
    throw new ModelError('invalid-model', `the check in ${path} lacks ${missing.join(', ')}: it needs ${wants}`);
  refuseWrongForm(found, `the check in ${path}`);
  return found as CheckModule;
}

/**
 * Explores a user's machine with its own properties.
 *
 * @throws ModelError with reason `limit` when there are more states than the limit allows, and with `invalid-model`
 *   when the check has no properties, nothing can happen in it, or a function of it throws: the message names which
 */
export function checkModule(
  given: CheckModule,
  { now, limit }: { readonly now: () => number; readonly limit?: number },
): CheckReport {
  refuseWrongForm(given, `the check '${given.name}'`);
  const module = guarded(given);
  const startedAt = now();
  const found = explore(systemOf(module), {
    limit: limit ?? module.limit ?? 100_000,
    properties: module.properties,
    systemExpression: 'moduleSystem(check)',
  });
  const durationMs = now() - startedAt;
  const { transitions, selfLoops, depth, properties } = found;
  // A violation of a start stops the search before anything is tried.
  if (transitions + selfLoops === 0 && found.violation === null) {
    throw new ModelError(
      'invalid-model',
      `nothing can happen in '${module.name}': its events() gives no event in any state, so that nothing is put to the test`,
    );
  }
  const states = found.visits.length;
  const results = { properties, mutants: [], table: [] };
  const failures = failuresOf(results);
  const parts = [{ name: module.name, states, transitions }];
  const level = { level: 1 as const, name: module.name, states, transitions, depth, durationMs, parts, skipped: null };
  return { ok: failures.length === 0, levels: [level], ...results, durationMs, failures };
}
