/**
 * The flat record of a life that a journal keeps, and how a life is taken up again from it.
 *
 * The record is written before each call, so a process that dies at any instruction leaves at least
 * the intent behind. It holds references, never secrets, and has a version of its own: it does not
 * depend on the shape of the engine's snapshots.
 */
import type { VmState } from './records.ts';
import type { QuietSubstate, SandboxContext, SandboxInput } from './sandbox-context.ts';
import type { CallKind, Outcome } from './sandbox-events.ts';
import { acceptLaunch } from './sandbox-rules.ts';

/** What of the context is worth keeping: all but what belongs to the process that died. */
export type KnownContext = Omit<SandboxContext, 'sandboxId' | 'region' | 'policy' | 'waiting' | 'latched' | 'deferred'>;

/** One life, as a journal keeps it. Plain JSON. */
export interface JournalRecord {
  readonly version: 1;
  readonly sandboxId: string;
  /** The region of the VM; it wins over any configuration of the day (FC-131, FC-133). */
  readonly region: string;
  /** Where the life stood, as a dotted path such as `RUNNING.suspending`. */
  readonly substate: string;
  readonly known: KnownContext;
  /** Wall time minus the monotonic reading when this was written: makes `at`s comparable in another process. */
  readonly wallOffsetMs: number;
}

/** The substate in which each call is made. A resume can also be made for a launch that is brought back. */
const substateOfCall: Record<CallKind, (lifecycle: VmState) => string> = {
  launch: () => 'PENDING.launching',
  awaitRunning: () => 'PENDING.awaitingRunning',
  suspend: () => 'RUNNING.suspending',
  awaitSuspended: (lifecycle) => (lifecycle === 'SUSPENDED' ? 'SUSPENDED.settling' : 'SUSPENDING.watching'),
  resume: (lifecycle) => (lifecycle === 'PENDING' ? 'PENDING.reviving' : 'SUSPENDED.resuming'),
  awaitResumed: () => 'SUSPENDED.awaitingRunning',
  read: (lifecycle) => (lifecycle === 'SUSPENDED' ? 'SUSPENDED.rereading' : 'SUSPENDING.rereading'),
  terminate: () => 'TERMINATING.calling',
  awaitTerminated: () => 'TERMINATING.watching',
};

/**
 * The record of a life.
 *
 * @param substate where it stands; left out, it is read from the call in flight
 * @param wallOffsetMs wall time minus the monotonic reading, in milliseconds
 */
export function recordOf(context: SandboxContext, wallOffsetMs: number, substate?: string): JournalRecord {
  const {
    sandboxId,
    region,
    policy: _policy,
    waiting: _waiting,
    latched: _latched,
    deferred: _deferred,
    ...known
  } = context;
  const at =
    substate ?? (context.call === null ? context.lifecycle : substateOfCall[context.call.kind](context.lifecycle));
  return { version: 1, sandboxId, region, substate: at, known, wallOffsetMs };
}

/**
 * The record after a call has ended, where its end is worth more than its intent: a launch that is
 * named or surely made nothing, and a VM that is gone. `null` leaves the intent as it stands.
 */
export function recordAfter(context: SandboxContext, outcome: Outcome, wallOffsetMs: number): JournalRecord | null {
  const event = { type: 'xstate.done.actor', output: outcome };
  if (outcome.gone || outcome.description?.state === 'TERMINATED') {
    return recordOf({ ...context, wasTerminated: true, call: null }, wallOffsetMs, 'TERMINATED');
  }
  if (context.call?.kind !== 'launch') return null;
  if (outcome.error === null) {
    return recordOf({ ...context, ...acceptLaunch(context, event), call: null }, wallOffsetMs, 'PENDING.held');
  }
  return outcome.definite ? recordOf({ ...context, launch: null, call: null }, wallOffsetMs, 'PENDING.idle') : null;
}

/** Where a life goes on when its process died there: a call in flight has lost its answer. */
const quietAfter: Readonly<Record<string, QuietSubstate>> = {
  'PENDING.idle': 'PENDING.idle',
  'PENDING.launching': 'PENDING.unresolved',
  'PENDING.unresolved': 'PENDING.unresolved',
  'PENDING.awaitingRunning': 'PENDING.held',
  'PENDING.reviving': 'PENDING.held',
  'PENDING.held': 'PENDING.held',
  'RUNNING.idle': 'RUNNING.idle',
  'RUNNING.suspending': 'SUSPENDING.unsettled',
  'SUSPENDING.watching': 'SUSPENDING.unsettled',
  'SUSPENDING.rereading': 'SUSPENDING.unsettled',
  'SUSPENDING.unsettled': 'SUSPENDING.unsettled',
  'SUSPENDED.idle': 'SUSPENDED.idle',
  'SUSPENDED.resuming': 'SUSPENDED.idle',
  'SUSPENDED.awaitingRunning': 'SUSPENDED.idle',
  'SUSPENDED.rereading': 'SUSPENDED.idle',
  'SUSPENDED.settling': 'SUSPENDED.idle',
  'TERMINATING.calling': 'TERMINATING.unaccepted',
  'TERMINATING.watching': 'TERMINATING.accepted',
  'TERMINATING.accepted': 'TERMINATING.accepted',
  'TERMINATING.unaccepted': 'TERMINATING.unaccepted',
  TERMINATED: 'TERMINATED',
};

/** The clock of the process that takes the life up. */
export interface ClockReading {
  readonly at: number;
  readonly wallMs: number;
}

/**
 * From a record to the input of a machine that goes on with the life. Pure, and starts nothing: the
 * host's first step is one read, whose report moves the machine to where the VM really is.
 *
 * A substate of another release is never a reason to forget a VM: with an id it goes on as
 * `PENDING.held`, with an intent as `PENDING.unresolved`.
 *
 * @param now without it, times of the dead process are dropped, and the service decides about the window
 * @example
 * const input = restore(record, { at: clock.now(), wallMs: clock.wallNow() });
 * const actor = createActor(machine, { snapshot: initialSnapshot(input) });
 */
export function restore(record: JournalRecord, now?: ClockReading): SandboxInput {
  // A name that every object knows, such as `__proto__`, is no substate.
  const known = Object.hasOwn(quietAfter, record.substate) ? quietAfter[record.substate] : undefined;
  const substate = known ?? nearest(record);
  const here = now === undefined ? null : now.wallMs - now.at;
  const moved = (at: number | null) => (at === null || here === null ? null : at + record.wallOffsetMs - here);
  return {
    sandboxId: record.sandboxId,
    region: record.region,
    resume: {
      substate,
      known: {
        ...record.known,
        suspendedAt:
          substate === 'SUSPENDING.unsettled' && record.substate === 'RUNNING.suspending'
            ? moved(record.known.call?.at ?? null)
            : moved(record.known.suspendedAt),
        changedAt: moved(record.known.changedAt),
        acceptedAt: null,
      },
    },
  };
}

function nearest(record: JournalRecord): QuietSubstate {
  if (record.known.wasTerminated) return 'TERMINATING.unaccepted';
  if (record.known.microvmId !== null) return 'PENDING.held';
  return record.known.launch === null ? 'PENDING.idle' : 'PENDING.unresolved';
}

/** What the service said of a VM that somebody else launched, and the reference to its agent token. */
export interface Adoption {
  readonly sandboxId: string;
  readonly region: string;
  readonly policy?: SandboxInput['policy'];
  readonly microvmId: string;
  readonly endpoint: string;
  readonly state: VmState;
  readonly description: SandboxContext['microvm'];
}

const adoptedAt: Record<VmState, QuietSubstate> = {
  PENDING: 'PENDING.held',
  RUNNING: 'RUNNING.idle',
  SUSPENDING: 'SUSPENDING.unsettled',
  SUSPENDED: 'SUSPENDED.idle',
  TERMINATING: 'TERMINATING.accepted',
  TERMINATED: 'TERMINATED',
};

/** The input of a machine that takes over a VM it did not launch (`client-behaviour.md` 2.12). */
export function adopt(adoption: Adoption): SandboxInput {
  const { state } = adoption;
  const dead = state === 'TERMINATING' || state === 'TERMINATED';
  return {
    sandboxId: adoption.sandboxId,
    region: adoption.region,
    ...(adoption.policy === undefined ? {} : { policy: adoption.policy }),
    resume: {
      substate: adoptedAt[state],
      known: {
        microvmId: adoption.microvmId,
        endpoint: adoption.endpoint,
        microvm: adoption.description,
        stateReason: adoption.description?.stateReason ?? null,
        imageExists: true,
        delivering: state === 'PENDING',
        tokenInstalled: !dead && state !== 'PENDING',
        bootstrapCount: state === 'PENDING' ? 0 : 1,
        wasTerminated: dead,
      },
    },
  };
}
