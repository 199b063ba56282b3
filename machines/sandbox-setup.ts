/** The names of the lifecycle machine: its guards, actions and actors, each a line over the pure rules. */
import { assign, emit, enqueueActions, fromPromise, setup, stateIn } from 'xstate';
import type { CommandType, ErrorRecord, RequirementId, VmState } from './records.ts';
import type { Call, LaunchIntent, SandboxContext, SandboxInput } from './sandbox-context.ts';
import type { CallKind, Outcome, SandboxEmitted, SandboxEvent } from './sandbox-events.ts';
import { refusal } from './sandbox-refusals.ts';
import type { RefusalReason } from './sandbox-refusals.ts';
import * as rules from './sandbox-rules.ts';

/** What an invoked actor is given: the call to make, the launch intent behind it, and what a journal must hold. */
export interface EffectInput {
  readonly call: Call;
  readonly launch: LaunchIntent | null;
  /** The whole context: plain data without secrets, from which the journal's record is made. */
  readonly context: SandboxContext;
}

/** The one input function of the machine: every actor gets the current call. */
export const callInput = ({ context }: { context: SandboxContext }): EffectInput => {
  if (context.call === null) throw new Error('an actor was invoked without a call');
  return { call: context.call, launch: context.launch, context };
};

/** Stands where a host has provided no effect: it fails the call instead of hanging the machine. */
const unprovided = fromPromise<Outcome, EffectInput>(({ input }) =>
  Promise.resolve({
    op: input.call.op,
    at: input.call.at,
    askedAt: input.call.at,
    description: null,
    error: rules.machineError('Unexpected', `no actor is provided for \`${input.call.kind}\``, { reason: 'no-actor' }),
    definite: true,
    gone: false,
  }),
);

/** What a command ends with. */
export type Ending =
  'success' | 'error' | 'remembered' | 'died' | 'unresolved' | 'already-running' | 'STATE-11' | 'STATE-12';

/** The error of an ending, `null` for a success. */
function errorOf(ending: Ending, context: SandboxContext, event: rules.AnyEvent): ErrorRecord | null {
  switch (ending) {
    case 'success':
      return null;
    case 'remembered':
      return context.lastError ?? rules.errorIn(event);
    case 'died':
      return rules.died(context, event);
    case 'unresolved':
      return rules.unresolved(context);
    case 'already-running':
      return context.policy.whenAlreadyThere === 'succeed'
        ? null
        : refusal('STATE-7', { ...context, lifecycle: 'RUNNING' }, { ...event, type: 'RESUME' });
    case 'STATE-11':
    case 'STATE-12':
      return refusal(ending, context, { ...event, type: 'RESUME' });
    default:
      return rules.errorIn(event);
  }
}

/** The typed names that `sandbox.ts` builds with. */
export const sandboxSetup = setup({
  types: {
    context: {} as SandboxContext,
    events: {} as SandboxEvent,
    emitted: {} as SandboxEmitted,
    input: {} as SandboxInput,
    tags: {} as 'live' | 'billing' | 'reachable' | 'resumable' | 'terminal' | 'calling',
    meta: {} as { readonly requirements?: readonly (RequirementId | `ENV-${string}` | `EXT-${string}`)[] },
  },

  actors: {
    launch: unprovided,
    suspend: unprovided,
    resume: unprovided,
    terminate: unprovided,
    read: unprovided,
    awaitRunning: unprovided,
    awaitSuspended: unprovided,
    awaitResumed: unprovided,
    awaitTerminated: unprovided,
  },

  guards: {
    // The four guarded requirements. `true` always means "allowed".
    'STATE-3': ({ context }) => rules.mayLaunch(context),
    'STATE-5': stateIn('#sandbox.RUNNING'),
    'STATE-11': ({ context }) => !context.wasTerminated,
    'STATE-12': ({ context, event }) => rules.isWindowOpen(context, rules.timeOf(context, event)),

    // What the caller knows and wants.
    untimed: ({ event }) => rules.isUntimed(event),
    noVm: ({ context }) => context.microvmId === null && context.launch === null,
    sameIntent: ({ context, event }) => rules.isSameIntent(context, event),
    callerKept: ({ context }) => rules.isCallerKept(context),
    mayRevive: ({ context }) => rules.isCallerKept(context) && !context.revived,
    noWait: ({ context }) => context.launch?.wait === false,
    wantsWait: ({ event }) => event.type === 'TERMINATE' && event.timeoutMs !== null,
    alreadyThereSucceeds: ({ context }) => context.policy.whenAlreadyThere === 'succeed',

    // What waits to be carried out.
    latched: ({ context }) => context.latched !== null,
    deferred: ({ context }) => context.deferred !== null,
    firstTry: ({ context }) => context.call?.resent === 0,
    waitForEnd: ({ context }) => context.call !== null && context.call.timeoutMs !== null,

    // How a call ended, and what was seen.
    fresh: ({ context, event }) => rules.isFresh(context, event),
    stale: ({ context, event }) => rules.isStale(context, event),
    accepted: ({ event }) => rules.outcomeIn(event)?.error === null,
    definite: ({ event }) => rules.outcomeIn(event)?.definite === true,
    conflict: ({ event }) => rules.outcomeIn(event)?.error?.status === 409,
    notConflict: ({ event }) => rules.outcomeIn(event)?.error?.status !== 409,
    gone: ({ event }) => rules.outcomeIn(event)?.gone === true,
    sawAny: ({ event }) => rules.saw(event) !== null,
    sawPending: ({ event }) => rules.saw(event) === 'PENDING',
    sawRunning: ({ event }) => rules.saw(event) === 'RUNNING',
    sawSuspending: ({ event }) => rules.saw(event) === 'SUSPENDING',
    sawSuspended: ({ event }) => rules.saw(event) === 'SUSPENDED',
    sawTerminating: ({ event }) => rules.saw(event) === 'TERMINATING',
    sawTerminated: ({ event }) => rules.saw(event) === 'TERMINATED',
  },

  actions: {
    // Answers and ends of commands.
    answer: emit(({ event }, params: { verdict: 'accepted' | 'joined' | 'deferred' | 'no-op' }): SandboxEmitted => {
      const { commandId, type } = rules.commandIn(event);
      return { type: 'ANSWERED', commandId, command: type, verdict: params.verdict, refusal: null };
    }),
    refuse: emit(({ context, event }, params: { because: RefusalReason }): SandboxEmitted => {
      const { commandId, type } = rules.commandIn(event);
      const why = refusal(params.because, context, event);
      return { type: 'ANSWERED', commandId, command: type, verdict: 'refused', refusal: why };
    }),
    await: assign(({ context, event }) => {
      const { commandId, type } = rules.commandIn(event);
      return { waiting: [...context.waiting, { command: type, commandId }] };
    }),
    settle: enqueueActions(({ context, event, enqueue }, params: { commands: readonly CommandType[]; as: Ending }) => {
      const error = errorOf(params.as, context, event);
      for (const { command, commandId } of context.waiting) {
        if (params.commands.includes(command)) enqueue.emit({ type: 'SETTLED', command, commandId, error });
      }
      enqueue.assign({
        waiting: context.waiting.filter(({ command }) => !params.commands.includes(command)),
        ...(params.commands.includes('RESUME') ? { deferred: null } : {}),
        ...(params.commands.includes('TERMINATE') ? { latched: null } : {}),
        lastError: error ?? (params.as === 'success' ? null : context.lastError),
      });
    }),
    interruptOthers: enqueueActions(({ context, event, enqueue }) => {
      for (const { command, commandId } of context.waiting) {
        if (command === 'TERMINATE') continue;
        const wasDeferred = command === 'RESUME' && context.deferred !== null;
        const error = wasDeferred
          ? refusal('STATE-11', context, { ...event, type: 'RESUME' })
          : rules.interrupted(command);
        enqueue.emit({ type: 'SETTLED', command, commandId, error });
      }
      enqueue.assign({ waiting: context.waiting.filter(({ command }) => command === 'TERMINATE'), deferred: null });
    }),
    settleNow: emit(({ event }): SandboxEmitted => {
      const { commandId, type } = rules.commandIn(event);
      return { type: 'SETTLED', commandId, command: type, error: null };
    }),
    remember: assign(({ event }) => ({ lastError: rules.errorIn(event) })),
    noteStale: emit({ type: 'STALE_OUTCOME' }),
    dropProxyToken: emit({ type: 'PROXY_TOKEN_DROPPED' }),

    // Commands that wait for their moment.
    latchTerminate: assign(({ context, event }) => ({ latched: rules.postponed(context.latched, event) })),
    deferResume: assign(({ context, event }) => ({ deferred: rules.postponed(context.deferred, event) })),

    // Calls. Each numbers the operation and is what the journal records before the wire sees it.
    callLaunch: assign(({ context, event }) => rules.callLaunch(context, event)),
    callLaunchAgain: assign(({ context, event }) => rules.callLaunchAgain(context, event)),
    call: assign(({ context, event }, params: { kind: CallKind }) => rules.call(context, event, params.kind)),
    callAgain: assign(({ context, event }, params: { kind: CallKind }) => rules.callAgain(context, event, params.kind)),
    callDeferredResume: assign(({ context, event }) => ({
      ...rules.callPostponed(context, event, 'resume', context.deferred),
      deferred: null,
    })),
    callLatchedTerminate: assign(({ context, event }) => ({
      ...rules.callPostponed(context, event, 'terminate', context.latched),
      latched: null,
    })),
    joinWait: assign(({ context, event }) => rules.joinWait(context, event)),
    rest: assign({ call: null }),

    // What the platform said.
    learn: assign(({ context, event }) => rules.learn(context, rules.descriptionIn(event))),
    learnUnknown: assign(({ event }) => ({ reported: rules.descriptionIn(event)?.state ?? null })),
    acceptLaunch: assign(({ context, event }) => rules.acceptLaunch(context, event)),
    acceptCall: assign(({ context, event }) => ({ acceptedAt: rules.timeOf(context, event) })),
    forgetLaunch: assign({ launch: null }),
    noteRevived: assign({ revived: true }),
    openWindow: assign(({ context, event }) => ({ suspendedAt: rules.timeOf(context, event) })),
    startWindow: assign(({ context, event }) => ({ suspendedAt: context.suspendedAt ?? rules.timeOf(context, event) })),
    clearWindow: assign({ suspendedAt: null }),

    // The one action that counts a bootstrap: an accepted launch is delivered once, however it came to run.
    install: assign(({ context }) =>
      context.delivering ? { delivering: false, tokenInstalled: true, bootstrapCount: context.bootstrapCount + 1 } : {},
    ),
    markTerminated: assign({ wasTerminated: true }),

    // The trail that people read.
    enter: assign(({ context, event }, params: { state: VmState }) => rules.enter(context, event, params.state)),
  },
});
