/**
 * Machines that are wrong on purpose: each of the four guards switched off, and faults that were made for real
 * elsewhere. The checker has to find every one of them, or it proves nothing.
 */
import { assign } from 'xstate';
import { sandboxMachine } from '../../machines/index.ts';
import { callLaunchAgain, timeOf } from '../../machines/sandbox-rules.ts';
import { sandboxSetup } from '../../machines/sandbox-setup.ts';
import type { ComposedOptions } from '../composed/composed-system.ts';
import { ModelError } from '../model-error.ts';
import type { SandboxMachine } from './system.ts';

/** The four guarded requirements, which are also the names of their guards. */
export const guardNames = ['STATE-3', 'STATE-5', 'STATE-11', 'STATE-12'] as const;

/** One of the four guards. */
export type GuardName = (typeof guardNames)[number];

/** A machine or host that is wrong on purpose. */
export interface Mutant {
  /** The guard's own name for a guard. */
  readonly id: string;
  readonly says: string;
  /** The lifecycle machine with the fault in it; left out where the fault is the host's. */
  readonly machine?: () => SandboxMachine;
  /** Options of the composed system with the fault in them. */
  readonly composed?: ComposedOptions;
}

/** The lifecycle machine with one of the four guards switched off: what it guards is always allowed. */
export function withoutGuard(guard: GuardName): SandboxMachine {
  return sandboxMachine.provide({ guards: { [guard]: () => true } });
}

interface Branch {
  readonly target?: string;
  readonly [key: string]: unknown;
}

interface Invoking {
  readonly invoke: { readonly onDone: readonly Branch[] };
}

/** A suspend that counts as complete as soon as it is accepted. */
function suspendWithoutWaiting(): SandboxMachine {
  const { config } = sandboxMachine;
  const running = config.states?.RUNNING as unknown as { readonly states: Readonly<Record<'suspending', Invoking>> };
  const { suspending } = running.states;
  const onDone = suspending.invoke.onDone.map((branch) =>
    branch.target === '#sandbox.SUSPENDING.watching'
      ? {
          ...branch,
          target: '#sandbox.SUSPENDED.idle',
          actions: [
            'acceptCall',
            'openWindow',
            { type: 'settle', params: { commands: ['SUSPEND', 'RESUME'], as: 'success' } },
          ],
        }
      : branch,
  );
  const states = {
    ...config.states,
    RUNNING: {
      ...running,
      states: { ...running.states, suspending: { ...suspending, invoke: { ...suspending.invoke, onDone } } },
    },
  };
  return sandboxSetup.createMachine({ ...config, states } as never) as unknown as SandboxMachine;
}

/** Faults to seed, one at a time. */
export const seededFaults: readonly Mutant[] = [
  {
    id: 'payload-again-on-resume',
    says: 'A resume delivers the payload again.',
    machine: () =>
      sandboxMachine.provide({
        actions: {
          acceptCall: assign(({ context, event }) => ({
            acceptedAt: timeOf(context, event),
            delivering: context.delivering || context.call?.kind === 'resume',
          })),
        },
      }),
  },
  {
    id: 'proxy-token-kept',
    says: 'The proxy token of before is kept over a resume.',
    machine: () => sandboxMachine.provide({ actions: { dropProxyToken: () => {} } }),
  },
  {
    id: 'stale-outcome-accepted',
    says: 'The outcome of an operation that is over counts as the one under way.',
    machine: () => sandboxMachine.provide({ guards: { stale: () => false } }),
  },
  {
    id: 'journal-forgotten',
    says: 'The intent is not written before the call.',
    composed: { forgetJournal: true },
  },
  {
    id: 'fresh-token-per-try',
    says: 'Every try of a launch has a client token of its own.',
    machine: () =>
      sandboxMachine.provide({
        actions: {
          callLaunchAgain: assign(({ context, event }) => {
            const again = callLaunchAgain(context, event);
            if (!again.launch || !again.call) return again;
            const clientToken = `${again.launch.clientToken}-again`;
            return { ...again, launch: { ...again.launch, clientToken }, call: { ...again.call, clientToken } };
          }),
        },
      }),
  },
  {
    id: 'bootstrap-from-launches',
    says: 'A bootstrap is counted wherever a launched VM comes to run, so a resume counts as one.',
    machine: () =>
      sandboxMachine.provide({
        actions: {
          install: assign(({ context }) => ({
            delivering: false,
            tokenInstalled: true,
            bootstrapCount: context.bootstrapCount + (context.launch === null ? 0 : 1),
          })),
        },
      }),
  },
  {
    id: 'suspend-without-waiting',
    says: 'A suspend counts as complete as soon as it is accepted.',
    machine: suspendWithoutWaiting,
  },
  {
    id: 'terminate-forgotten-while-launching',
    says: 'A terminate that comes while the launch is out is not remembered.',
    machine: () => sandboxMachine.provide({ actions: { latchTerminate: () => {} } }),
  },
];

/** Everything that the checker has to find. */
export const mutants: readonly Mutant[] = [
  ...guardNames.map((guard) => ({
    id: guard,
    says: `The guard ${guard} is switched off.`,
    machine: () => withoutGuard(guard),
  })),
  ...seededFaults,
];

/**
 * The lifecycle machine of a mutant, for a pasted test.
 *
 * @throws ModelError where no mutant has that id, or its fault is not in the machine
 */
export function mutantMachine(id: string): SandboxMachine {
  const machine = mutants.find((mutant) => mutant.id === id)?.machine;
  if (machine === undefined) throw new ModelError('unknown-name', `no mutant '${id}' of the lifecycle machine`);
  return machine();
}
