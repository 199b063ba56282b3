/** The two tables of the lifecycle as data: what each command is answered in each substate, and where each report leads. */
import type { CommandType, RequirementId, Verdict, VmState } from '../../machines/index.ts';

/** One cell of the table of commands: the verdict, who refuses, and how many calls go out for it. */
export interface CommandCell {
  readonly verdict: Verdict;
  readonly kind?: 'Precondition' | 'InvalidArg' | 'WindowClosed';
  readonly requirement?: RequirementId;
  /** Control-plane operations that the command itself starts at once. */
  readonly calls: readonly string[];
}

const refusedBy = (requirement: RequirementId): CommandCell => ({
  verdict: 'refused',
  kind: 'InvalidArg',
  requirement,
  calls: [],
});
const noVm: CommandCell = { verdict: 'refused', kind: 'Precondition', calls: [] };
const accepted = (...calls: string[]): CommandCell => ({ verdict: 'accepted', calls });
const joined: CommandCell = { verdict: 'joined', calls: [] };
const deferred: CommandCell = { verdict: 'deferred', calls: [] };
const noOp: CommandCell = { verdict: 'no-op', calls: [] };

/** Rows are substates, columns the four commands, in their order. */
export const commandTable: Readonly<Record<string, Readonly<Record<CommandType, CommandCell>>>> = {
  'PENDING.idle': row(accepted('RunMicrovm'), noVm, noVm, noOp),
  'PENDING.launching': row(refusedBy('STATE-3'), refusedBy('STATE-5'), refusedBy('STATE-7'), deferred),
  'PENDING.unresolved': row(refusedBy('STATE-3'), refusedBy('STATE-5'), refusedBy('STATE-7'), {
    verdict: 'deferred',
    calls: ['RunMicrovm'],
  }),
  'PENDING.awaitingRunning': row(
    refusedBy('STATE-3'),
    refusedBy('STATE-5'),
    refusedBy('STATE-7'),
    accepted('TerminateMicrovm'),
  ),
  'PENDING.reviving': row(
    refusedBy('STATE-3'),
    refusedBy('STATE-5'),
    refusedBy('STATE-7'),
    accepted('TerminateMicrovm'),
  ),
  'PENDING.held': row(refusedBy('STATE-3'), refusedBy('STATE-5'), refusedBy('STATE-7'), accepted('TerminateMicrovm')),
  'RUNNING.idle': row(
    refusedBy('STATE-3'),
    accepted('SuspendMicrovm'),
    refusedBy('STATE-7'),
    accepted('TerminateMicrovm'),
  ),
  'RUNNING.suspending': row(refusedBy('STATE-3'), joined, deferred, accepted('TerminateMicrovm')),
  'SUSPENDING.watching': row(refusedBy('STATE-3'), joined, deferred, accepted('TerminateMicrovm')),
  'SUSPENDING.rereading': row(refusedBy('STATE-3'), joined, deferred, accepted('TerminateMicrovm')),
  // Nobody waits there, so whoever joins or is deferred makes the machine look again.
  'SUSPENDING.unsettled': row(
    refusedBy('STATE-3'),
    { ...joined, calls: ['GetMicrovm'] },
    { ...deferred, calls: ['GetMicrovm'] },
    accepted('TerminateMicrovm'),
  ),
  'SUSPENDED.idle': row(
    refusedBy('STATE-3'),
    refusedBy('STATE-5'),
    accepted('ResumeMicrovm'),
    accepted('TerminateMicrovm'),
  ),
  'SUSPENDED.resuming': row(refusedBy('STATE-3'), refusedBy('STATE-5'), joined, accepted('TerminateMicrovm')),
  'SUSPENDED.awaitingRunning': row(refusedBy('STATE-3'), refusedBy('STATE-5'), joined, accepted('TerminateMicrovm')),
  'SUSPENDED.rereading': row(refusedBy('STATE-3'), refusedBy('STATE-5'), joined, accepted('TerminateMicrovm')),
  'TERMINATING.calling': row(refusedBy('STATE-3'), refusedBy('STATE-5'), refusedBy('STATE-11'), joined),
  'TERMINATING.watching': row(refusedBy('STATE-3'), refusedBy('STATE-5'), refusedBy('STATE-11'), joined),
  'TERMINATING.accepted': row(refusedBy('STATE-3'), refusedBy('STATE-5'), refusedBy('STATE-11'), joined),
  'TERMINATING.unaccepted': row(
    refusedBy('STATE-3'),
    refusedBy('STATE-5'),
    refusedBy('STATE-11'),
    accepted('TerminateMicrovm'),
  ),
  TERMINATED: row(refusedBy('STATE-3'), refusedBy('STATE-5'), refusedBy('STATE-11'), noOp),
};

function row(RUN: CommandCell, SUSPEND: CommandCell, RESUME: CommandCell, TERMINATE: CommandCell) {
  return { RUN, SUSPEND, RESUME, TERMINATE };
}

/** A past window turns the one accepted resume into a refusal. */
export const pastWindow: CommandCell = { verdict: 'refused', kind: 'WindowClosed', requirement: 'STATE-12', calls: [] };

/** Where a report leads: a substate, or `stay`. */
export type ReportRow = Readonly<Record<VmState, string>>;

/** Rows are substates, columns the reported states. */
export const reportTable: Readonly<Record<string, ReportRow>> = {
  'PENDING.awaitingRunning': reports(
    'stay',
    'RUNNING.idle',
    'PENDING.held',
    'PENDING.held',
    'PENDING.held',
    'PENDING.held',
  ),
  'PENDING.awaitingRunning (caller-kept)': reports(
    'stay',
    'RUNNING.idle',
    'stay',
    'PENDING.reviving',
    'PENDING.held',
    'PENDING.held',
  ),
  'PENDING.held': reports(
    'stay',
    'RUNNING.idle',
    'SUSPENDING.unsettled',
    'SUSPENDED.idle',
    'TERMINATING.accepted',
    'TERMINATED',
  ),
  'RUNNING.idle': reports(
    'stay',
    'stay',
    'SUSPENDING.unsettled',
    'SUSPENDED.idle',
    'TERMINATING.accepted',
    'TERMINATED',
  ),
  'RUNNING.suspending': reports(
    'stay',
    'stay',
    'SUSPENDING.watching',
    'SUSPENDED.idle',
    'TERMINATING.accepted',
    'TERMINATED',
  ),
  'SUSPENDING.watching': reports('stay', 'stay', 'stay', 'SUSPENDED.idle', 'TERMINATING.accepted', 'TERMINATED'),
  'SUSPENDING.rereading': reports('stay', 'stay', 'stay', 'SUSPENDED.idle', 'TERMINATING.accepted', 'TERMINATED'),
  'SUSPENDING.unsettled': reports(
    'stay',
    'RUNNING.idle',
    'stay',
    'SUSPENDED.idle',
    'TERMINATING.accepted',
    'TERMINATED',
  ),
  'SUSPENDED.idle': reports('stay', 'RUNNING.idle', 'stay', 'stay', 'TERMINATING.accepted', 'TERMINATED'),
  'SUSPENDED.resuming': reports('stay', 'RUNNING.idle', 'stay', 'stay', 'TERMINATING.accepted', 'TERMINATED'),
  'SUSPENDED.awaitingRunning': reports('stay', 'RUNNING.idle', 'stay', 'stay', 'TERMINATING.accepted', 'TERMINATED'),
  'TERMINATING.calling': reports('stay', 'stay', 'stay', 'stay', 'stay', 'TERMINATED'),
  'TERMINATING.accepted': reports('stay', 'stay', 'stay', 'stay', 'stay', 'TERMINATED'),
  'TERMINATING.unaccepted': reports('stay', 'stay', 'stay', 'stay', 'stay', 'TERMINATED'),
  TERMINATED: reports('stay', 'stay', 'stay', 'stay', 'stay', 'stay'),
};

function reports(
  PENDING: string,
  RUNNING: string,
  SUSPENDING: string,
  SUSPENDED: string,
  TERMINATING: string,
  TERMINATED: string,
) {
  return { PENDING, RUNNING, SUSPENDING, SUSPENDED, TERMINATING, TERMINATED };
}
