/**
 * One exec record of the daemon (`agentd-protocol.md` 7 and 8): a command starts once however often it is asked
 * for, its result is published once, and its output leaves once, on the acknowledgement.
 *
 * Deadlines are data: the host asks {@link nextExecDeadline} and sends `TICK`.
 */
import { and, assign, emit, setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import type { AckRefusal, ExecContext, ExecEffect, ExecEvent, ExecPhase, ExecTerms } from './daemon-exec-types.ts';

/** A record without a command. */
export const blank = {
  spawns: 0,
  startedAt: null,
  deadlineAt: null,
  lingerUntil: null,
  childExit: null,
  pipesOpen: false,
  timedOut: false,
  writersMayBeAlive: false,
  exitedAt: null,
  ackedAt: null,
  releases: 0,
} satisfies Omit<ExecContext, 'terms'>;

const execSetup = setup({
  types: {
    context: {} as ExecContext,
    events: {} as ExecEvent,
    emitted: {} as ExecEffect,
    input: {} as ExecTerms,
    tags: {} as ExecPhase,
  },
  guards: {
    deadlineIsDue: ({ context, event }) => context.deadlineAt !== null && event.at >= context.deadlineAt,
    lingerIsOver: ({ context, event }) => context.lingerUntil !== null && event.at >= context.lingerUntil,
    retentionIsOver: ({ context, event }) =>
      context.ackedAt !== null && event.at > context.ackedAt + context.terms.retentionMs,
    pipesAreClosed: ({ context }) => !context.pipesOpen,
    childIsGone: ({ context }) => context.childExit !== null,
    allIsOver: and(['childIsGone', 'pipesAreClosed']),
    reapsTheGroup: ({ context }) => context.terms.reapGroupOnExit,
  },
  actions: {
    begin: assign(({ context, event }) => ({
      ...blank,
      spawns: 1,
      startedAt: event.at,
      deadlineAt: context.terms.timeoutMs === null ? null : event.at + context.terms.timeoutMs,
      pipesOpen: true,
    })),
    forget: assign(() => ({ ...blank })),
    rememberExit: assign(({ context, event }) =>
      event.type === 'CHILD.EXITED' ? { childExit: { exitCode: event.exitCode, signal: event.signal } } : context,
    ),
    closePipes: assign({ pipesOpen: false }),
    expire: assign({ timedOut: true, deadlineAt: null }),
    dropDeadline: assign({ deadlineAt: null }),
    startLinger: assign({ lingerUntil: ({ context, event }) => event.at + context.terms.lingerMs }),
    endLinger: assign({ lingerUntil: null }),
    suspectWriters: assign({ writersMayBeAlive: true }),
    stampExit: assign({ exitedAt: ({ event }) => event.at }),
    release: assign({ ackedAt: ({ event }) => event.at, releases: ({ context }) => context.releases + 1 }),

    answerStart: emit((_, params: { as: 'spawn' | 'known' }) => ({
      type: 'START.ANSWERED' as const,
      outcome: params.as,
    })),
    answerPoll: emit((_, params: { as: ExecPhase | 'unknown' }) => ({
      type: 'POLL.ANSWERED' as const,
      outcome: params.as,
    })),
    answerAck: emit((_, params: { as: 'released' | AckRefusal | 'unknown' }) => ({
      type: 'ACK.ANSWERED' as const,
      outcome: params.as,
    })),
    answerKill: emit((_, params: { as: 'signal' | 'unknown' }) => ({
      type: 'KILL.ANSWERED' as const,
      outcome: params.as,
    })),
    escalate: emit({ type: 'ESCALATE' }),
    publish: emit(({ context }) => ({
      type: 'PUBLISH' as const,
      exitCode: context.childExit?.exitCode ?? null,
      signal: context.childExit?.signal ?? null,
      timedOut: context.timedOut,
      writersMayBeAlive: context.writersMayBeAlive,
    })),
    collect: emit({ type: 'COLLECT' }),
  },
});

/** The exec machine: the very object that the emulated daemon runs and the checker explores. */
export const execMachine = execSetup.createMachine({
  id: 'exec',
  description: 'One command under one caller-minted id.',
  context: ({ input }) => ({ terms: input, ...blank }),
  initial: 'absent',

  // A record that exists answers every request, whatever its phase.
  on: {
    START: {
      description: 'A repeated start spawns nothing.',
      actions: { type: 'answerStart', params: { as: 'known' } },
    },
    KILL: {
      description: 'Survivors are signalled in every phase.',
      actions: { type: 'answerKill', params: { as: 'signal' } },
    },
    'PIPES.CLOSED': { actions: 'closePipes' },
  },

  states: {
    absent: {
      description: 'Never registered, refused, or collected: 404, and the id may be used.',
      on: {
        START: { target: 'running', actions: ['begin', { type: 'answerStart', params: { as: 'spawn' } }] },
        POLL: { actions: { type: 'answerPoll', params: { as: 'unknown' } } },
        ACK: { actions: { type: 'answerAck', params: { as: 'unknown' } } },
        KILL: { actions: { type: 'answerKill', params: { as: 'unknown' } } },
        'PIPES.CLOSED': {},
      },
    },

    running: {
      description: 'No result yet: the child is alive, or its pipes are held and the linger is not over.',
      tags: 'running',
      on: {
        POLL: { actions: { type: 'answerPoll', params: { as: 'running' } } },
        ACK: { actions: { type: 'answerAck', params: { as: 'still_running' } } },
      },
      initial: 'alive',
      states: {
        alive: {
          description: 'The child runs within its deadline.',
          on: {
            'SPAWN.FAILED': {
              description: 'A refused request registers nothing.',
              target: '#exec.absent',
              actions: 'forget',
            },
            TICK: { guard: 'deadlineIsDue', target: 'expiring', actions: 'expire' },
            'CHILD.EXITED': [
              { guard: 'reapsTheGroup', target: 'reaping', actions: ['rememberExit', 'dropDeadline'] },
              { guard: 'pipesAreClosed', target: '#exec.exited', actions: ['rememberExit', 'dropDeadline'] },
              { target: 'lingering', actions: ['rememberExit', 'dropDeadline'] },
            ],
          },
        },
        expiring: {
          description: 'The deadline fired: the group is ended first, the result comes after.',
          entry: 'escalate',
          initial: 'escalating',
          on: {
            'CHILD.EXITED': { actions: 'rememberExit' },
          },
          states: {
            escalating: {
              on: {
                'ESCALATION.ENDED': [
                  { guard: 'allIsOver', target: '#exec.exited' },
                  { guard: 'childIsGone', target: '#exec.running.lingering' },
                  { target: 'awaitingExit' },
                ],
              },
            },
            awaitingExit: {
              description: 'SIGKILL is sent; the exit is on its way.',
              on: {
                'CHILD.EXITED': [
                  { guard: 'pipesAreClosed', target: '#exec.exited', actions: 'rememberExit' },
                  { target: '#exec.running.lingering', actions: 'rememberExit' },
                ],
              },
            },
          },
        },
        reaping: {
          description: 'The child exited and what is left of its group is ended.',
          entry: 'escalate',
          on: {
            'ESCALATION.ENDED': [{ guard: 'pipesAreClosed', target: '#exec.exited' }, { target: 'lingering' }],
          },
        },
        lingering: {
          description: 'The child is gone, but somebody still holds its pipes.',
          entry: 'startLinger',
          exit: 'endLinger',
          on: {
            'PIPES.CLOSED': { target: '#exec.exited', actions: 'closePipes' },
            TICK: { guard: 'lingerIsOver', target: '#exec.exited', actions: 'suspectWriters' },
          },
        },
      },
    },

    exited: {
      description: 'The result is ready and held until somebody takes it.',
      tags: 'exited',
      entry: ['stampExit', 'publish'],
      on: {
        POLL: { actions: { type: 'answerPoll', params: { as: 'exited' } } },
        ACK: { target: 'acked', actions: ['release', { type: 'answerAck', params: { as: 'released' } }] },
      },
    },

    acked: {
      description: 'The output was handed out; the record waits for its collection.',
      tags: 'acked',
      on: {
        POLL: { actions: { type: 'answerPoll', params: { as: 'acked' } } },
        ACK: { actions: { type: 'answerAck', params: { as: 'already_acked' } } },
        TICK: { guard: 'retentionIsOver', target: 'absent', actions: ['collect', 'forget'] },
      },
    },
  },
});

/** A snapshot of {@link execMachine}. */
export type ExecSnapshot = SnapshotFrom<typeof execMachine>;

/** The phase that a poll shows, or `null` for a record that is not there. */
export function execPhase(snapshot: ExecSnapshot): ExecPhase | null {
  if (snapshot.hasTag('running')) return 'running';
  if (snapshot.hasTag('exited')) return 'exited';
  return snapshot.hasTag('acked') ? 'acked' : null;
}

/** When the next `TICK` has something to do, as a reading of the events' clock; `null` for never. */
export function nextExecDeadline({ context }: Pick<ExecSnapshot, 'context'>): number | null {
  if (context.lingerUntil !== null) return context.lingerUntil;
  return context.deadlineAt;
}
