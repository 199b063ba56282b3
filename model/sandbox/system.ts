/** The lifecycle machine in any environment: what level 1 explores. */
import {
  adopt,
  initialSnapshot,
  recordOf,
  restore,
  sandboxMachine,
  substateOf,
  vmStates,
  type Answered,
  type JournalRecord,
  type SandboxEvent,
  type SandboxInput,
  type SandboxPolicy,
  type SandboxSnapshot,
  type Settled,
} from '../../machines/index.ts';
import { initialTransition } from 'xstate';
import { machineSystem, type EmittedEvent, type MachineEffects } from '../machine-system.ts';
import type { Step, TransitionSystem } from '../transition-system.ts';
import { sandboxActions, type SandboxAction } from './events.ts';
import { description, microvmId } from './outcomes.ts';
import { projectSandbox } from './projection.ts';

/** The machine, or a variant of it with guards or actions replaced. */
export type SandboxMachine = typeof sandboxMachine;

/** One step of the lifecycle machine. */
export type SandboxStep = Step<SandboxSnapshot, SandboxEvent, MachineEffects>;

/** The system of level 1. */
export type SandboxSystem = TransitionSystem<SandboxSnapshot, SandboxEvent, MachineEffects>;

/** The label of the step in which the process dies and its life is taken up again from the journal. */
export const restartLabel = 'the process dies, and the life is restored';

/** Options of {@link sandboxSystem}. */
export interface SandboxSystemOptions {
  readonly policy?: Partial<SandboxPolicy>;
  /** Start only with a new life; otherwise with adopted VMs in every state, too. */
  readonly newLifeOnly?: boolean;
  /** Leave out that the process may die while a call is in flight. */
  readonly withoutRestarts?: boolean;
}

const identity = { sandboxId: 'sandbox-1', region: 'us-east-1' };

/** The input of every life that level 1 starts with: a new one, and one adopted in each state. */
export function startingInputs({ policy, newLifeOnly = false }: SandboxSystemOptions): readonly SandboxInput[] {
  const chosen = policy === undefined ? {} : { policy };
  const fresh: SandboxInput = { ...identity, ...chosen };
  if (newLifeOnly) return [fresh];
  const adopted = vmStates.map((state) =>
    adopt({ ...identity, ...chosen, microvmId, endpoint: 'vm.example', state, description: description(state) }),
  );
  return [fresh, ...adopted];
}

/** What an emitted event says, in a few words. */
export function describeEmitted(event: EmittedEvent): string {
  if (event.type === 'ANSWERED') {
    const { command, verdict, refusal } = event as unknown as Answered;
    return `answers ${command}: ${verdict}${refusal === null ? '' : ` (${refusal.requirement ?? refusal.kind})`}`;
  }
  if (event.type === 'SETTLED') {
    const { command, error } = event as unknown as Settled;
    return `settles ${command}: ${error === null ? 'success' : error.kind}`;
  }
  return `emits ${event.type}`;
}

const nothing: MachineEffects = { started: [], stopped: [], emitted: [] };

/**
 * The snapshot a life starts with, of this very machine: a snapshot carries its machine along, guards and all, so one
 * of the original would not do for a variant.
 */
export function startOf(machine: SandboxMachine, input: SandboxInput): SandboxSnapshot {
  if (input.resume === undefined) return initialTransition(machine, input)[0];
  const { value, context } = initialSnapshot(input);
  return machine.resolveState({ value, context });
}

/** A life that goes on from its record. */
export function restoredFrom(machine: SandboxMachine, record: JournalRecord, policy: SandboxPolicy): SandboxSnapshot {
  // The same clock: only where the life stands matters here, not how clocks of two processes compare.
  return startOf(machine, { ...restore(record, { at: 0, wallMs: 0 }), policy });
}

/** A life after its process died: the journal held what was written before the call in flight. */
function restarted(machine: SandboxMachine, { context }: SandboxSnapshot): SandboxSnapshot {
  return restoredFrom(machine, recordOf(context, 0), context.policy);
}

/** The lifecycle machine as a system: every command, every ending of a call, every report, and restarts. */
export function sandboxSystem(
  options: SandboxSystemOptions = {},
  machine: SandboxMachine = sandboxMachine,
): SandboxSystem {
  const system = machineSystem(machine, {
    inputs: [],
    snapshots: startingInputs(options).map((input) => startOf(machine, input)),
    events: sandboxActions,
    project: projectSandbox,
    describe: describeSandbox,
    describeEmitted,
  });
  if (options.withoutRestarts === true) return system;
  const restart: SandboxAction = {
    by: 'host',
    label: restartLabel,
    event: { type: restartLabel } as unknown as SandboxEvent,
  };
  return {
    ...system,
    actions: (state) => (state.context.call === null ? system.actions(state) : [...system.actions(state), restart]),
    step: (before, action) =>
      action.label === restartLabel
        ? { before, action, after: restarted(machine, before), effects: nothing }
        : system.step(before, action),
  };
}

/** The substate, and the bookkeeping where it is not at its start. */
export function describeSandbox(snapshot: SandboxSnapshot): string {
  const { context } = snapshot;
  const facts = [
    context.tokenInstalled && 'token installed',
    context.bootstrapCount > 1 && `${context.bootstrapCount} bootstraps`,
    context.wasTerminated && 'was terminated',
    context.latched !== null && 'TERMINATE waits',
    context.deferred !== null && 'RESUME waits',
  ].filter((fact) => fact !== false);
  return facts.length === 0 ? substateOf(snapshot) : `${substateOf(snapshot)} (${facts.join(', ')})`;
}
