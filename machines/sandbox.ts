/**
 * The life of one MicroVM, seen by its client.
 *
 * Read it top to bottom: the six states of the service in order, in each the substates that show our
 * own call in flight. Laws that hold everywhere stand once, at the root; a substate overrides them
 * while a call is under way. Every command has an answer in every state (`lifecycle.md`).
 *
 * The config names everything and holds no code but the initial context and one input function, so
 * that what runs is also what is checked and what is drawn. The names are explained in
 * `sandbox-setup.ts`.
 */
import { and } from 'xstate';
import { contextFrom } from './sandbox-context.ts';
import type { CommandType, RequirementId, VmState } from './records.ts';
import type { CallKind } from './sandbox-events.ts';
import type { RefusalReason } from './sandbox-refusals.ts';
import { callInput, sandboxSetup } from './sandbox-setup.ts';
import type { Ending } from './sandbox-setup.ts';

// The words of the chart: each names an action of the setup with its parameters, and is plain data.
const answer = (verdict: 'accepted' | 'joined' | 'deferred' | 'no-op') =>
  ({ type: 'answer', params: { verdict } }) as const;
const refuse = (because: RefusalReason) => ({ type: 'refuse', params: { because } }) as const;
const call = (kind: CallKind) => ({ type: 'call', params: { kind } }) as const;
const callAgain = (kind: CallKind) => ({ type: 'callAgain', params: { kind } }) as const;
const enter = (state: VmState) => ({ type: 'enter', params: { state } }) as const;
const end = (commands: CommandType | readonly CommandType[], as: Ending) =>
  ({ type: 'settle', params: { commands: typeof commands === 'string' ? [commands] : commands, as } }) as const;

/** A result of an operation that is over changes nothing. Always the first branch. */
const stale = { guard: 'stale', actions: 'noteStale' } as const;

/** A command without a time cannot be judged: the machine reads no clock. */
const untimed = { guard: 'untimed', actions: refuse('untimed-event') } as const;

/** An actor that threw: as if the call's answer had been lost. */
const threwInto = <Target extends string>(target: Target, command: 'RUN' | 'SUSPEND' | 'RESUME' | 'TERMINATE') =>
  [stale, { target, actions: end(command, 'error') }] as const;

/** Into SUSPENDED, carrying out a RESUME that waited for it; STATE-12 judges it at this moment. */
const intoSuspended = (seen: 'sawSuspended' | 'fresh', also: readonly RequirementId[] = []) =>
  [
    {
      guard: and([seen, 'deferred', 'STATE-11', 'STATE-12']),
      target: '#sandbox.SUSPENDED.resuming',
      actions: ['learn', 'startWindow', end('SUSPEND', 'success'), 'callDeferredResume'],
      meta: { requirements: [...also, 'STATE-6', 'STATE-12'] },
      description: 'suspended; the deferred RESUME is carried out',
    },
    {
      guard: and([seen, 'deferred']),
      target: '#sandbox.SUSPENDED.idle',
      actions: ['learn', 'startWindow', end('SUSPEND', 'success'), end('RESUME', 'STATE-12')],
      meta: { requirements: [...also, 'STATE-6', 'STATE-12'] },
      description: 'suspended; the deferred RESUME comes past the window',
    },
    {
      guard: seen,
      target: '#sandbox.SUSPENDED.idle',
      actions: ['learn', 'startWindow', end('SUSPEND', 'success')],
      meta: { requirements: [...also, 'STATE-6'] },
      description: 'suspended',
    },
  ] as const;

/** Straight from RUNNING, the suspend's own answer still out: the window begins at this moment, so it is open. */
const [resumesAtOnce, , suspends] = intoSuspended('fresh', ['STATE-4']);

/** A VM that ends while it is being suspended: the suspend is over without an error, a deferred RESUME is refused. */
const diesSuspending = ['learn', end('SUSPEND', 'success'), end('RESUME', 'STATE-11')] as const;

/** The platform ends the VM, seen from a state in which a suspend may be under way. */
const endsByItself = <Ending extends 'ENV-4' | 'EXT-2', Ended extends 'ENV-5' | 'EXT-2'>(
  ending: Ending,
  ended: Ended,
) =>
  ({
    'OBSERVED.TERMINATING': {
      guard: 'fresh',
      target: '#sandbox.TERMINATING.accepted',
      actions: diesSuspending,
      meta: { requirements: [ending] },
    },
    'OBSERVED.TERMINATED': {
      guard: 'fresh',
      target: '#sandbox.TERMINATED',
      actions: diesSuspending,
      meta: { requirements: [ended] },
    },
  }) as const;

/** A launch that is reported running, whoever asked. */
const launchRuns = {
  guard: and(['fresh', 'STATE-11']),
  target: '#sandbox.RUNNING.idle',
  actions: ['learn', end('RUN', 'success')],
  meta: { requirements: ['STATE-2', 'STATE-11'] },
} as const;

/** A launch that is reported in a state from which it does not come to life. */
const launchDies = {
  guard: 'fresh',
  target: '#sandbox.PENDING.held',
  actions: ['learn', end('RUN', 'died')],
} as const;

/** A resume that learns, when it asks, that the VM runs again. */
const resumed = {
  guard: and(['sawRunning', 'STATE-11']),
  target: '#sandbox.RUNNING.idle',
  actions: ['learn', 'dropProxyToken', end('RESUME', 'success')],
  meta: { requirements: ['STATE-7', 'STATE-8', 'STATE-11'] },
} as const;

/** A resume that learns, when it asks, that the VM has ended. */
const resumeFindsEnd = {
  guard: 'sawTerminated',
  target: '#sandbox.TERMINATED',
  actions: ['learn', end('RESUME', 'died')],
  meta: { requirements: ['ENV-5'] },
} as const;

/** One MicroVM's whole life, as its client drives and sees it. */
export const sandboxMachine = sandboxSetup.createMachine({
  id: 'sandbox',
  context: ({ input }) => contextFrom(input),
  initial: 'PENDING',
  description: 'The life of one AWS Lambda MicroVM, seen by its client.',

  // The laws that hold in every state. A substate that is in the middle of something says so itself.
  on: {
    RUN: [
      untimed,
      {
        guard: 'STATE-3',
        target: '.PENDING.launching',
        actions: [answer('accepted'), 'await', 'callLaunch'],
        meta: { requirements: ['STATE-1', 'STATE-3'] },
        description: 'launch the one VM of this handle',
      },
      { actions: refuse('STATE-3'), meta: { requirements: ['STATE-3'] } },
    ],
    SUSPEND: [
      untimed,
      { guard: 'noVm', actions: refuse('no-vm') },
      {
        guard: 'STATE-5',
        target: '.RUNNING.suspending',
        actions: [answer('accepted'), 'await', call('suspend')],
        meta: { requirements: ['STATE-5'] },
      },
      { actions: refuse('STATE-5'), meta: { requirements: ['STATE-5'] } },
    ],
    RESUME: [
      untimed,
      { guard: 'noVm', actions: refuse('no-vm') },
      { guard: 'STATE-11', actions: refuse('STATE-7'), meta: { requirements: ['STATE-7'] } },
      { actions: refuse('STATE-11'), meta: { requirements: ['STATE-11'] } },
    ],
    TERMINATE: [
      untimed,
      { guard: 'noVm', actions: answer('no-op') },
      {
        target: '.TERMINATING.calling',
        actions: [answer('accepted'), 'interruptOthers', 'await', call('terminate')],
        meta: { requirements: ['STATE-9', 'EXT-1'] },
      },
    ],

    // What the platform does by itself: the environment effects of the spec.
    'OBSERVED.RUNNING': {
      guard: and(['fresh', 'STATE-11']),
      target: '.RUNNING.idle',
      actions: 'learn',
      meta: { requirements: ['STATE-2', 'STATE-11', 'ENV-1'] },
      description: 'whatever we believed: unless it was terminated, it runs',
    },
    'OBSERVED.TERMINATING': {
      guard: 'fresh',
      target: '.TERMINATING.accepted',
      actions: ['learn', end(['RUN', 'RESUME'], 'died')],
      meta: { requirements: ['ENV-4'] },
    },
    'OBSERVED.TERMINATED': {
      guard: 'fresh',
      target: '.TERMINATED',
      actions: ['learn', end(['RUN', 'RESUME'], 'died')],
      meta: { requirements: ['ENV-5'] },
    },
    'OBSERVED.UNKNOWN': {
      guard: 'fresh',
      actions: 'learnUnknown',
      description: 'a state that nobody knows is the last known one, with its text beside it',
    },
  },

  states: {
    PENDING: {
      description: 'Launched or about to be; the agent token is not installed yet (STATE-1).',
      entry: enter('PENDING'),
      initial: 'idle',
      tags: ['live', 'billing'],
      states: {
        idle: { description: 'No VM yet.', entry: 'rest' },

        launching: {
          description: 'RunMicrovm is under way. It is never abandoned: leaving would forget a VM that bills.',
          tags: 'calling',
          invoke: {
            id: 'launch',
            src: 'launch',
            input: callInput,
            onDone: [
              stale,
              {
                guard: and(['accepted', 'latched']),
                target: '#sandbox.TERMINATING.calling',
                actions: ['acceptLaunch', 'interruptOthers', 'callLatchedTerminate'],
                meta: { requirements: ['STATE-1', 'STATE-9'] },
                description: 'launched; the TERMINATE that waited for the id goes out',
              },
              {
                guard: and(['accepted', 'callerKept', 'sawSuspended']),
                target: 'reviving',
                actions: ['acceptLaunch', 'noteRevived', call('resume')],
                meta: { requirements: ['STATE-1'] },
                description: 'the repeated launch names a VM that was suspended meanwhile',
              },
              {
                guard: and(['accepted', 'noWait']),
                target: 'held',
                actions: ['acceptLaunch', end('RUN', 'success')],
                meta: { requirements: ['STATE-1'] },
              },
              {
                guard: 'accepted',
                target: 'awaitingRunning',
                actions: ['acceptLaunch', call('awaitRunning')],
                meta: { requirements: ['STATE-1'] },
              },
              {
                guard: and(['definite', 'latched']),
                target: 'idle',
                actions: [end('RUN', 'error'), end('TERMINATE', 'success'), 'forgetLaunch'],
                description: 'surely nothing was created, so there is nothing to terminate',
              },
              {
                guard: 'definite',
                target: 'idle',
                actions: [end('RUN', 'error'), 'forgetLaunch'],
                description: 'surely nothing was created: the handle can launch again',
              },
              {
                guard: and(['latched', 'firstTry']),
                target: 'launching',
                reenter: true,
                actions: [end('RUN', 'error'), 'callLaunchAgain'],
                description: 'the answer was lost: the same intent again, to learn the id that must be terminated',
              },
              {
                target: 'unresolved',
                actions: [end('RUN', 'error'), end('TERMINATE', 'unresolved')],
                description: 'the answer was lost: a VM may exist',
              },
            ],
            onError: [stale, { target: 'unresolved', actions: [end('RUN', 'error'), end('TERMINATE', 'unresolved')] }],
          },
          on: {
            SUSPEND: [untimed, { actions: refuse('STATE-5') }],
            RESUME: [untimed, { actions: refuse('STATE-7') }],
            TERMINATE: [
              untimed,
              { actions: [answer('deferred'), 'await', 'latchTerminate'], meta: { requirements: ['STATE-9'] } },
            ],
          },
        },

        unresolved: {
          description: 'The launch may or may not have made a VM. Only the same token and body may be sent again.',
          entry: 'rest',
          on: {
            RUN: [
              untimed,
              {
                guard: 'sameIntent',
                target: 'launching',
                actions: [answer('accepted'), 'await', 'callLaunchAgain'],
                meta: { requirements: ['STATE-1'] },
              },
              { actions: refuse('STATE-3'), meta: { requirements: ['STATE-3'] } },
            ],
            TERMINATE: [
              untimed,
              {
                target: 'launching',
                actions: [answer('deferred'), 'await', 'latchTerminate', 'callLaunchAgain'],
                meta: { requirements: ['STATE-9'] },
                description: 'learn the id by the same intent, then terminate what it names',
              },
            ],
          },
        },

        awaitingRunning: {
          description: 'Launched; waiting for the platform to report RUNNING.',
          tags: 'calling',
          invoke: {
            id: 'awaitRunning',
            src: 'awaitRunning',
            input: callInput,
            onDone: [
              stale,
              {
                guard: and(['sawRunning', 'STATE-11']),
                target: '#sandbox.RUNNING.idle',
                actions: ['learn', end('RUN', 'success')],
                meta: { requirements: ['STATE-2', 'STATE-11'] },
              },
              {
                guard: and(['sawSuspended', 'mayRevive']),
                target: 'reviving',
                actions: ['learn', 'noteRevived', call('resume')],
                description: 'a caller-kept launch whose VM was suspended meanwhile: one resume',
              },
              {
                guard: 'sawAny',
                target: 'held',
                actions: ['learn', end('RUN', 'died')],
                description: 'the launch died; the token was not installed',
              },
              { target: 'held', actions: end('RUN', 'error') },
            ],
            onError: threwInto('held', 'RUN'),
          },
          on: {
            'OBSERVED.RUNNING': launchRuns,
            'OBSERVED.SUSPENDING': [{ guard: and(['fresh', 'callerKept']), actions: 'learn' }, launchDies],
            'OBSERVED.SUSPENDED': [
              {
                guard: and(['fresh', 'mayRevive']),
                target: 'reviving',
                actions: ['learn', 'noteRevived', call('resume')],
              },
              { guard: and(['fresh', 'callerKept']), actions: 'learn' },
              launchDies,
            ],
            'OBSERVED.TERMINATING': launchDies,
            'OBSERVED.TERMINATED': launchDies,
          },
        },

        reviving: {
          description: 'ResumeMicrovm for a caller-kept launch whose VM was suspended meanwhile; once per launch.',
          tags: 'calling',
          invoke: {
            id: 'resume',
            src: 'resume',
            input: callInput,
            onDone: [
              stale,
              { guard: 'gone', target: 'held', actions: ['learn', end('RUN', 'died')] },
              { guard: 'accepted', target: 'awaitingRunning', actions: ['acceptCall', call('awaitRunning')] },
              {
                guard: 'conflict',
                target: 'awaitingRunning',
                actions: call('awaitRunning'),
                description: 'it is already on its way; go on waiting',
              },
              { target: 'held', actions: end('RUN', 'error') },
            ],
            onError: threwInto('held', 'RUN'),
          },
          on: {
            'OBSERVED.RUNNING': launchRuns,
            'OBSERVED.TERMINATING': launchDies,
            'OBSERVED.TERMINATED': launchDies,
          },
        },

        held: {
          description:
            'A VM exists and nobody waits for it: its launch died, or the wait ended. The next report moves on.',
          entry: 'rest',
          on: {
            'OBSERVED.SUSPENDING': {
              guard: 'fresh',
              target: '#sandbox.SUSPENDING.unsettled',
              actions: ['learn', 'install', 'startWindow'],
              meta: { requirements: ['ENV-2'] },
              description: 'it ran, unseen, and is being suspended',
            },
            'OBSERVED.SUSPENDED': {
              guard: 'fresh',
              target: '#sandbox.SUSPENDED.idle',
              actions: ['learn', 'install', 'startWindow'],
              meta: { requirements: ['ENV-3'] },
              description: 'it ran, unseen, and was suspended',
            },
          },
        },
      },
      on: { 'OBSERVED.PENDING': { guard: 'fresh', actions: 'learn' } },
    },

    RUNNING: {
      description: 'The run hook answered and the agent token is installed (STATE-2).',
      entry: ['install', enter('RUNNING'), 'clearWindow'],
      initial: 'idle',
      tags: ['live', 'billing', 'reachable'],
      states: {
        idle: {
          description: 'Nothing of ours is under way.',
          entry: 'rest',
          on: {
            RESUME: [
              untimed,
              {
                guard: 'alreadyThereSucceeds',
                actions: answer('no-op'),
                description: 'already running, and the caller chose that this is a success',
              },
            ],
          },
        },

        suspending: {
          description: 'SuspendMicrovm is under way.',
          tags: 'calling',
          invoke: {
            id: 'suspend',
            src: 'suspend',
            input: callInput,
            onDone: [
              stale,
              {
                guard: 'gone',
                target: '#sandbox.TERMINATED',
                actions: [end('SUSPEND', 'error'), end('RESUME', 'STATE-11')],
                meta: { requirements: ['ENV-5'] },
              },
              {
                guard: 'accepted',
                target: '#sandbox.SUSPENDING.watching',
                actions: ['acceptCall', 'openWindow', call('awaitSuspended')],
                meta: { requirements: ['STATE-4'] },
              },
              {
                guard: 'definite',
                target: 'idle',
                actions: [end('SUSPEND', 'error'), end('RESUME', 'already-running')],
                description: 'refused by the service: still RUNNING, and a new suspend may go out',
              },
              {
                target: '#sandbox.SUSPENDING.rereading',
                actions: ['openWindow', 'remember', call('read')],
                meta: { requirements: ['STATE-4'] },
                description: 'the answer was lost: it may be suspending, so ask',
              },
            ],
            onError: [
              stale,
              {
                target: '#sandbox.SUSPENDING.rereading',
                actions: ['openWindow', 'remember', call('read')],
                meta: { requirements: ['STATE-4'] },
              },
            ],
          },
          on: {
            SUSPEND: [untimed, { actions: [answer('joined'), 'await'] }],
            RESUME: [untimed, { actions: [answer('deferred'), 'await', 'deferResume'] }],
            'OBSERVED.SUSPENDING': {
              guard: 'fresh',
              target: '#sandbox.SUSPENDING.watching',
              actions: ['learn', 'openWindow', call('awaitSuspended')],
              meta: { requirements: ['STATE-4'] },
            },
            'OBSERVED.SUSPENDED': [resumesAtOnce, suspends],
          },
        },
      },
      on: {
        'OBSERVED.PENDING': { guard: 'fresh', actions: 'learn', description: 'an auto-resume is under way' },
        'OBSERVED.RUNNING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.SUSPENDING': {
          guard: 'fresh',
          target: 'SUSPENDING.unsettled',
          actions: ['learn', 'startWindow'],
          meta: { requirements: ['ENV-2'] },
          description: 'the idle policy suspends it',
        },
        'OBSERVED.SUSPENDED': {
          guard: 'fresh',
          target: 'SUSPENDED.idle',
          actions: ['learn', 'startWindow'],
          meta: { requirements: ['ENV-3'] },
          description: 'the idle policy suspended it',
        },
        ...endsByItself('ENV-4', 'ENV-5'),
      },
    },

    SUSPENDING: {
      description: 'A suspend was accepted and is not complete (STATE-4).',
      entry: enter('SUSPENDING'),
      initial: 'watching',
      tags: ['live', 'billing'],
      states: {
        watching: {
          description: 'Waiting for the platform to report SUSPENDED.',
          tags: 'calling',
          invoke: {
            id: 'awaitSuspended',
            src: 'awaitSuspended',
            input: callInput,
            onDone: [
              stale,
              ...intoSuspended('sawSuspended'),
              {
                guard: 'sawTerminated',
                target: '#sandbox.TERMINATED',
                actions: diesSuspending,
                meta: { requirements: ['EXT-2'] },
                description: 'it died while suspending: over, without an error',
              },
              {
                target: 'unsettled',
                actions: [end(['SUSPEND', 'RESUME'], 'error')],
                description: 'the wait ended without an answer',
              },
            ],
            onError: [stale, { target: 'unsettled', actions: [end(['SUSPEND', 'RESUME'], 'error')] }],
          },
        },

        rereading: {
          description: 'The answer to SuspendMicrovm was lost: one GetMicrovm to learn what became of it.',
          tags: 'calling',
          invoke: {
            id: 'read',
            src: 'read',
            input: callInput,
            onDone: [
              stale,
              {
                guard: and(['sawRunning', 'STATE-11']),
                target: '#sandbox.RUNNING.idle',
                actions: ['learn', end('SUSPEND', 'remembered'), end('RESUME', 'already-running')],
                meta: { requirements: ['STATE-11', 'ENV-1'] },
                description: 'the suspend never arrived',
              },
              { guard: 'sawSuspending', target: 'watching', actions: ['learn', 'acceptCall', call('awaitSuspended')] },
              ...intoSuspended('sawSuspended'),
              {
                guard: 'sawTerminating',
                target: '#sandbox.TERMINATING.accepted',
                actions: diesSuspending,
                meta: { requirements: ['EXT-2'] },
              },
              {
                guard: 'sawTerminated',
                target: '#sandbox.TERMINATED',
                actions: diesSuspending,
                meta: { requirements: ['EXT-2'] },
              },
              { target: 'unsettled', actions: [end(['SUSPEND', 'RESUME'], 'remembered')] },
            ],
            onError: [stale, { target: 'unsettled', actions: [end(['SUSPEND', 'RESUME'], 'error')] }],
          },
        },

        unsettled: {
          description: 'Being suspended, as far as we know, and nobody waits for it. The next report moves on.',
          entry: 'rest',
          on: {
            SUSPEND: [untimed, { target: 'watching', actions: [answer('joined'), 'await', call('awaitSuspended')] }],
            RESUME: [
              untimed,
              { target: 'watching', actions: [answer('deferred'), 'await', 'deferResume', call('awaitSuspended')] },
            ],
            'OBSERVED.RUNNING': {
              guard: and(['fresh', 'STATE-11']),
              target: '#sandbox.RUNNING.idle',
              actions: 'learn',
              meta: { requirements: ['STATE-11', 'ENV-1'] },
            },
          },
        },
      },
      on: {
        SUSPEND: [untimed, { actions: [answer('joined'), 'await'] }],
        RESUME: [untimed, { actions: [answer('deferred'), 'await', 'deferResume'] }],
        'OBSERVED.PENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.RUNNING': { guard: 'fresh', actions: 'learn', description: 'our wait runs: reads may be late' },
        'OBSERVED.SUSPENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.SUSPENDED': intoSuspended('fresh'),
        ...endsByItself('EXT-2', 'EXT-2'),
      },
    },

    SUSPENDED: {
      description: 'Memory and disk are kept and nothing runs, until the suspended window closes (STATE-6, STATE-12).',
      entry: enter('SUSPENDED'),
      initial: 'idle',
      tags: ['live', 'resumable'],
      states: {
        idle: {
          description: 'Nothing of ours is under way.',
          entry: 'rest',
          on: {
            SUSPEND: [
              untimed,
              {
                guard: 'alreadyThereSucceeds',
                actions: answer('no-op'),
                description: 'already suspended, and the caller chose that this is a success',
              },
            ],
            RESUME: [
              untimed,
              {
                guard: and(['STATE-11', 'STATE-12']),
                target: 'resuming',
                actions: [answer('accepted'), 'await', call('resume')],
                meta: { requirements: ['STATE-7', 'STATE-11', 'STATE-12'] },
              },
              { actions: refuse('STATE-12'), meta: { requirements: ['STATE-12'] } },
            ],
          },
        },

        resuming: {
          description: 'ResumeMicrovm is under way. No payload goes with it: the token is still installed.',
          tags: 'calling',
          invoke: {
            id: 'resume',
            src: 'resume',
            input: callInput,
            onDone: [
              stale,
              {
                guard: 'gone',
                target: '#sandbox.TERMINATED',
                actions: [end('RESUME', 'error')],
                meta: { requirements: ['ENV-5'] },
                description: 'the service no longer knows it',
              },
              {
                guard: 'accepted',
                target: 'awaitingRunning',
                actions: ['acceptCall', call('awaitResumed')],
                meta: { requirements: ['STATE-7'] },
              },
              { guard: and(['definite', 'notConflict']), target: 'idle', actions: end('RESUME', 'error') },
              {
                target: 'rereading',
                actions: ['remember', call('read')],
                description: 'a conflict, or a lost answer: ask where it is',
              },
            ],
            onError: [stale, { target: 'rereading', actions: ['remember', call('read')] }],
          },
        },

        awaitingRunning: {
          description: 'Resumed; waiting for the platform to report RUNNING.',
          tags: 'calling',
          invoke: {
            id: 'awaitResumed',
            src: 'awaitResumed',
            input: callInput,
            onDone: [
              stale,
              resumed,
              {
                guard: 'sawAny',
                target: 'idle',
                actions: ['learn', end('RESUME', 'died')],
                description: 'dead, by one reading; the next report moves on',
              },
              { target: 'idle', actions: end('RESUME', 'error') },
            ],
            onError: threwInto('idle', 'RESUME'),
          },
        },

        rereading: {
          description: 'ResumeMicrovm met a conflict, or its answer was lost: one GetMicrovm to learn where the VM is.',
          tags: 'calling',
          invoke: {
            id: 'read',
            src: 'read',
            input: callInput,
            onDone: [
              stale,
              resumed,
              {
                guard: 'sawPending',
                target: 'awaitingRunning',
                actions: ['learn', call('awaitResumed')],
                description: 'on its way back',
              },
              {
                guard: and(['sawSuspending', 'firstTry']),
                target: 'settling',
                actions: ['learn', callAgain('awaitSuspended')],
                description: 'it was still being suspended: wait, then one more resume',
              },
              {
                guard: 'sawTerminating',
                target: '#sandbox.TERMINATING.accepted',
                actions: ['learn', end('RESUME', 'died')],
                meta: { requirements: ['ENV-4'] },
              },
              resumeFindsEnd,
              { target: 'idle', actions: end('RESUME', 'remembered') },
            ],
            onError: threwInto('idle', 'RESUME'),
          },
        },

        settling: {
          description: 'The resume came before the suspend was complete: wait for it, then resume once more.',
          tags: 'calling',
          invoke: {
            id: 'awaitSuspended',
            src: 'awaitSuspended',
            input: callInput,
            onDone: [
              stale,
              {
                guard: and(['sawSuspended', 'STATE-11', 'STATE-12']),
                target: 'resuming',
                actions: ['learn', call('resume')],
                meta: { requirements: ['STATE-7', 'STATE-12'] },
              },
              {
                guard: 'sawSuspended',
                target: 'idle',
                actions: ['learn', end('RESUME', 'STATE-12')],
                meta: { requirements: ['STATE-12'] },
              },
              resumeFindsEnd,
              { target: 'idle', actions: end('RESUME', 'error') },
            ],
            onError: threwInto('idle', 'RESUME'),
          },
        },
      },
      on: {
        RESUME: [untimed, { actions: [answer('joined'), 'await'] }],
        'OBSERVED.PENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.RUNNING': {
          guard: and(['fresh', 'STATE-11']),
          target: 'RUNNING.idle',
          actions: ['learn', 'dropProxyToken', end('RESUME', 'success')],
          meta: { requirements: ['STATE-8', 'STATE-11', 'ENV-1'] },
          description: 'auto-resumed by traffic, or resumed by us',
        },
        'OBSERVED.SUSPENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.SUSPENDED': { guard: 'fresh', actions: 'learn' },
      },
    },

    TERMINATING: {
      description: 'A terminate was asked for, by us or by the platform. There is no way back (STATE-9, STATE-11).',
      entry: ['markTerminated', enter('TERMINATING')],
      initial: 'calling',
      states: {
        calling: {
          description: 'TerminateMicrovm is under way.',
          tags: 'calling',
          invoke: {
            id: 'terminate',
            src: 'terminate',
            input: callInput,
            onDone: [
              stale,
              {
                guard: 'sawTerminated',
                target: '#sandbox.TERMINATED',
                actions: ['learn', end('TERMINATE', 'success')],
                meta: { requirements: ['STATE-10'] },
                description: 'already gone',
              },
              {
                guard: and(['accepted', 'waitForEnd']),
                target: 'watching',
                actions: ['acceptCall', call('awaitTerminated')],
                meta: { requirements: ['STATE-9'] },
              },
              {
                guard: 'accepted',
                target: 'accepted',
                actions: ['acceptCall', end('TERMINATE', 'success')],
                meta: { requirements: ['STATE-9'] },
              },
              {
                target: 'unaccepted',
                actions: end('TERMINATE', 'error'),
                description: 'the call failed: the VM may live on, and TERMINATE is accepted again',
              },
            ],
            onError: threwInto('unaccepted', 'TERMINATE'),
          },
          on: { TERMINATE: [untimed, { actions: [answer('joined'), 'await', 'joinWait'] }] },
        },

        watching: {
          description: 'Waiting for the platform to report TERMINATED.',
          tags: 'calling',
          invoke: {
            id: 'awaitTerminated',
            src: 'awaitTerminated',
            input: callInput,
            onDone: [
              stale,
              {
                guard: 'sawTerminated',
                target: '#sandbox.TERMINATED',
                actions: ['learn', end('TERMINATE', 'success')],
                meta: { requirements: ['STATE-10'] },
              },
              {
                target: 'accepted',
                actions: end('TERMINATE', 'error'),
                description: 'accepted, but its end was not seen',
              },
            ],
            onError: threwInto('accepted', 'TERMINATE'),
          },
          on: { TERMINATE: [untimed, { actions: [answer('joined'), 'await'] }] },
        },

        accepted: {
          description: 'The platform is ending it, and nobody waits.',
          entry: 'rest',
          on: {
            TERMINATE: [
              untimed,
              {
                guard: 'wantsWait',
                target: 'watching',
                actions: [answer('joined'), 'await', call('awaitTerminated')],
              },
              { actions: [answer('joined'), 'settleNow'] },
            ],
          },
        },

        unaccepted: {
          description: 'Asked for, but the call failed. A VM may live on.',
          entry: 'rest',
          tags: 'billing',
          on: {
            TERMINATE: [
              untimed,
              {
                target: 'calling',
                actions: [answer('accepted'), 'await', call('terminate')],
                meta: { requirements: ['STATE-9'] },
              },
            ],
          },
        },
      },
      on: {
        'OBSERVED.PENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.SUSPENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.SUSPENDED': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.TERMINATING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.TERMINATED': {
          guard: 'fresh',
          target: 'TERMINATED',
          actions: ['learn', end('TERMINATE', 'success')],
          meta: { requirements: ['STATE-10'] },
        },
      },
    },

    TERMINATED: {
      description: 'Gone, for good (STATE-10, STATE-11). Not an XState final state: commands still get their answer.',
      entry: ['markTerminated', enter('TERMINATED'), 'rest'],
      tags: 'terminal',
      on: {
        TERMINATE: [untimed, { actions: answer('no-op') }],
        'OBSERVED.TERMINATING': { guard: 'fresh', description: 'a late reading' },
        'OBSERVED.TERMINATED': { guard: 'fresh', actions: 'learn' },
      },
    },
  },
});
