/**
 * The service's own view of one MicroVM (`platform-behaviour.md` 5 to 8, `control-plane-api.md` 8.4 to 8.6).
 *
 * It starts where the service accepted a launch. Callers' calls, the endpoint's traffic, the guest and time come in as
 * events; what the platform does goes out as emitted {@link PlatformEffect}s, which a host carries out and reports
 * back. Deadlines are data: the host asks {@link nextDeadline} and sends `TICK`.
 */
import type { StateFrom } from 'xstate';
import { platformSetup } from './platform-actions.ts';
import { noDeadlines } from './platform-deadlines.ts';
import type { PlatformState } from './platform-types.ts';

/** The platform machine: the very object that the emulator runs and the checker explores. */
export const platformMachine = platformSetup.createMachine({
  id: 'platform',
  description: 'One MicroVM as the service sees it, from the accepted launch on.',
  context: ({ input }) => ({
    terms: input.terms,
    deadlines: {
      ...noDeadlines,
      lifetime: input.at + input.terms.maximumDurationMs,
      step: input.at + input.terms.delays.launchDelayMs,
    },
    explicitSuspend: false,
    requestsHeld: false,
    openConnections: 0,
    exitCode: null,
    cause: 'user',
    stateReason: null,
  }),

  // The laws that hold wherever a state does not say otherwise.
  on: {
    TICK: {
      description: 'The maximum duration ends a VM running or suspended.',
      guard: 'lifetimeIsOver',
      target: '.TERMINATING',
      actions: 'endedByLifetime',
    },
    TERMINATE: {
      description: 'A terminate is accepted in every state.',
      target: '.TERMINATING',
      actions: [{ type: 'answer', params: { as: 'ok' } }, 'endedByCaller'],
    },
    'GUEST.EXITED': { target: '.TERMINATING', actions: ['rememberExitCode', 'endedByExit'] },
    'GUEST.LOST': { target: '.TERMINATING', actions: 'endedByLoss' },
    'TRAFFIC.REQUEST': { description: 'Nobody to forward to: 502.', actions: 'refuseRequest' },
    'TRAFFIC.CONNECTIONS': { actions: 'countConnections' },
  },

  initial: 'PENDING',
  states: {
    PENDING: {
      description: 'Launched, not yet RUNNING.',
      on: {
        SUSPEND: { actions: { type: 'answer', params: { as: 'suspendOfPending' } } },
        RESUME: { actions: { type: 'answer', params: { as: 'resumeOfPending' } } },
      },
      initial: 'restoring',
      states: {
        restoring: {
          description: 'Memory and disk of the image come back.',
          exit: 'endStep',
          on: { TICK: { guard: 'stepIsOver', target: 'runHook' } },
        },
        runHook: {
          description: 'The guest gets its payload; anything but 200 ends the VM.',
          entry: [
            { type: 'callHook', params: { hook: 'run' } },
            { type: 'limitHook', params: { hook: 'run' } },
          ],
          exit: 'endStep',
          on: {
            'GUEST.HOOK_ANSWERED': [
              { guard: { type: 'hookPassed', params: { hook: 'run' } }, target: '#platform.RUNNING' },
              {
                guard: { type: 'hookFailed', params: { hook: 'run' } },
                target: '#platform.TERMINATING',
                actions: { type: 'endedByHook', params: { hook: 'run' } },
              },
            ],
            TICK: {
              guard: 'stepIsOver',
              target: '#platform.TERMINATING',
              actions: { type: 'endedByHookTimeout', params: { hook: 'run' } },
            },
            'TRAFFIC.REQUEST': { guard: 'leaksTrafficBeforeRun', actions: 'forwardRequest' },
          },
        },
      },
    },

    RUNNING: {
      description: 'Serves traffic, and is billed even when idle.',
      on: {
        SUSPEND: { target: 'SUSPENDING', actions: [{ type: 'answer', params: { as: 'ok' } }, 'suspendedByCaller'] },
        RESUME: { actions: { type: 'answer', params: { as: 'resumeOfRunning' } } },
        TERMINATE: {
          target: '#platform.TERMINATING.terminateHook',
          actions: [{ type: 'answer', params: { as: 'ok' } }, 'endedByCaller'],
        },
        TICK: {
          guard: 'lifetimeIsOver',
          target: '#platform.TERMINATING.terminateHook',
          actions: 'endedByLifetime',
        },
      },
      initial: 'serving',
      states: {
        serving: {
          description: 'Only traffic through the endpoint resets the idle timer.',
          entry: ['startIdleTimer', 'forwardHeldRequests', 'forgetHeldRequests'],
          exit: 'stopIdleTimer',
          on: {
            'TRAFFIC.REQUEST': { actions: ['forwardRequest', 'startIdleTimer'] },
            'TRAFFIC.BYTES': { actions: 'startIdleTimer' },
            'TRAFFIC.CONNECTIONS': { actions: ['countConnections', 'startIdleTimer'] },
            'TRAFFIC.DENIED': { guard: 'badTokenCounts', actions: 'startIdleTimer' },
            TICK: [
              {
                description: 'A window of 0 ends an idle VM instead of suspending it.',
                guard: 'idleForTooLongWithoutWindow',
                target: '#platform.TERMINATING.terminateHook',
                actions: 'endedByWindow',
              },
              { guard: 'idleForTooLong', target: '#platform.SUSPENDING', actions: 'suspendedByIdlePolicy' },
            ],
            'GUEST.EXITED': { target: 'exited', actions: 'rememberExitCode' },
          },
        },
        exited: {
          description: 'The main process is gone: the endpoint answers 502 at once, reads say RUNNING for a while.',
          entry: ['breakConnections', 'forgetConnections', { type: 'startStep', params: { lasting: 'exitDelayMs' } }],
          exit: 'endStep',
          on: {
            TICK: [
              { guard: 'stepIsOver', target: '#platform.TERMINATING', actions: 'endedByExit' },
              { guard: 'lifetimeIsOver', target: '#platform.TERMINATING', actions: 'endedByLifetime' },
            ],
            SUSPEND: { actions: { type: 'answer', params: { as: 'ok' } } },
            TERMINATE: {
              description: 'Nobody is left who could hear the terminate hook.',
              target: '#platform.TERMINATING',
              actions: [{ type: 'answer', params: { as: 'ok' } }, 'endedByCaller'],
            },
            'GUEST.EXITED': {},
          },
        },
      },
    },

    SUSPENDING: {
      description: 'On the way to a checkpoint; still billed.',
      on: {
        SUSPEND: { actions: { type: 'answer', params: { as: 'suspendOfSuspending' } } },
        RESUME: { actions: { type: 'answer', params: { as: 'resumeOfSuspending' } } },
        'TRAFFIC.REQUEST': {
          description: 'Held, and resumed for as soon as the checkpoint is written.',
          guard: 'holdsTrafficWhileSuspending',
          actions: ['holdRequest', 'rememberHeldRequests'],
        },
      },
      initial: 'suspendHook',
      states: {
        suspendHook: {
          description: 'The guest may prepare; anything but 200 ends the VM.',
          entry: [
            { type: 'callHook', params: { hook: 'suspend' } },
            { type: 'limitHook', params: { hook: 'suspend' } },
          ],
          exit: 'endStep',
          on: {
            'GUEST.HOOK_ANSWERED': [
              { guard: { type: 'hookPassed', params: { hook: 'suspend' } }, target: 'freezing' },
              {
                guard: { type: 'hookFailed', params: { hook: 'suspend' } },
                target: '#platform.TERMINATING',
                actions: { type: 'endedByHook', params: { hook: 'suspend' } },
              },
            ],
            TICK: {
              guard: 'stepIsOver',
              target: '#platform.TERMINATING',
              actions: { type: 'endedByHookTimeout', params: { hook: 'suspend' } },
            },
          },
        },
        freezing: {
          description: 'Connections break, every process stops.',
          entry: ['breakConnections', 'forgetConnections', 'freezeGuest'],
          on: { 'GUEST.FROZEN': 'checkpointing' },
        },
        checkpointing: {
          description: 'Memory and disk are written.',
          entry: { type: 'startStep', params: { lasting: 'suspendDelayMs' } },
          exit: 'endStep',
          on: {
            TICK: [
              {
                description: 'Somebody already waits at the endpoint.',
                guard: 'stepIsOverAndRequestsWait',
                target: '#platform.SUSPENDED.restoring',
                actions: { type: 'because', params: { cause: 'platform' } },
              },
              { guard: 'stepIsOver', target: '#platform.SUSPENDED' },
            ],
          },
        },
      },
    },

    SUSPENDED: {
      description: 'Only storage is billed. Reads say SUSPENDED until the VM is RUNNING again.',
      on: { SUSPEND: { actions: { type: 'answer', params: { as: 'suspendOfSuspended' } } } },
      initial: 'idle',
      states: {
        idle: {
          description: 'The suspended window runs, anew after every suspension.',
          entry: 'openWindow',
          exit: 'closeWindow',
          on: {
            RESUME: {
              target: 'restoring',
              actions: [
                { type: 'answer', params: { as: 'ok' } },
                { type: 'because', params: { cause: 'user' } },
              ],
            },
            'TRAFFIC.REQUEST': {
              description: 'Auto-resume holds the request.',
              guard: 'autoResumes',
              target: 'restoring',
              actions: ['holdRequest', 'rememberHeldRequests', { type: 'because', params: { cause: 'platform' } }],
            },
            'TRAFFIC.DENIED': {
              guard: 'autoResumesEvenForBadTokens',
              target: 'restoring',
              actions: { type: 'because', params: { cause: 'platform' } },
            },
            TICK: { guard: 'windowIsOver', target: '#platform.TERMINATING', actions: 'endedByWindow' },
          },
        },
        restoring: {
          description: 'Memory comes back.',
          tags: 'resuming',
          entry: { type: 'startStep', params: { lasting: 'resumeDelayMs' } },
          exit: 'endStep',
          on: {
            RESUME: { actions: { type: 'answer', params: { as: 'ok' } } },
            'TRAFFIC.REQUEST': { guard: 'autoResumes', actions: ['holdRequest', 'rememberHeldRequests'] },
            TICK: { guard: 'stepIsOver', target: 'thawing' },
          },
        },
        thawing: {
          description: 'Every process goes on; the clocks have jumped.',
          tags: 'resuming',
          entry: 'thawGuest',
          on: {
            RESUME: { actions: { type: 'answer', params: { as: 'ok' } } },
            'TRAFFIC.REQUEST': { guard: 'autoResumes', actions: ['holdRequest', 'rememberHeldRequests'] },
            'GUEST.THAWED': 'resumeHook',
          },
        },
        resumeHook: {
          description: 'The guest may repair what the pause broke.',
          tags: 'resuming',
          entry: [
            { type: 'callHook', params: { hook: 'resume' } },
            { type: 'limitHook', params: { hook: 'resume' } },
          ],
          exit: 'endStep',
          on: {
            RESUME: { actions: { type: 'answer', params: { as: 'ok' } } },
            'TRAFFIC.REQUEST': { guard: 'autoResumes', actions: ['holdRequest', 'rememberHeldRequests'] },
            'GUEST.HOOK_ANSWERED': [
              { guard: { type: 'hookPassed', params: { hook: 'resume' } }, target: '#platform.RUNNING' },
              { guard: { type: 'failedHookMaySuspendAgain', params: { hook: 'resume' } }, target: 'freezingAgain' },
              {
                guard: { type: 'hookFailed', params: { hook: 'resume' } },
                target: '#platform.TERMINATING',
                actions: { type: 'endedByHook', params: { hook: 'resume' } },
              },
            ],
            TICK: [
              { guard: 'lateHookMaySuspendAgain', target: 'freezingAgain' },
              {
                guard: 'stepIsOver',
                target: '#platform.TERMINATING',
                actions: { type: 'endedByHookTimeout', params: { hook: 'resume' } },
              },
            ],
          },
        },
        freezingAgain: {
          description: 'The resume failed: whoever waited gets 502, the VM stays suspended.',
          entry: ['refuseHeldRequests', 'forgetHeldRequests', 'freezeGuest'],
          on: { 'GUEST.FROZEN': 'idle', RESUME: { actions: { type: 'answer', params: { as: 'resumeOfSuspending' } } } },
        },
      },
    },

    TERMINATING: {
      description: 'No way back from here.',
      entry: ['stopAllTimers', 'refuseHeldRequests', 'forgetHeldRequests'],
      on: {
        SUSPEND: { actions: { type: 'answer', params: { as: 'suspendOfTerminating' } } },
        RESUME: { actions: { type: 'answer', params: { as: 'resumeOfTerminating' } } },
        TERMINATE: { actions: { type: 'answer', params: { as: 'ok' } } },
        'GUEST.EXITED': {},
        'GUEST.LOST': {},
      },
      initial: 'destroying',
      states: {
        terminateHook: {
          description: 'Whatever the guest answers, it is too late.',
          entry: [
            { type: 'callHook', params: { hook: 'terminate' } },
            { type: 'limitHook', params: { hook: 'terminate' } },
          ],
          exit: 'endStep',
          on: {
            'GUEST.HOOK_ANSWERED': [
              { guard: { type: 'hookPassed', params: { hook: 'terminate' } }, target: 'destroying' },
              { guard: { type: 'hookFailed', params: { hook: 'terminate' } }, target: 'destroying' },
            ],
            TICK: { guard: 'stepIsOver', target: 'destroying' },
          },
        },
        destroying: {
          description: 'Connections break, processes and files go.',
          entry: ['breakConnections', 'forgetConnections', 'destroyGuest'],
          on: { 'GUEST.DESTROYED': 'releasing' },
        },
        releasing: {
          description: 'Resources are given back.',
          entry: { type: 'startStep', params: { lasting: 'terminateDelayMs' } },
          exit: 'endStep',
          on: { TICK: { guard: 'stepIsOver', target: '#platform.TERMINATED' } },
        },
      },
    },

    TERMINATED: {
      description: 'The end. Reads keep answering it for a long time.',
      on: {
        SUSPEND: { actions: { type: 'answer', params: { as: 'suspendOfTerminated' } } },
        RESUME: { actions: { type: 'answer', params: { as: 'resumeOfTerminated' } } },
        TERMINATE: { actions: { type: 'answer', params: { as: 'ok' } } },
        'GUEST.EXITED': {},
        'GUEST.LOST': {},
        TICK: {},
      },
    },
  },
});

/** A snapshot of the platform machine. */
export type PlatformSnapshot = StateFrom<typeof platformMachine>;

/** The state that a read of the VM answers: the chart's, except that a resume may show as PENDING by option. */
export function reportedState(snapshot: PlatformSnapshot): PlatformState {
  if (snapshot.hasTag('resuming') && snapshot.context.terms.options.resumeShowsPending) return 'PENDING';
  const { value } = snapshot;
  return (typeof value === 'string' ? value : Object.keys(value)[0]) as PlatformState;
}
