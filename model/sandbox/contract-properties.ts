/** What the lifecycle machine promises beyond the spec: answers, endings, calls, late outcomes. */
import { substateOf, type SandboxSnapshot } from '../../machines/index.ts';
import type { SandboxProperty } from './client-properties.ts';
import { callKinds } from './events.ts';
import { answersOf, commandOf, currentOutcome, isIn, settlementsOf, startedCall, stateOf, wholeOf } from './steps.ts';
import { restartLabel, type SandboxStep } from './system.ts';

function changesNothing({ before, after, effects }: SandboxStep): boolean {
  return effects.started.length + effects.stopped.length === 0 && wholeOf(before) === wholeOf(after);
}

/** Ids of the commands that wait, sorted. */
function waiting({ context }: SandboxSnapshot): readonly string[] {
  return context.waiting.map(({ commandId }) => commandId).sort();
}

/** How many actors run; the machine says so by tag, and XState by its children. */
function actors(snapshot: SandboxSnapshot): number {
  return callKinds.filter((kind) => snapshot.children[kind] !== undefined).length;
}

/** Properties of single steps and states that no requirement words, but that callers build on. */
export const contractProperties: readonly SandboxProperty[] = [
  {
    id: 'one-answer',
    requirement: null,
    says: 'Every command is answered at once and exactly once, in every state, under its own id.',
    kind: 'step',
    premise: (step) => commandOf(step) !== null,
    check: (step) => {
      const [answer, ...more] = answersOf(step);
      const command = commandOf(step);
      return more.length === 0 && answer?.commandId === command?.commandId && answer?.command === command?.type;
    },
  },
  {
    id: 'refusal-changes-nothing',
    requirement: null,
    says: 'A refusal or a no-op makes no call, stops none, and changes nothing.',
    kind: 'step',
    premise: (step) => answersOf(step).some(({ verdict }) => verdict === 'refused' || verdict === 'no-op'),
    check: changesNothing,
  },
  {
    id: 'refusal-has-a-reason',
    requirement: null,
    says: 'A refusal carries its error, Precondition without a VM and WindowClosed for STATE-12; no other answer carries one.',
    kind: 'step',
    premise: (step) => answersOf(step).length > 0,
    check: (step) =>
      answersOf(step).every(({ verdict, refusal }) => {
        if (verdict !== 'refused' || refusal === null) return verdict !== 'refused' && refusal === null;
        if (refusal.requirement === null) return refusal.kind === 'Precondition' || refusal.reason === 'untimed-event';
        return refusal.kind === (refusal.requirement === 'STATE-12' ? 'WindowClosed' : 'InvalidArg');
      }),
  },
  {
    id: 'endings-balance',
    requirement: null,
    says: 'A command that was accepted, joined or deferred waits until it is settled, exactly once; no other is settled.',
    kind: 'step',
    premise: (step) =>
      step.action.label !== restartLabel && (answersOf(step).length > 0 || settlementsOf(step).length > 0),
    check: (step) => {
      const taken = answersOf(step)
        .filter(({ verdict }) => verdict === 'accepted' || verdict === 'joined' || verdict === 'deferred')
        .map(({ commandId }) => commandId);
      const ended = settlementsOf(step).map(({ commandId }) => commandId);
      const open = [...waiting(step.before), ...taken];
      const expected = open.filter((id) => !ended.includes(id)).sort();
      return (
        ended.every((id) => open.includes(id)) &&
        new Set(ended).size === ended.length &&
        expected.join() === waiting(step.after).join()
      );
    },
  },
  {
    id: 'nobody-waits-for-nothing',
    requirement: null,
    says: 'Where no call is under way no command waits, is deferred or is latched.',
    kind: 'always',
    premise: ({ context }) => context.call === null,
    check: ({ context }) => context.waiting.length === 0 && context.deferred === null && context.latched === null,
  },
  {
    id: 'call-is-the-actor',
    requirement: null,
    says: 'A call is on record exactly where an actor carries it out, and there is never more than one.',
    kind: 'always',
    check: (snapshot) => {
      const { call } = snapshot.context;
      return (
        actors(snapshot) === (call === null ? 0 : 1) && (call === null || snapshot.children[call.kind] !== undefined)
      );
    },
  },
  {
    id: 'state-is-told',
    requirement: null,
    says: 'The state in context, which messages and journals quote, is the state of the chart.',
    kind: 'always',
    check: (snapshot) => snapshot.context.lifecycle === stateOf(snapshot),
  },
  {
    id: 'late-outcome-is-ignored',
    requirement: 'STATE-11',
    says: 'The outcome of an operation that is over changes nothing and starts nothing.',
    kind: 'step',
    premise: ({ action }) => action.label.startsWith('late: '),
    check: changesNothing,
  },
  {
    id: 'stale-report-is-ignored',
    requirement: null,
    says: 'A report that was asked for before our last accepted call changes nothing.',
    kind: 'step',
    premise: ({ action }) => action.label.endsWith('asked before our last accepted call'),
    check: changesNothing,
  },
  {
    id: 'end-is-forever',
    requirement: 'STATE-11',
    says: 'What is on record as terminated stays so, and terminated stays terminated.',
    kind: 'step',
    premise: ({ before }) => before.context.wasTerminated,
    check: ({ before, after }) =>
      after.context.wasTerminated && (stateOf(before) !== 'TERMINATED' || stateOf(after) === 'TERMINATED'),
  },
  {
    id: 'terminate-on-record-first',
    requirement: 'STATE-9',
    says: 'A terminate is on record before its call begins.',
    kind: 'step',
    premise: (step) => startedCall(step, 'terminate') !== null,
    check: ({ after }) => after.context.wasTerminated && stateOf(after) === 'TERMINATING',
  },
  {
    id: 'launch-is-seen-through',
    requirement: null,
    says: 'A launch under way is never abandoned: only its own outcome (or the end of the process) ends it.',
    kind: 'step',
    premise: ({ before, action }) => substateOf(before) === 'PENDING.launching' && action.label !== restartLabel,
    check: (step) =>
      isIn(step.after, 'PENDING.launching') ||
      currentOutcome(step, 'launch') !== null ||
      step.action.event.type === ('xstate.error.actor.launch' as string),
  },
  {
    id: 'launch-is-not-forgotten',
    requirement: null,
    says: 'An intent is forgotten only when its launch surely made nothing; a lost answer keeps it.',
    kind: 'step',
    premise: ({ before }) => before.context.launch !== null,
    check: (step) =>
      step.after.context.launch !== null ||
      (step.before.context.microvmId === null && currentOutcome(step, 'launch')?.definite === true),
  },
  {
    id: 'one-revival',
    requirement: 'STATE-12',
    says: 'A caller-kept launch makes one resume of its own, not more.',
    kind: 'step',
    premise: (step) => startedCall(step, 'resume') !== null && stateOf(step.after) === 'PENDING',
    check: ({ before, after }) => !before.context.revived && after.context.revived,
  },
  {
    id: 'untimed-is-refused',
    requirement: null,
    says: 'A command without a time is refused wherever it comes.',
    kind: 'step',
    premise: ({ action }) => action.label.endsWith(' without a time'),
    check: (step) => answersOf(step).every(({ refusal }) => refusal?.reason === 'untimed-event'),
  },
  {
    id: 'terminate-interrupts',
    requirement: 'STATE-9',
    says: 'A terminate that goes out ends every other command: Interrupted, or refused by STATE-11 where it had not begun.',
    kind: 'step',
    premise: (step) => startedCall(step, 'terminate') !== null && step.before.context.waiting.length > 0,
    check: (step) =>
      step.after.context.waiting.every(({ command }) => command === 'TERMINATE') &&
      settlementsOf(step).every(({ error }) => error?.kind === 'Interrupted' || error?.requirement === 'STATE-11'),
  },
];
