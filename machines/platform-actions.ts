/** The named guards and actions of the platform machine. Pure: time comes with the event. */
import { assign, emit, setup } from 'xstate';
import { dueDeadline, idleDeadline, noDeadlines, windowDeadline } from './platform-deadlines.ts';
import { endedByCaller, endedByExit, endedByHook, endedByHookTimeout, endedByLifetime } from './platform-reasons.ts';
import type {
  CallAnswer,
  PlatformContext,
  PlatformDeadlines,
  PlatformDelays,
  PlatformEffect,
  PlatformEvent,
  PlatformInput,
  PlatformOptions,
  RuntimeHook,
} from './platform-types.ts';
import type { Cause } from './records.ts';

/** The names of the options that hold an answer. */
type AnswerOption = {
  [K in keyof PlatformOptions]: PlatformOptions[K] extends CallAnswer ? K : never;
}[keyof PlatformOptions];

const set = (context: PlatformContext, deadlines: Partial<PlatformDeadlines>): PlatformDeadlines => ({
  ...context.deadlines,
  ...deadlines,
});

function hookAnswered(event: PlatformEvent, hook: RuntimeHook, passed: boolean): boolean {
  return event.type === 'GUEST.HOOK_ANSWERED' && event.hook === hook && (event.status === 200) === passed;
}

/** Types, guards and actions of the machine, so that its chart holds names only. */
export const platformSetup = setup({
  types: {
    context: {} as PlatformContext,
    events: {} as PlatformEvent,
    emitted: {} as PlatformEffect,
    input: {} as PlatformInput,
  },
  guards: {
    lifetimeIsOver: ({ context, event }) => dueDeadline(context, event.at) === 'lifetime',
    windowIsOver: ({ context, event }) => dueDeadline(context, event.at) === 'window',
    idleForTooLong: ({ context, event }) => dueDeadline(context, event.at) === 'idle',
    /** With a window of 0 an idle VM is ended instead of suspended. */
    idleForTooLongWithoutWindow: ({ context, event }) =>
      dueDeadline(context, event.at) === 'idle' && context.terms.idlePolicy?.suspendedWindowMs === 0,
    stepIsOver: ({ context, event }) => dueDeadline(context, event.at) === 'step',
    stepIsOverAndRequestsWait: ({ context, event }) =>
      dueDeadline(context, event.at) === 'step' && context.requestsHeld,
    hookPassed: ({ event }, { hook }: { hook: RuntimeHook }) => hookAnswered(event, hook, true),
    hookFailed: ({ event }, { hook }: { hook: RuntimeHook }) => hookAnswered(event, hook, false),
    failedHookMaySuspendAgain: ({ context, event }, { hook }: { hook: RuntimeHook }) =>
      hookAnswered(event, hook, false) && context.terms.options.failedResume === 'suspend-again',
    lateHookMaySuspendAgain: ({ context, event }) =>
      dueDeadline(context, event.at) === 'step' && context.terms.options.failedResume === 'suspend-again',
    autoResumes: ({ context }) => context.terms.idlePolicy?.autoResume === true,
    autoResumesEvenForBadTokens: ({ context }) =>
      context.terms.idlePolicy?.autoResume === true && context.terms.options.badTokenWakes,
    holdsTrafficWhileSuspending: ({ context }) =>
      context.terms.idlePolicy?.autoResume === true && context.terms.options.holdTrafficWhileSuspending,
    leaksTrafficBeforeRun: ({ context }) => context.terms.options.leakTrafficBeforeRun,
    badTokenCounts: ({ context }) => context.terms.options.badTokenWakes,
  },
  actions: {
    answer: emit(({ context }, params: { as: AnswerOption | 'ok' }) => ({
      type: 'ANSWER' as const,
      answer: params.as === 'ok' ? ('ok' as const) : context.terms.options[params.as],
    })),
    forwardRequest: emit({ type: 'ADMIT', verdict: 'forward' }),
    refuseRequest: emit({ type: 'ADMIT', verdict: 'refuse' }),
    holdRequest: emit({ type: 'ADMIT', verdict: 'hold' }),
    forwardHeldRequests: emit({ type: 'RELEASE', verdict: 'forward' }),
    refuseHeldRequests: emit({ type: 'RELEASE', verdict: 'refuse' }),
    breakConnections: emit({ type: 'BREAK_CONNECTIONS' }),
    callHook: emit((_, params: { hook: RuntimeHook }) => ({ type: 'CALL_HOOK' as const, hook: params.hook })),
    freezeGuest: emit({ type: 'FREEZE' }),
    thawGuest: emit({ type: 'THAW' }),
    destroyGuest: emit({ type: 'DESTROY' }),

    rememberHeldRequests: assign({ requestsHeld: true }),
    forgetHeldRequests: assign({ requestsHeld: false }),
    countConnections: assign({
      openConnections: ({ context, event }) =>
        event.type === 'TRAFFIC.CONNECTIONS' ? event.open : context.openConnections,
    }),
    forgetConnections: assign({ openConnections: 0 }),

    startIdleTimer: assign({
      deadlines: ({ context, event }) => set(context, { idle: idleDeadline(context, event.at) }),
    }),
    stopIdleTimer: assign({ deadlines: ({ context }) => set(context, { idle: null }) }),
    openWindow: assign({
      deadlines: ({ context, event }) => set(context, { window: windowDeadline(context, event.at) }),
    }),
    closeWindow: assign({ deadlines: ({ context }) => set(context, { window: null }) }),
    startStep: assign({
      deadlines: ({ context, event }, params: { lasting: keyof PlatformDelays }) =>
        set(context, { step: event.at + context.terms.delays[params.lasting] }),
    }),
    limitHook: assign({
      deadlines: ({ context, event }, params: { hook: RuntimeHook }) =>
        set(context, { step: event.at + context.terms.hookTimeoutMs[params.hook] }),
    }),
    endStep: assign({ deadlines: ({ context }) => set(context, { step: null }) }),
    stopAllTimers: assign({ deadlines: noDeadlines }),

    because: assign({ cause: (_, params: { cause: Cause }) => params.cause }),
    suspendedByCaller: assign({ explicitSuspend: true, cause: 'user' }),
    suspendedByIdlePolicy: assign({ explicitSuspend: false, cause: 'platform' }),
    endedByCaller: assign({ cause: 'user', stateReason: endedByCaller }),
    endedByLifetime: assign({ cause: 'lifetime', stateReason: endedByLifetime }),
    endedByWindow: assign({ cause: 'window', stateReason: endedByLifetime }),
    rememberExitCode: assign({
      exitCode: ({ context, event }) => (event.type === 'GUEST.EXITED' ? event.exitCode : context.exitCode),
    }),
    endedByExit: assign({ cause: 'platform', stateReason: ({ context }) => endedByExit(context.exitCode) }),
    endedByHook: assign({
      cause: 'hook',
      stateReason: ({ event }, params: { hook: RuntimeHook }) =>
        endedByHook(params.hook, event.type === 'GUEST.HOOK_ANSWERED' ? event.status : null),
    }),
    endedByHookTimeout: assign({
      cause: 'hook',
      stateReason: (_, params: { hook: RuntimeHook }) => endedByHookTimeout(params.hook),
    }),
    endedByLoss: assign({
      cause: 'platform',
      stateReason: ({ context, event }) => (event.type === 'GUEST.LOST' ? event.reason : context.stateReason),
    }),
  },
});
