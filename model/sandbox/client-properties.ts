/**
 * The properties of the client that were checked on an abstract model of it (`client-behaviour.md` 5.3), here on the
 * machine itself and in the same order.
 */
import type { SandboxEvent, SandboxSnapshot } from '../../machines/index.ts';
import type { MachineEffects } from '../machine-system.ts';
import type { Property } from '../property.ts';
import { answersOf, currentOutcome, isIn, seen, startedCall, stateOf } from './steps.ts';

/** A property of the lifecycle machine. */
export type SandboxProperty = Property<SandboxSnapshot, SandboxEvent, MachineEffects>;

/** The eighteen properties that always hold. */
export const clientProperties: readonly SandboxProperty[] = [
  {
    id: 'launch-records-image',
    requirement: 'STATE-1',
    says: 'An accepted launch leaves the VM pending with its image on record, or terminating when a TERMINATE waited for it.',
    kind: 'step',
    premise: (step) => currentOutcome(step, 'launch')?.error === null,
    check: ({ before, after }) =>
      after.context.imageExists && stateOf(after) === (before.context.latched === null ? 'PENDING' : 'TERMINATING'),
  },
  {
    id: 'running-installs-token',
    requirement: 'STATE-2',
    says: 'The first sight of RUNNING after a launch leaves the VM running, its token installed and counted once.',
    kind: 'step',
    premise: (step) =>
      isIn(step.before, 'PENDING.awaitingRunning', 'PENDING.reviving', 'PENDING.held') &&
      seen(step) === 'RUNNING' &&
      // A resume that says RUNNING is an accepted call, not a report: the wait after it decides.
      currentOutcome(step, 'resume') === null,
    check: ({ before, after }) =>
      stateOf(after) === 'RUNNING' &&
      after.context.tokenInstalled &&
      after.context.bootstrapCount === before.context.bootstrapCount + 1,
  },
  {
    id: 'suspend-accepted',
    requirement: 'STATE-4',
    says: 'An accepted suspend leaves the VM suspending.',
    kind: 'step',
    premise: (step) => currentOutcome(step, 'suspend')?.error === null,
    check: ({ after }) => stateOf(after) === 'SUSPENDING',
  },
  {
    id: 'suspension-reported',
    requirement: 'STATE-6',
    says: 'A suspending VM that is seen suspended is suspended.',
    kind: 'step',
    premise: (step) => stateOf(step.before) === 'SUSPENDING' && seen(step) === 'SUSPENDED',
    check: ({ after }) => stateOf(after) === 'SUSPENDED',
  },
  {
    id: 'resume-completes',
    requirement: 'STATE-7',
    says: 'A resume that is seen to be complete leaves the VM running.',
    kind: 'step',
    premise: (step) => stateOf(step.before) === 'SUSPENDED' && stateInWait(step) === 'RUNNING',
    check: ({ after }) => stateOf(after) === 'RUNNING',
  },
  {
    id: 'terminate-recorded',
    requirement: 'STATE-9',
    says: 'An accepted terminate leaves the VM terminating, and on record as terminated.',
    kind: 'step',
    premise: (step) =>
      answersOf(step).some(({ command, verdict }) => command === 'TERMINATE' && verdict === 'accepted'),
    check: ({ after }) => stateOf(after) === 'TERMINATING' && after.context.wasTerminated,
  },
  {
    id: 'termination-reported',
    requirement: 'STATE-10',
    says: 'A terminating VM that is seen terminated is terminated.',
    kind: 'step',
    premise: (step) => stateOf(step.before) === 'TERMINATING' && seen(step) === 'TERMINATED',
    check: ({ after }) => stateOf(after) === 'TERMINATED',
  },
  {
    id: 'one-bootstrap',
    requirement: 'STATE-3',
    says: 'The token is installed at most once in the life of a VM.',
    kind: 'always',
    premise: ({ context }) => context.bootstrapCount > 0,
    check: ({ context }) => context.bootstrapCount <= 1,
  },
  {
    id: 'suspend-only-running',
    requirement: 'STATE-5',
    says: 'No suspend call begins outside of RUNNING.',
    kind: 'step',
    premise: (step) => startedCall(step, 'suspend') !== null,
    check: ({ before }) => stateOf(before) === 'RUNNING',
  },
  {
    id: 'terminated-never-runs',
    requirement: 'STATE-11',
    says: 'What was terminated never runs again.',
    kind: 'always',
    premise: ({ context }) => context.wasTerminated,
    check: (snapshot) => stateOf(snapshot) !== 'RUNNING',
  },
  {
    id: 'image-iff-launched',
    requirement: 'STATE-1',
    says: 'An image is on record exactly when a launch was accepted, and a token implies an image.',
    kind: 'always',
    check: ({ context }) =>
      context.imageExists === (context.microvmId !== null) && (!context.tokenInstalled || context.imageExists),
  },
  {
    id: 'no-resume-after-end',
    requirement: 'STATE-11',
    says: 'No resume call begins after a terminate or an observed end.',
    kind: 'step',
    premise: (step) => startedCall(step, 'resume') !== null,
    check: ({ before, after }) => !before.context.wasTerminated && !after.context.wasTerminated,
  },
  {
    id: 'no-resume-past-window',
    requirement: 'STATE-12',
    says: "No resume call begins when its time minus the suspension's own stamp exceeds the window of the launch.",
    kind: 'step',
    premise: ({ after, effects }) =>
      effects.started.some(({ src }) => src === 'resume') && stateOf(after) === 'SUSPENDED',
    check: ({ after }) => {
      const { call, suspendedAt, suspendedWindowMs, microvm } = after.context;
      const windowMs = suspendedWindowMs ?? (microvm?.idlePolicy ? microvm.idlePolicy.suspendedSec * 1000 : null);
      return call === null || suspendedAt === null || windowMs === null || call.at - suspendedAt <= windowMs;
    },
  },
  {
    id: 'payload-only-with-launch',
    requirement: 'STATE-7',
    says: 'A payload goes out only with the one launch intent of the handle: same token each time, and never once the VM is known.',
    kind: 'step',
    premise: (step) => startedCall(step, 'launch') !== null,
    check: (step) => {
      const { before } = step;
      const sent = startedCall(step, 'launch');
      const intent = before.context.launch;
      const same =
        intent === null || (intent.clientToken === sent?.call.clientToken && intent.request === sent.launch?.request);
      return same && before.context.microvmId === null && sent?.launch?.clientToken === sent?.call.clientToken;
    },
  },
  {
    id: 'token-never-replaced',
    requirement: 'STATE-7',
    says: 'An installed token stays as it is: not taken back, not counted again, not replaced by another.',
    kind: 'step',
    premise: ({ before }) => before.context.tokenInstalled,
    check: ({ before: { context: was }, after: { context: is } }) =>
      is.tokenInstalled &&
      is.bootstrapCount === was.bootstrapCount &&
      is.launch?.request.agentTokenRef === was.launch?.request.agentTokenRef,
  },
  {
    id: 'suspended-keeps-token',
    requirement: 'STATE-7',
    says: 'A VM that is suspending or suspended has its agent token.',
    kind: 'always',
    premise: (snapshot) => isIn(snapshot, 'SUSPENDING', 'SUSPENDED'),
    check: ({ context }) => context.tokenInstalled,
  },
  {
    id: 'resume-drops-proxy-token',
    requirement: 'STATE-8',
    says: 'Every arrow from SUSPENDED into RUNNING drops the proxy token.',
    kind: 'step',
    premise: ({ before, after }) => stateOf(before) === 'SUSPENDED' && stateOf(after) === 'RUNNING',
    check: ({ effects }) => effects.emitted.some(({ type }) => type === 'PROXY_TOKEN_DROPPED'),
  },
  {
    id: 'calls-accounted-for',
    requirement: null,
    says: 'Every call is numbered anew, on record before it begins, and about the one VM (a launch: about none yet).',
    kind: 'step',
    premise: ({ effects }) => effects.started.length > 0,
    check: (step) => {
      const { before, after, effects } = step;
      const { call } = after.context;
      const input = call === null ? null : startedCall(step, call.kind);
      return (
        effects.started.length === 1 &&
        input !== null &&
        input.call === call &&
        input.context.call === call &&
        input.call.op > before.context.op &&
        input.call.microvmId === (input.call.kind === 'launch' ? null : after.context.microvmId)
      );
    },
  },
];

/** The state that a wait or a read under way reports: the end of a resume is seen, never assumed. */
function stateInWait(step: Parameters<typeof seen>[0]): string | null {
  return currentOutcome(step, 'resume') === null && currentOutcome(step, 'awaitSuspended') === null ? seen(step) : null;
}
