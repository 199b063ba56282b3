/**
 * Keeping a VM awake by asking for its health (`client-behaviour.md` 4.14).
 *
 * The platform counts only requests that cross its endpoint proxy: a VM that works hard inside is suspended all
 * the same. Time is data here: each outcome carries `at`, and the machine says how long to sleep.
 */
import { assign, fromPromise, setup } from 'xstate';
import type { ErrorRecord } from './records.ts';

/** When to poll, and when to end. */
export interface KeepAwakePolicy {
  readonly intervalMs: number;
  /** End once the daemon says that nothing runs any more. */
  readonly whileBusy: boolean;
  /** End after this time; `null` for no limit. */
  readonly maxDurationMs: number | null;
  /** How many retryable failures in a row are waited through. */
  readonly toleratedErrors: number;
}

/** Why it ended. */
export type KeepAwakeEnd = 'stopped' | 'idle' | 'elapsed' | 'not-running';

/** What the machine remembers. */
export interface KeepAwakeContext {
  readonly policy: KeepAwakePolicy;
  readonly startedAt: number;
  /** Polls that were answered. */
  readonly polls: number;
  /** Failures in a row. */
  readonly failures: number;
  readonly lastBusy: boolean | null;
  /** How long to sleep before the next poll, in milliseconds. */
  readonly sleepMs: number;
  readonly endedAt: number | null;
  readonly error: ErrorRecord | null;
}

/** How a poll ended. It never rejects. `running: false` means that nothing was asked, since the VM does not run. */
export type PollOutcome =
  | { readonly at: number; readonly ok: true; readonly running: true; readonly busy: boolean }
  | { readonly at: number; readonly ok: true; readonly running: false }
  | { readonly at: number; readonly ok: false; readonly error: ErrorRecord };

/** Every event carries `at`, a monotonic reading in milliseconds. */
export type KeepAwakeEvent = { readonly type: 'STOP'; readonly at: number };

/** A failed poll is tried again after this time, in milliseconds. */
export const failedPollRetryMs = 1_000;

function outcomeOf(event: unknown): PollOutcome {
  return (event as { output: PollOutcome }).output;
}

function atOf(event: unknown): number {
  const { at, output } = event as { at?: number; output?: { at: number } };
  return at ?? output?.at ?? 0;
}

/** A sleep never goes beyond the longest duration. */
function clipped(context: KeepAwakeContext, at: number, sleepMs: number): number {
  const { maxDurationMs } = context.policy;
  return maxDurationMs === null ? sleepMs : Math.max(0, Math.min(sleepMs, context.startedAt + maxDurationMs - at));
}

/** The machine. Give it `pollHealth` and `sleep`. */
export const keepAwakeMachine = setup({
  types: {} as {
    context: KeepAwakeContext;
    events: KeepAwakeEvent;
    input: { policy: KeepAwakePolicy; startedAt: number };
  },
  actors: {
    pollHealth: fromPromise<PollOutcome>(() => new Promise<PollOutcome>(() => undefined)),
    sleep: fromPromise<{ readonly at: number }, { readonly ms: number }>(() => new Promise(() => undefined)),
  },
  guards: {
    notRunning: ({ event }) => {
      const outcome = outcomeOf(event);
      return outcome.ok && !outcome.running;
    },
    idleAtLast: ({ context, event }) => {
      const outcome = outcomeOf(event);
      return context.policy.whileBusy && outcome.ok && outcome.running && !outcome.busy;
    },
    answered: ({ event }) => outcomeOf(event).ok,
    tolerable: ({ context, event }) => {
      const outcome = outcomeOf(event);
      return !outcome.ok && outcome.error.retryable && context.failures < context.policy.toleratedErrors;
    },
    elapsed: ({ context, event }) =>
      context.policy.maxDurationMs !== null && atOf(event) - context.startedAt >= context.policy.maxDurationMs,
  },
  actions: {
    countPoll: assign({
      polls: ({ context }) => context.polls + 1,
      failures: 0,
      lastBusy: ({ context, event }) => {
        const outcome = outcomeOf(event);
        return outcome.ok && outcome.running ? outcome.busy : context.lastBusy;
      },
      sleepMs: ({ context, event }) => clipped(context, atOf(event), context.policy.intervalMs),
    }),
    countFailure: assign({
      failures: ({ context }) => context.failures + 1,
      sleepMs: ({ context, event }) => clipped(context, atOf(event), failedPollRetryMs),
    }),
    keepError: assign({
      error: ({ context, event }) => {
        const outcome = outcomeOf(event);
        return outcome.ok ? context.error : outcome.error;
      },
    }),
    noteEnd: assign({ endedAt: ({ event }) => atOf(event) }),
  },
}).createMachine({
  id: 'keepAwake',
  description: 'Polls that keep a VM from being suspended for idleness.',
  context: ({ input }) => ({
    policy: input.policy,
    startedAt: input.startedAt,
    polls: 0,
    failures: 0,
    lastBusy: null,
    sleepMs: 0,
    endedAt: null,
    error: null,
  }),
  initial: 'Polling',
  states: {
    Polling: {
      description: 'One health request is under way, unless the VM does not run: then none is sent.',
      invoke: {
        id: 'poll',
        src: 'pollHealth',
        onDone: [
          { guard: 'notRunning', target: 'Done.NotRunning', actions: 'noteEnd' },
          { guard: 'idleAtLast', target: 'Done.Idle', actions: ['countPoll', 'noteEnd'] },
          { guard: 'answered', target: 'Sleeping', actions: 'countPoll' },
          { guard: 'tolerable', target: 'Sleeping', actions: 'countFailure' },
          { target: 'Done.Failed', actions: ['keepError', 'noteEnd'] },
        ],
      },
      on: { STOP: { target: 'Done.Stopped', actions: 'noteEnd' } },
    },
    Sleeping: {
      description: 'Until the next poll, or the longest duration.',
      invoke: {
        id: 'sleep',
        src: 'sleep',
        input: ({ context }) => ({ ms: context.sleepMs }),
        onDone: [{ guard: 'elapsed', target: 'Done.Elapsed', actions: 'noteEnd' }, { target: 'Polling' }],
      },
      on: { STOP: { target: 'Done.Stopped', actions: 'noteEnd' } },
    },
    Done: {
      description: 'Nothing is sent any more.',
      initial: 'Stopped',
      states: {
        Stopped: { description: 'Asked to stop.' },
        Idle: { description: 'Nothing runs in the VM any more.' },
        Elapsed: { description: 'The longest duration is over.' },
        NotRunning: { description: 'The VM does not run: a request could wake it.' },
        Failed: { description: 'Polls failed too often in a row, or for good; the context has the error.' },
      },
    },
  },
});
