/**
 * A machine of one's own around the lifecycle: who holds the VM. It has a bug, and the checker finds it:
 *
 *     vmchart check dist/examples/check-lease.js
 *
 * The lifecycle's config is plain data, so it embeds as a region; its guards, actions and actors come along by name.
 */
import { createMachine, raise, stateIn } from 'xstate';
import { contextFrom, sandboxMachine, type SandboxEvent, type SandboxSnapshot } from 'vmchart/machines';
import { defineCheck, projectSandbox, sandboxActions } from 'vmchart/model';

/** Somebody takes the VM, or gives it back. */
type LeaseEvent = { readonly type: 'LEASE' | 'RETURN'; readonly commandId: string; readonly at: number };

const waitMs = 300_000;

/** The VM beside its lease: a lease wakes the VM, giving it back puts it to sleep. */
export const leaseMachine = createMachine(
  {
    id: 'lease',
    type: 'parallel',
    types: {} as { events: LeaseEvent | SandboxEvent },
    context: contextFrom({ sandboxId: 'leased', region: 'us-east-1' }),
    states: {
      vm: sandboxMachine.config as never,
      holder: {
        initial: 'nobody',
        states: {
          nobody: {
            on: {
              LEASE: [
                { guard: stateIn('#sandbox.RUNNING'), target: 'somebody' },
                {
                  guard: stateIn('#sandbox.SUSPENDED'),
                  target: 'waking',
                  actions: raise(({ event: { commandId, at } }) => ({
                    type: 'RESUME',
                    commandId,
                    at,
                    timeoutMs: waitMs,
                  })),
                },
              ],
            },
          },
          waking: {
            always: [
              { guard: stateIn('#sandbox.RUNNING'), target: 'somebody' },
              { guard: stateIn('#sandbox.SUSPENDED.idle'), target: 'nobody' },
              { guard: stateIn('#sandbox.TERMINATING'), target: 'nobody' },
              { guard: stateIn('#sandbox.TERMINATED'), target: 'nobody' },
            ],
          },
          somebody: {
            // The bug: nobody tells the holder when the platform ends the VM.
            on: {
              RETURN: {
                target: 'nobody',
                actions: raise(({ event: { commandId, at } }) => ({
                  type: 'SUSPEND',
                  commandId,
                  at,
                  timeoutMs: waitMs,
                })),
              },
            },
          },
        },
      },
    },
  },
  sandboxMachine.implementations as never,
);

type LeaseSnapshot = ReturnType<typeof leaseMachine.resolveState>;

/** The lifecycle's part of a snapshot, as the lifecycle's own tools expect it. */
function vmOf(snapshot: LeaseSnapshot): SandboxSnapshot {
  return { ...snapshot, value: (snapshot.value as { vm: unknown }).vm } as unknown as SandboxSnapshot;
}

const isHeld = (snapshot: LeaseSnapshot): boolean => (snapshot.value as { holder: string }).holder === 'somebody';

export default defineCheck({
  name: 'lease',
  machine: leaseMachine,
  events: (snapshot) => [
    ...sandboxActions(vmOf(snapshot)),
    ...(['LEASE', 'RETURN'] as const).map((type) => ({
      by: 'customer',
      label: type,
      event: { type, commandId: 'lease-1', at: 1 },
    })),
  ],
  project: (snapshot) => ({
    ...projectSandbox(vmOf(snapshot)),
    held: isHeld(snapshot),
    holder: JSON.stringify(snapshot.value),
  }),
  properties: [
    {
      id: 'held-vm-lives',
      kind: 'always',
      requirement: null,
      says: 'Whoever holds the VM holds one that lives.',
      premise: isHeld,
      check: (snapshot) => !snapshot.context.wasTerminated,
    },
    {
      id: 'lease-wakes',
      kind: 'sometimes',
      requirement: null,
      says: 'A lease wakes a VM that sleeps.',
      check: (snapshot, step) =>
        step?.action.label === 'LEASE' && !isHeld(snapshot) && vmOf(snapshot).context.call?.kind === 'resume',
    },
  ],
});
