/** Level 3: a command starts once, its result is published once, its output leaves once, on the acknowledgement. */
import { initialTransition } from 'xstate';
import {
  execMachine,
  execPhase,
  type ExecEffect,
  type ExecEvent,
  type ExecSnapshot,
  type ExecTerms,
} from '../../machines/index.ts';
import { machineSystem, statePath, type MachineEffects } from '../machine-system.ts';
import type { Property } from '../property.ts';
import type { Action, Step, TransitionSystem } from '../transition-system.ts';

type ExecStep = Step<ExecSnapshot, ExecEvent, MachineEffects>;

const graceMs = 10;

/** With and without a time limit, with and without reaping the group. */
const terms: readonly ExecTerms[] = [null, graceMs].flatMap((timeoutMs) =>
  [false, true].map((reapGroupOnExit) => ({ timeoutMs, reapGroupOnExit, lingerMs: graceMs, retentionMs: graceMs })),
);

/** A reading after all that the record remembers, and one at which everything that is due is due. */
function readings({ context }: ExecSnapshot): { now: number; due: number } {
  const times = [context.startedAt, context.exitedAt, context.ackedAt];
  const now = Math.max(0, ...times.map((at) => at ?? 0)) + 1;
  const deadlines = [
    context.deadlineAt,
    context.lingerUntil,
    context.ackedAt === null ? null : context.ackedAt + context.terms.retentionMs + 1,
  ];
  return { now, due: Math.max(now, ...deadlines.map((at) => at ?? 0)) };
}

function execActions(snapshot: ExecSnapshot): Action<ExecEvent>[] {
  const { now, due } = readings(snapshot);
  return [
    ...(['START', 'POLL', 'ACK', 'KILL'] as const).map((type) => ({
      by: 'client',
      label: type,
      event: { type, at: now },
    })),
    { by: 'host', label: 'the spawn fails', event: { type: 'SPAWN.FAILED', at: now } },
    { by: 'child', label: 'exits with 0', event: { type: 'CHILD.EXITED', exitCode: 0, signal: null, at: now } },
    { by: 'child', label: 'is ended by a signal', event: { type: 'CHILD.EXITED', exitCode: null, signal: 9, at: now } },
    { by: 'child', label: 'closes its pipes', event: { type: 'PIPES.CLOSED', at: now } },
    { by: 'host', label: 'has ended the group', event: { type: 'ESCALATION.ENDED', at: now } },
    { by: 'clock', label: 'ticks too early', event: { type: 'TICK', at: now } },
    { by: 'clock', label: 'ticks when all is due', event: { type: 'TICK', at: due } },
  ];
}

/** One exec record under each kind of terms, with every request, report and tick. */
export function execSystem(machine = execMachine): TransitionSystem<ExecSnapshot, ExecEvent, MachineEffects> {
  return machineSystem(machine, {
    inputs: [],
    snapshots: terms.map((input) => initialTransition(machine, input)[0]),
    events: execActions,
    project: ({ value, context }) => ({
      state: statePath(value),
      timeLimit: context.terms.timeoutMs !== null,
      reaps: context.terms.reapGroupOnExit,
      spawns: Math.min(context.spawns, 2),
      releases: Math.min(context.releases, 2),
      deadline: context.deadlineAt !== null,
      lingers: context.lingerUntil !== null,
      childExit: context.childExit === null ? 'none' : `${context.childExit.exitCode}/${context.childExit.signal}`,
      pipesOpen: context.pipesOpen,
      timedOut: context.timedOut,
      writers: context.writersMayBeAlive,
    }),
    describeEmitted: (event) => {
      const { type, outcome } = event as unknown as { type: string; outcome?: string };
      return outcome === undefined ? type : `${type}: ${outcome}`;
    },
  });
}

function effects(step: ExecStep, type: ExecEffect['type']): readonly ExecEffect[] {
  return (step.effects.emitted as readonly ExecEffect[]).filter((effect) => effect.type === type);
}

const answerTo: Readonly<Record<string, ExecEffect['type']>> = {
  START: 'START.ANSWERED',
  POLL: 'POLL.ANSWERED',
  ACK: 'ACK.ANSWERED',
  KILL: 'KILL.ANSWERED',
};

function outcome(step: ExecStep, type: ExecEffect['type']): string | null {
  return (effects(step, type)[0] as { outcome?: string } | undefined)?.outcome ?? null;
}

function unchanged({ before, after }: ExecStep): boolean {
  return JSON.stringify([before.value, before.context]) === JSON.stringify([after.value, after.context]);
}

/** Idempotent start, one result, output only on the acknowledgement (`agentd-protocol.md` 7 and 8). */
export const execProperties: readonly Property<ExecSnapshot, ExecEvent, MachineEffects>[] = [
  {
    id: 'exec-spawns-once',
    requirement: null,
    says: 'However often a command is asked for under one id, one child is made.',
    kind: 'always',
    premise: (snapshot) => execPhase(snapshot) !== null,
    check: ({ context }) => context.spawns === 1,
  },
  {
    id: 'exec-start-idempotent',
    requirement: null,
    says: 'A start of an id that is known spawns nothing and changes nothing.',
    kind: 'step',
    premise: ({ before, action }) => action.event.type === 'START' && execPhase(before) !== null,
    check: (step) => outcome(step, 'START.ANSWERED') === 'known' && unchanged(step),
  },
  {
    id: 'exec-answers-once',
    requirement: null,
    says: 'Every request gets one answer of its own kind, in every phase.',
    kind: 'step',
    premise: ({ action }) => answerTo[action.event.type] !== undefined,
    check: (step) =>
      Object.entries(answerTo).every(
        ([type, answer]) => effects(step, answer).length === (type === step.action.event.type ? 1 : 0),
      ),
  },
  {
    id: 'exec-poll-only-reads',
    requirement: null,
    says: 'A poll shows the phase and changes nothing.',
    kind: 'step',
    premise: ({ action }) => action.event.type === 'POLL',
    check: (step) => outcome(step, 'POLL.ANSWERED') === (execPhase(step.before) ?? 'unknown') && unchanged(step),
  },
  {
    id: 'exec-release-needs-ack',
    requirement: null,
    says: 'Output is released by an acknowledgement of a finished command, and by nothing else.',
    kind: 'step',
    premise: ({ before, after }) => after.context.releases !== before.context.releases && execPhase(after) !== null,
    check: (step) =>
      step.action.event.type === 'ACK' &&
      execPhase(step.before) === 'exited' &&
      outcome(step, 'ACK.ANSWERED') === 'released',
  },
  {
    id: 'exec-releases-once',
    requirement: null,
    says: 'Output is released at most once, and never while the command runs or waits to be acknowledged.',
    kind: 'always',
    check: (snapshot) => snapshot.context.releases === (execPhase(snapshot) === 'acked' ? 1 : 0),
  },
  {
    id: 'exec-early-ack-refused',
    requirement: null,
    says: 'An acknowledgement that comes too early or once more is refused and changes nothing.',
    kind: 'step',
    premise: ({ before, action }) => action.event.type === 'ACK' && execPhase(before) !== 'exited',
    check: (step) => outcome(step, 'ACK.ANSWERED') !== 'released' && unchanged(step),
  },
  {
    id: 'exec-publishes-once',
    requirement: null,
    says: 'The result is published exactly when the command is finished.',
    kind: 'step',
    premise: (step) =>
      effects(step, 'PUBLISH').length > 0 ||
      (execPhase(step.before) === 'running' && execPhase(step.after) === 'exited'),
    check: (step) =>
      effects(step, 'PUBLISH').length === 1 &&
      execPhase(step.before) === 'running' &&
      execPhase(step.after) === 'exited',
  },
  {
    id: 'exec-result-is-complete',
    requirement: null,
    says: 'A result is ready only when the child is gone, and its pipes are closed or said to be held by others.',
    kind: 'always',
    premise: (snapshot) => execPhase(snapshot) === 'exited',
    check: ({ context }) => context.childExit !== null && (!context.pipesOpen || context.writersMayBeAlive),
  },
  {
    id: 'exec-times-out',
    requirement: null,
    says: 'A command may run into its time limit and still end with a result.',
    kind: 'sometimes',
    check: (snapshot) => execPhase(snapshot) === 'exited' && snapshot.context.timedOut,
  },
  {
    id: 'exec-collected',
    requirement: null,
    says: 'An acknowledged record is collected in the end.',
    kind: 'sometimes',
    check: (snapshot, step) => step !== null && execPhase(snapshot) === null && effects(step, 'COLLECT').length === 1,
  },
];
