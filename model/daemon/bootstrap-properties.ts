/** Level 3: the daemon's bootstrap happens once. */
import type { SnapshotFrom } from 'xstate';
import { bootstrapMachine, type BootstrapAnswer, type BootstrapEvent } from '../../machines/index.ts';
import { machineSystem, statePath, type MachineEffects } from '../machine-system.ts';
import type { Property } from '../property.ts';
import type { Step, TransitionSystem } from '../transition-system.ts';

/** A snapshot of the bootstrap machine. */
export type BootstrapSnapshot = SnapshotFrom<typeof bootstrapMachine>;

type BootstrapStep = Step<BootstrapSnapshot, BootstrapEvent, MachineEffects>;

/** Who may call the run hook: the platform, twice over, and two processes that should not. */
const callers = ['the platform', 'an intruder', 'another intruder'];

/** The bootstrap machine with everybody racing for it. */
export function bootstrapSystem(
  machine = bootstrapMachine,
): TransitionSystem<BootstrapSnapshot, BootstrapEvent, MachineEffects> {
  return machineSystem(machine, {
    events: ({ context }) =>
      callers
        .map((tokenRef) => ({
          by: tokenRef,
          label: 'calls the run hook',
          event: { type: 'INSTALL' as const, tokenRef, at: (context.installedAt ?? 0) + 1 },
        }))
        .map((action) => ({ ...action, label: `${action.by} ${action.label}` })),
    project: ({ value, context }) => ({
      state: statePath(value),
      token: context.tokenRef,
      installations: Math.min(context.installations, 2),
    }),
    describeEmitted: (event) => {
      const { outcome, status } = event as unknown as BootstrapAnswer;
      return `answers ${outcome} (${status})`;
    },
  });
}

function answers({ effects }: BootstrapStep): readonly BootstrapAnswer[] {
  return effects.emitted as unknown as BootstrapAnswer[];
}

/** One-shot bootstrap (`agentd-protocol.md` 3.4). */
export const bootstrapProperties: readonly Property<BootstrapSnapshot, BootstrapEvent, MachineEffects>[] = [
  {
    id: 'bootstrap-once',
    requirement: 'STATE-3',
    says: 'Exactly one call ever installs something.',
    kind: 'always',
    premise: ({ context }) => context.tokenRef !== null,
    check: ({ context }) => context.installations === 1,
  },
  {
    id: 'bootstrap-token-stays',
    requirement: 'STATE-3',
    says: 'An installed token is never replaced and never taken back.',
    kind: 'step',
    premise: ({ before }) => before.context.tokenRef !== null,
    check: ({ before, after }) => JSON.stringify(before.context) === JSON.stringify(after.context),
  },
  {
    id: 'bootstrap-losers-refused',
    requirement: 'STATE-3',
    says: 'Of several tokens one wins: the same again is answered 200, any other 409.',
    kind: 'step',
    premise: ({ before }) => before.context.tokenRef !== null,
    check: (step) => {
      const same = step.action.event.tokenRef === step.before.context.tokenRef;
      return answers(step)[0]?.outcome === (same ? 'replayed' : 'refused');
    },
  },
  {
    id: 'bootstrap-answers-once',
    requirement: null,
    says: 'Each call of the run hook gets one answer, and only the winner hears that it installed.',
    kind: 'step',
    premise: () => true,
    check: (step) => {
      const installed = step.before.context.installations !== step.after.context.installations;
      return answers(step).length === 1 && (answers(step)[0]?.outcome === 'installed') === installed;
    },
  },
  {
    id: 'bootstrap-intruder-may-win',
    requirement: null,
    says: 'A process that comes first wins: the daemon cannot know better.',
    kind: 'sometimes',
    check: ({ context }) => context.tokenRef === 'an intruder',
  },
];
