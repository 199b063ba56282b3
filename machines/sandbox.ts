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
import { callInput, sandboxSetup } from './sandbox-setup.ts';

/** A result of an operation that is over changes nothing. Always the first branch. */
const stale = { guard: 'stale', actions: 'noteStale' } as const;

/** A command without a time cannot be judged: the machine reads no clock. */
const untimed = { guard: 'untimed', actions: { type: 'refuse', params: { because: 'untimed-event' } } } as const;

/** An actor that threw: as if the call's answer had been lost. */
const threwInto = <Target extends string>(target: Target, command: 'RUN' | 'SUSPEND' | 'RESUME' | 'TERMINATE') =>
  [stale, { target, actions: { type: 'settle', params: { commands: [command], as: 'error' } } }] as const;

/** Into SUSPENDED, carrying out a RESUME that waited for it; STATE-12 judges it at this moment. */
const intoSuspended = (seen: 'sawSuspended' | 'fresh') =>
  [
    {
      guard: and([seen, 'deferred', 'STATE-11', 'STATE-12']),
      target: '#sandbox.SUSPENDED.resuming',
      actions: [
        'learn',
        'startWindow',
        { type: 'settle', params: { commands: ['SUSPEND'], as: 'success' } },
        'callDeferredResume',
      ],
      meta: { requirements: ['STATE-6', 'STATE-12'] },
      description: 'suspended; the deferred RESUME is carried out',
    },
    {
      guard: and([seen, 'deferred']),
      target: '#sandbox.SUSPENDED.idle',
      actions: [
        'learn',
        'startWindow',
        { type: 'settle', params: { commands: ['SUSPEND'], as: 'success' } },
        { type: 'settle', params: { commands: ['RESUME'], as: 'STATE-12' } },
      ],
      meta: { requirements: ['STATE-6', 'STATE-12'] },
      description: 'suspended; the deferred RESUME comes past the window',
    },
    {
      guard: seen,
      target: '#sandbox.SUSPENDED.idle',
      actions: ['learn', 'startWindow', { type: 'settle', params: { commands: ['SUSPEND'], as: 'success' } }],
      meta: { requirements: ['STATE-6'] },
      description: 'suspended',
    },
  ] as const;

/** A VM that ends while it is being suspended: the suspend is over without an error, a deferred RESUME is refused. */
const diesSuspending = [
  'learn',
  { type: 'settle', params: { commands: ['SUSPEND'], as: 'success' } },
  { type: 'settle', params: { commands: ['RESUME'], as: 'STATE-11' } },
] as const;

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
        actions: [{ type: 'answer', params: { verdict: 'accepted' } }, 'await', 'callLaunch'],
        meta: { requirements: ['STATE-1', 'STATE-3'] },
        description: 'launch the one VM of this handle',
      },
      { actions: { type: 'refuse', params: { because: 'STATE-3' } }, meta: { requirements: ['STATE-3'] } },
    ],
    SUSPEND: [
      untimed,
      { guard: 'noVm', actions: { type: 'refuse', params: { because: 'no-vm' } } },
      {
        guard: 'STATE-5',
        target: '.RUNNING.suspending',
        actions: [
          { type: 'answer', params: { verdict: 'accepted' } },
          'await',
          { type: 'call', params: { kind: 'suspend' } },
        ],
        meta: { requirements: ['STATE-5'] },
      },
      { actions: { type: 'refuse', params: { because: 'STATE-5' } }, meta: { requirements: ['STATE-5'] } },
    ],
    RESUME: [
      untimed,
      { guard: 'noVm', actions: { type: 'refuse', params: { because: 'no-vm' } } },
      {
        guard: 'STATE-11',
        actions: { type: 'refuse', params: { because: 'STATE-7' } },
        meta: { requirements: ['STATE-7'] },
      },
      { actions: { type: 'refuse', params: { because: 'STATE-11' } }, meta: { requirements: ['STATE-11'] } },
    ],
    TERMINATE: [
      untimed,
      { guard: 'noVm', actions: { type: 'answer', params: { verdict: 'no-op' } } },
      {
        target: '.TERMINATING.calling',
        actions: [
          { type: 'answer', params: { verdict: 'accepted' } },
          'interruptOthers',
          'await',
          { type: 'call', params: { kind: 'terminate' } },
        ],
        meta: { requirements: ['STATE-9'] },
      },
    ],

    // What the platform does by itself: the environment effects of the spec.
    'OBSERVED.RUNNING': {
      guard: and(['fresh', 'STATE-11']),
      target: '.RUNNING.idle',
      actions: 'learn',
      meta: { requirements: ['STATE-2', 'STATE-11', 'ENV-RUNNING'] },
      description: 'whatever we believed: unless it was terminated, it runs',
    },
    'OBSERVED.TERMINATING': {
      guard: 'fresh',
      target: '.TERMINATING.accepted',
      actions: ['learn', { type: 'settle', params: { commands: ['RUN', 'RESUME'], as: 'died' } }],
      meta: { requirements: ['ENV-TERMINATING'] },
    },
    'OBSERVED.TERMINATED': {
      guard: 'fresh',
      target: '.TERMINATED',
      actions: ['learn', { type: 'settle', params: { commands: ['RUN', 'RESUME'], as: 'died' } }],
      meta: { requirements: ['ENV-TERMINATED'] },
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
      entry: { type: 'enter', params: { state: 'PENDING' } },
      initial: 'idle',
      tags: ['live', 'billing'],
      states: {
        idle: {
          description: 'No VM yet.',
          entry: 'rest',
        },

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
                actions: ['acceptLaunch', 'noteRevived', { type: 'call', params: { kind: 'resume' } }],
                meta: { requirements: ['STATE-1'] },
                description: 'the repeated launch names a VM that was suspended meanwhile',
              },
              {
                guard: and(['accepted', 'noWait']),
                target: 'held',
                actions: ['acceptLaunch', { type: 'settle', params: { commands: ['RUN'], as: 'success' } }],
                meta: { requirements: ['STATE-1'] },
              },
              {
                guard: 'accepted',
                target: 'awaitingRunning',
                actions: ['acceptLaunch', { type: 'call', params: { kind: 'awaitRunning' } }],
                meta: { requirements: ['STATE-1'] },
              },
              {
                guard: and(['definite', 'latched']),
                target: 'idle',
                actions: [
                  { type: 'settle', params: { commands: ['RUN'], as: 'error' } },
                  { type: 'settle', params: { commands: ['TERMINATE'], as: 'success' } },
                  'forgetLaunch',
                ],
                description: 'surely nothing was created, so there is nothing to terminate',
              },
              {
                guard: 'definite',
                target: 'idle',
                actions: [{ type: 'settle', params: { commands: ['RUN'], as: 'error' } }, 'forgetLaunch'],
                description: 'surely nothing was created: the handle can launch again',
              },
              {
                guard: and(['latched', 'firstTry']),
                target: 'launching',
                reenter: true,
                actions: [{ type: 'settle', params: { commands: ['RUN'], as: 'error' } }, 'callLaunchAgain'],
                description: 'the answer was lost: the same intent again, to learn the id that must be terminated',
              },
              {
                target: 'unresolved',
                actions: [
                  { type: 'settle', params: { commands: ['RUN'], as: 'error' } },
                  { type: 'settle', params: { commands: ['TERMINATE'], as: 'unresolved' } },
                ],
                description: 'the answer was lost: a VM may exist',
              },
            ],
            onError: [
              stale,
              {
                target: 'unresolved',
                actions: [
                  { type: 'settle', params: { commands: ['RUN'], as: 'error' } },
                  { type: 'settle', params: { commands: ['TERMINATE'], as: 'unresolved' } },
                ],
              },
            ],
          },
          on: {
            SUSPEND: [untimed, { actions: { type: 'refuse', params: { because: 'STATE-5' } } }],
            RESUME: [untimed, { actions: { type: 'refuse', params: { because: 'STATE-7' } } }],
            TERMINATE: [
              untimed,
              {
                actions: [{ type: 'answer', params: { verdict: 'deferred' } }, 'await', 'latchTerminate'],
                meta: { requirements: ['STATE-9'] },
              },
            ],
          },
        },

        unresolved: {
          description: 'The launch may or may not have made a VM. Only the same token and body may be sent again.',
          on: {
            RUN: [
              untimed,
              {
                guard: 'sameIntent',
                target: 'launching',
                actions: [{ type: 'answer', params: { verdict: 'accepted' } }, 'await', 'callLaunchAgain'],
                meta: { requirements: ['STATE-1'] },
              },
              { actions: { type: 'refuse', params: { because: 'STATE-3' } }, meta: { requirements: ['STATE-3'] } },
            ],
            TERMINATE: [
              untimed,
              {
                target: 'launching',
                actions: [
                  { type: 'answer', params: { verdict: 'deferred' } },
                  'await',
                  'latchTerminate',
                  'callLaunchAgain',
                ],
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
                actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'success' } }],
                meta: { requirements: ['STATE-2', 'STATE-11'] },
              },
              {
                guard: and(['sawSuspended', 'mayRevive']),
                target: 'reviving',
                actions: ['learn', 'noteRevived', { type: 'call', params: { kind: 'resume' } }],
                description: 'a caller-kept launch whose VM was suspended meanwhile: one resume',
              },
              {
                guard: 'sawAny',
                target: 'held',
                actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'died' } }],
                description: 'the launch died; the token was not installed',
              },
              { target: 'held', actions: { type: 'settle', params: { commands: ['RUN'], as: 'error' } } },
            ],
            onError: threwInto('held', 'RUN'),
          },
          on: {
            'OBSERVED.RUNNING': {
              guard: and(['fresh', 'STATE-11']),
              target: '#sandbox.RUNNING.idle',
              actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'success' } }],
              meta: { requirements: ['STATE-2', 'STATE-11'] },
            },
            'OBSERVED.SUSPENDING': [
              { guard: and(['fresh', 'callerKept']), actions: 'learn' },
              {
                guard: 'fresh',
                target: 'held',
                actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'died' } }],
              },
            ],
            'OBSERVED.SUSPENDED': [
              {
                guard: and(['fresh', 'mayRevive']),
                target: 'reviving',
                actions: ['learn', 'noteRevived', { type: 'call', params: { kind: 'resume' } }],
              },
              { guard: and(['fresh', 'callerKept']), actions: 'learn' },
              {
                guard: 'fresh',
                target: 'held',
                actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'died' } }],
              },
            ],
            'OBSERVED.TERMINATING': {
              guard: 'fresh',
              target: 'held',
              actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'died' } }],
            },
            'OBSERVED.TERMINATED': {
              guard: 'fresh',
              target: 'held',
              actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'died' } }],
            },
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
              {
                guard: 'gone',
                target: 'held',
                actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'died' } }],
              },
              {
                guard: 'accepted',
                target: 'awaitingRunning',
                actions: ['acceptCall', { type: 'call', params: { kind: 'awaitRunning' } }],
              },
              {
                guard: 'conflict',
                target: 'awaitingRunning',
                actions: { type: 'call', params: { kind: 'awaitRunning' } },
                description: 'it is already on its way; go on waiting',
              },
              { target: 'held', actions: { type: 'settle', params: { commands: ['RUN'], as: 'error' } } },
            ],
            onError: threwInto('held', 'RUN'),
          },
          on: {
            'OBSERVED.RUNNING': {
              guard: and(['fresh', 'STATE-11']),
              target: '#sandbox.RUNNING.idle',
              actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'success' } }],
              meta: { requirements: ['STATE-2', 'STATE-11'] },
            },
            'OBSERVED.TERMINATING': {
              guard: 'fresh',
              target: 'held',
              actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'died' } }],
            },
            'OBSERVED.TERMINATED': {
              guard: 'fresh',
              target: 'held',
              actions: ['learn', { type: 'settle', params: { commands: ['RUN'], as: 'died' } }],
            },
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
              meta: { requirements: ['ENV-SUSPENDING'] },
              description: 'it ran, unseen, and is being suspended',
            },
            'OBSERVED.SUSPENDED': {
              guard: 'fresh',
              target: '#sandbox.SUSPENDED.idle',
              actions: ['learn', 'install', 'startWindow'],
              meta: { requirements: ['ENV-SUSPENDED'] },
              description: 'it ran, unseen, and was suspended',
            },
          },
        },
      },
      on: { 'OBSERVED.PENDING': { guard: 'fresh', actions: 'learn' } },
    },

    RUNNING: {
      description: 'The run hook answered and the agent token is installed (STATE-2).',
      entry: ['install', { type: 'enter', params: { state: 'RUNNING' } }, 'clearWindow'],
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
                actions: { type: 'answer', params: { verdict: 'no-op' } },
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
                actions: [
                  { type: 'settle', params: { commands: ['SUSPEND'], as: 'error' } },
                  { type: 'settle', params: { commands: ['RESUME'], as: 'STATE-11' } },
                ],
                meta: { requirements: ['ENV-TERMINATED'] },
              },
              {
                guard: 'accepted',
                target: '#sandbox.SUSPENDING.watching',
                actions: ['acceptCall', 'openWindow', { type: 'call', params: { kind: 'awaitSuspended' } }],
                meta: { requirements: ['STATE-4'] },
              },
              {
                guard: 'definite',
                target: 'idle',
                actions: [
                  { type: 'settle', params: { commands: ['SUSPEND'], as: 'error' } },
                  { type: 'settle', params: { commands: ['RESUME'], as: 'already-running' } },
                ],
                description: 'refused by the service: still RUNNING, and a new suspend may go out',
              },
              {
                target: '#sandbox.SUSPENDING.rereading',
                actions: ['openWindow', 'remember', { type: 'call', params: { kind: 'read' } }],
                meta: { requirements: ['STATE-4'] },
                description: 'the answer was lost: it may be suspending, so ask',
              },
            ],
            onError: [
              stale,
              {
                target: '#sandbox.SUSPENDING.rereading',
                actions: ['openWindow', 'remember', { type: 'call', params: { kind: 'read' } }],
                meta: { requirements: ['STATE-4'] },
              },
            ],
          },
          on: {
            SUSPEND: [untimed, { actions: [{ type: 'answer', params: { verdict: 'joined' } }, 'await'] }],
            RESUME: [
              untimed,
              { actions: [{ type: 'answer', params: { verdict: 'deferred' } }, 'await', 'deferResume'] },
            ],
            'OBSERVED.SUSPENDING': {
              guard: 'fresh',
              target: '#sandbox.SUSPENDING.watching',
              actions: ['learn', 'openWindow', { type: 'call', params: { kind: 'awaitSuspended' } }],
              meta: { requirements: ['STATE-4'] },
            },
            'OBSERVED.SUSPENDED': intoSuspended('fresh'),
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
          meta: { requirements: ['ENV-SUSPENDING'] },
          description: 'the idle policy suspends it',
        },
        'OBSERVED.SUSPENDED': {
          guard: 'fresh',
          target: 'SUSPENDED.idle',
          actions: ['learn', 'startWindow'],
          meta: { requirements: ['ENV-SUSPENDED'] },
          description: 'the idle policy suspended it',
        },
        'OBSERVED.TERMINATING': {
          guard: 'fresh',
          target: 'TERMINATING.accepted',
          actions: diesSuspending,
          meta: { requirements: ['ENV-TERMINATING'] },
        },
        'OBSERVED.TERMINATED': {
          guard: 'fresh',
          target: 'TERMINATED',
          actions: diesSuspending,
          meta: { requirements: ['ENV-TERMINATED'] },
        },
      },
    },

    SUSPENDING: {
      description: 'A suspend was accepted and is not complete (STATE-4).',
      entry: { type: 'enter', params: { state: 'SUSPENDING' } },
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
                meta: { requirements: ['EXT-SUSPEND-DIED'] },
                description: 'it died while suspending: over, without an error',
              },
              {
                target: 'unsettled',
                actions: [{ type: 'settle', params: { commands: ['SUSPEND', 'RESUME'], as: 'error' } }],
                description: 'the wait ended without an answer',
              },
            ],
            onError: [
              stale,
              {
                target: 'unsettled',
                actions: [{ type: 'settle', params: { commands: ['SUSPEND', 'RESUME'], as: 'error' } }],
              },
            ],
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
                actions: [
                  'learn',
                  { type: 'settle', params: { commands: ['SUSPEND'], as: 'remembered' } },
                  { type: 'settle', params: { commands: ['RESUME'], as: 'already-running' } },
                ],
                meta: { requirements: ['STATE-11', 'ENV-RUNNING'] },
                description: 'the suspend never arrived',
              },
              {
                guard: 'sawSuspending',
                target: 'watching',
                actions: ['learn', 'acceptCall', { type: 'call', params: { kind: 'awaitSuspended' } }],
              },
              ...intoSuspended('sawSuspended'),
              {
                guard: 'sawTerminating',
                target: '#sandbox.TERMINATING.accepted',
                actions: diesSuspending,
                meta: { requirements: ['EXT-SUSPEND-DIED'] },
              },
              {
                guard: 'sawTerminated',
                target: '#sandbox.TERMINATED',
                actions: diesSuspending,
                meta: { requirements: ['EXT-SUSPEND-DIED'] },
              },
              {
                target: 'unsettled',
                actions: [{ type: 'settle', params: { commands: ['SUSPEND', 'RESUME'], as: 'remembered' } }],
              },
            ],
            onError: [
              stale,
              {
                target: 'unsettled',
                actions: [{ type: 'settle', params: { commands: ['SUSPEND', 'RESUME'], as: 'error' } }],
              },
            ],
          },
        },

        unsettled: {
          description: 'Being suspended, as far as we know, and nobody waits for it. The next report moves on.',
          entry: 'rest',
          on: {
            SUSPEND: [
              untimed,
              {
                target: 'watching',
                actions: [
                  { type: 'answer', params: { verdict: 'joined' } },
                  'await',
                  { type: 'call', params: { kind: 'awaitSuspended' } },
                ],
              },
            ],
            RESUME: [
              untimed,
              {
                target: 'watching',
                actions: [
                  { type: 'answer', params: { verdict: 'deferred' } },
                  'await',
                  'deferResume',
                  { type: 'call', params: { kind: 'awaitSuspended' } },
                ],
              },
            ],
            'OBSERVED.RUNNING': {
              guard: and(['fresh', 'STATE-11']),
              target: '#sandbox.RUNNING.idle',
              actions: 'learn',
              meta: { requirements: ['STATE-11', 'ENV-RUNNING'] },
            },
          },
        },
      },
      on: {
        SUSPEND: [untimed, { actions: [{ type: 'answer', params: { verdict: 'joined' } }, 'await'] }],
        RESUME: [untimed, { actions: [{ type: 'answer', params: { verdict: 'deferred' } }, 'await', 'deferResume'] }],
        'OBSERVED.PENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.RUNNING': { guard: 'fresh', actions: 'learn', description: 'our wait runs: reads may be late' },
        'OBSERVED.SUSPENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.SUSPENDED': intoSuspended('fresh'),
        'OBSERVED.TERMINATING': {
          guard: 'fresh',
          target: 'TERMINATING.accepted',
          actions: diesSuspending,
          meta: { requirements: ['EXT-SUSPEND-DIED'] },
        },
        'OBSERVED.TERMINATED': {
          guard: 'fresh',
          target: 'TERMINATED',
          actions: diesSuspending,
          meta: { requirements: ['EXT-SUSPEND-DIED'] },
        },
      },
    },

    SUSPENDED: {
      description: 'Memory and disk are kept and nothing runs, until the suspended window closes (STATE-6, STATE-12).',
      entry: { type: 'enter', params: { state: 'SUSPENDED' } },
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
                actions: { type: 'answer', params: { verdict: 'no-op' } },
                description: 'already suspended, and the caller chose that this is a success',
              },
            ],
            RESUME: [
              untimed,
              {
                guard: and(['STATE-11', 'STATE-12']),
                target: 'resuming',
                actions: [
                  { type: 'answer', params: { verdict: 'accepted' } },
                  'await',
                  { type: 'call', params: { kind: 'resume' } },
                ],
                meta: { requirements: ['STATE-7', 'STATE-11', 'STATE-12'] },
              },
              { actions: { type: 'refuse', params: { because: 'STATE-12' } }, meta: { requirements: ['STATE-12'] } },
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
                actions: [{ type: 'settle', params: { commands: ['RESUME'], as: 'error' } }],
                meta: { requirements: ['ENV-TERMINATED'] },
                description: 'the service no longer knows it',
              },
              {
                guard: 'accepted',
                target: 'awaitingRunning',
                actions: ['acceptCall', { type: 'call', params: { kind: 'awaitResumed' } }],
                meta: { requirements: ['STATE-7'] },
              },
              {
                guard: and(['definite', 'notConflict']),
                target: 'idle',
                actions: { type: 'settle', params: { commands: ['RESUME'], as: 'error' } },
              },
              {
                target: 'rereading',
                actions: ['remember', { type: 'call', params: { kind: 'read' } }],
                description: 'a conflict, or a lost answer: ask where it is',
              },
            ],
            onError: [
              stale,
              { target: 'rereading', actions: ['remember', { type: 'call', params: { kind: 'read' } }] },
            ],
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
              {
                guard: and(['sawRunning', 'STATE-11']),
                target: '#sandbox.RUNNING.idle',
                actions: [
                  'learn',
                  'dropProxyToken',
                  { type: 'settle', params: { commands: ['RESUME'], as: 'success' } },
                ],
                meta: { requirements: ['STATE-7', 'STATE-8', 'STATE-11'] },
              },
              {
                guard: 'sawAny',
                target: 'idle',
                actions: ['learn', { type: 'settle', params: { commands: ['RESUME'], as: 'died' } }],
                description: 'dead, by one reading; the next report moves on',
              },
              { target: 'idle', actions: { type: 'settle', params: { commands: ['RESUME'], as: 'error' } } },
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
              {
                guard: and(['sawRunning', 'STATE-11']),
                target: '#sandbox.RUNNING.idle',
                actions: [
                  'learn',
                  'dropProxyToken',
                  { type: 'settle', params: { commands: ['RESUME'], as: 'success' } },
                ],
                meta: { requirements: ['STATE-7', 'STATE-8', 'STATE-11'] },
              },
              {
                guard: 'sawPending',
                target: 'awaitingRunning',
                actions: ['learn', { type: 'call', params: { kind: 'awaitResumed' } }],
                description: 'on its way back',
              },
              {
                guard: and(['sawSuspending', 'firstTry']),
                target: 'settling',
                actions: ['learn', { type: 'callAgain', params: { kind: 'awaitSuspended' } }],
                description: 'it was still being suspended: wait, then one more resume',
              },
              {
                guard: 'sawTerminating',
                target: '#sandbox.TERMINATING.accepted',
                actions: ['learn', { type: 'settle', params: { commands: ['RESUME'], as: 'died' } }],
                meta: { requirements: ['ENV-TERMINATING'] },
              },
              {
                guard: 'sawTerminated',
                target: '#sandbox.TERMINATED',
                actions: ['learn', { type: 'settle', params: { commands: ['RESUME'], as: 'died' } }],
                meta: { requirements: ['ENV-TERMINATED'] },
              },
              { target: 'idle', actions: { type: 'settle', params: { commands: ['RESUME'], as: 'remembered' } } },
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
                actions: ['learn', { type: 'call', params: { kind: 'resume' } }],
                meta: { requirements: ['STATE-7', 'STATE-12'] },
              },
              {
                guard: 'sawSuspended',
                target: 'idle',
                actions: ['learn', { type: 'settle', params: { commands: ['RESUME'], as: 'STATE-12' } }],
                meta: { requirements: ['STATE-12'] },
              },
              {
                guard: 'sawTerminated',
                target: '#sandbox.TERMINATED',
                actions: ['learn', { type: 'settle', params: { commands: ['RESUME'], as: 'died' } }],
                meta: { requirements: ['ENV-TERMINATED'] },
              },
              { target: 'idle', actions: { type: 'settle', params: { commands: ['RESUME'], as: 'error' } } },
            ],
            onError: threwInto('idle', 'RESUME'),
          },
        },
      },
      on: {
        RESUME: [untimed, { actions: [{ type: 'answer', params: { verdict: 'joined' } }, 'await'] }],
        'OBSERVED.PENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.RUNNING': {
          guard: and(['fresh', 'STATE-11']),
          target: 'RUNNING.idle',
          actions: ['learn', 'dropProxyToken', { type: 'settle', params: { commands: ['RESUME'], as: 'success' } }],
          meta: { requirements: ['STATE-8', 'STATE-11', 'ENV-RUNNING'] },
          description: 'auto-resumed by traffic, or resumed by us',
        },
        'OBSERVED.SUSPENDING': { guard: 'fresh', actions: 'learn' },
        'OBSERVED.SUSPENDED': { guard: 'fresh', actions: 'learn' },
      },
    },

    TERMINATING: {
      description: 'A terminate was asked for, by us or by the platform. There is no way back (STATE-9, STATE-11).',
      entry: ['markTerminated', { type: 'enter', params: { state: 'TERMINATING' } }],
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
                actions: ['learn', { type: 'settle', params: { commands: ['TERMINATE'], as: 'success' } }],
                meta: { requirements: ['STATE-10'] },
                description: 'already gone',
              },
              {
                guard: and(['accepted', 'waitForEnd']),
                target: 'watching',
                actions: ['acceptCall', { type: 'call', params: { kind: 'awaitTerminated' } }],
                meta: { requirements: ['STATE-9'] },
              },
              {
                guard: 'accepted',
                target: 'accepted',
                actions: ['acceptCall', { type: 'settle', params: { commands: ['TERMINATE'], as: 'success' } }],
                meta: { requirements: ['STATE-9'] },
              },
              {
                target: 'unaccepted',
                actions: { type: 'settle', params: { commands: ['TERMINATE'], as: 'error' } },
                description: 'the call failed: the VM may live on, and TERMINATE is accepted again',
              },
            ],
            onError: threwInto('unaccepted', 'TERMINATE'),
          },
          on: {
            TERMINATE: [untimed, { actions: [{ type: 'answer', params: { verdict: 'joined' } }, 'await', 'joinWait'] }],
          },
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
                actions: ['learn', { type: 'settle', params: { commands: ['TERMINATE'], as: 'success' } }],
                meta: { requirements: ['STATE-10'] },
              },
              {
                target: 'accepted',
                actions: { type: 'settle', params: { commands: ['TERMINATE'], as: 'error' } },
                description: 'accepted, but its end was not seen',
              },
            ],
            onError: threwInto('accepted', 'TERMINATE'),
          },
          on: {
            TERMINATE: [untimed, { actions: [{ type: 'answer', params: { verdict: 'joined' } }, 'await'] }],
          },
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
                actions: [
                  { type: 'answer', params: { verdict: 'joined' } },
                  'await',
                  { type: 'call', params: { kind: 'awaitTerminated' } },
                ],
              },
              { actions: [{ type: 'answer', params: { verdict: 'joined' } }, 'settleNow'] },
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
                actions: [
                  { type: 'answer', params: { verdict: 'accepted' } },
                  'await',
                  { type: 'call', params: { kind: 'terminate' } },
                ],
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
          actions: ['learn', { type: 'settle', params: { commands: ['TERMINATE'], as: 'success' } }],
          meta: { requirements: ['STATE-10'] },
        },
      },
    },

    TERMINATED: {
      description: 'Gone, for good (STATE-10, STATE-11). Not an XState final state: commands still get their answer.',
      entry: ['markTerminated', { type: 'enter', params: { state: 'TERMINATED' } }, 'rest'],
      tags: 'terminal',
      on: {
        TERMINATE: [untimed, { actions: { type: 'answer', params: { verdict: 'no-op' } } }],
        'OBSERVED.TERMINATING': { guard: 'fresh', description: 'a late reading' },
        'OBSERVED.TERMINATED': { guard: 'fresh', actions: 'learn' },
      },
    },
  },
});
