/**
 * The two tables of the lifecycle as data: the answer to each command in each substate, and the effect of each report
 * in each state. The checker compares every cell with the machine; there is no empty one.
 */
import type { CommandType, VmState } from '../../machines/index.ts';

/**
 * What a cell says: one answer, or several with their conditions. Conditions are named here and given a meaning in
 * `table-check.ts`.
 */
export type Cell = string | Readonly<Record<string, string>>;

/** One row of the table of commands: substates with the same answers. */
export interface CommandRow {
  readonly substates: readonly string[];
  readonly cells: Readonly<Record<CommandType, Cell>>;
}

/**
 * Answers to commands. `refused X` names the requirement that speaks, or `Precondition` where there is no VM.
 * Everything is judged under the default policy; what an option changes stands in `optionCells`.
 */
export const commandTable: readonly CommandRow[] = [
  {
    substates: ['PENDING.idle'],
    cells: { RUN: 'accepted', SUSPEND: 'refused Precondition', RESUME: 'refused Precondition', TERMINATE: 'no-op' },
  },
  {
    substates: ['PENDING.launching'],
    cells: { RUN: 'refused STATE-3', SUSPEND: 'refused STATE-5', RESUME: 'refused STATE-7', TERMINATE: 'deferred' },
  },
  {
    substates: ['PENDING.unresolved'],
    cells: {
      RUN: { 'the same intent': 'accepted', 'another intent': 'refused STATE-3' },
      SUSPEND: 'refused STATE-5',
      RESUME: 'refused STATE-7',
      TERMINATE: 'deferred',
    },
  },
  {
    substates: ['PENDING.awaitingRunning', 'PENDING.reviving', 'PENDING.held'],
    cells: { RUN: 'refused STATE-3', SUSPEND: 'refused STATE-5', RESUME: 'refused STATE-7', TERMINATE: 'accepted' },
  },
  {
    substates: ['RUNNING.idle'],
    cells: { RUN: 'refused STATE-3', SUSPEND: 'accepted', RESUME: 'refused STATE-7', TERMINATE: 'accepted' },
  },
  {
    substates: ['RUNNING.suspending', 'SUSPENDING.watching', 'SUSPENDING.rereading', 'SUSPENDING.unsettled'],
    cells: { RUN: 'refused STATE-3', SUSPEND: 'joined', RESUME: 'deferred', TERMINATE: 'accepted' },
  },
  {
    substates: ['SUSPENDED.idle'],
    cells: {
      RUN: 'refused STATE-3',
      SUSPEND: 'refused STATE-5',
      RESUME: { 'the window is open': 'accepted', 'the window is closed': 'refused STATE-12' },
      TERMINATE: 'accepted',
    },
  },
  {
    substates: ['SUSPENDED.resuming', 'SUSPENDED.awaitingRunning', 'SUSPENDED.rereading', 'SUSPENDED.settling'],
    cells: { RUN: 'refused STATE-3', SUSPEND: 'refused STATE-5', RESUME: 'joined', TERMINATE: 'accepted' },
  },
  {
    substates: ['TERMINATING.calling', 'TERMINATING.watching', 'TERMINATING.accepted'],
    cells: { RUN: 'refused STATE-3', SUSPEND: 'refused STATE-5', RESUME: 'refused STATE-11', TERMINATE: 'joined' },
  },
  {
    substates: ['TERMINATING.unaccepted'],
    cells: { RUN: 'refused STATE-3', SUSPEND: 'refused STATE-5', RESUME: 'refused STATE-11', TERMINATE: 'accepted' },
  },
  {
    substates: ['TERMINATED'],
    cells: { RUN: 'refused STATE-3', SUSPEND: 'refused STATE-5', RESUME: 'refused STATE-11', TERMINATE: 'no-op' },
  },
];

/** One row of the table of reports. */
export interface ReportRow {
  readonly substates: readonly string[];
  readonly cells: Readonly<Record<VmState, Cell>>;
}

const stay = 'stay';
const everywhere = (cell: Cell): Record<VmState, Cell> => ({
  PENDING: cell,
  RUNNING: cell,
  SUSPENDING: cell,
  SUSPENDED: cell,
  TERMINATING: cell,
  TERMINATED: cell,
});

const suspendedWhileSuspending = {
  'no RESUME waits': 'SUSPENDED.idle',
  'a RESUME waits, the window is open': 'SUSPENDED.resuming',
  'a RESUME waits, the window is closed': 'SUSPENDED.idle',
};

/** Where a fresh report leads; `stay` where it leads nowhere. A `platform` after the target is the cause on record. */
export const reportTable: readonly ReportRow[] = [
  { substates: ['PENDING.idle', 'PENDING.launching', 'PENDING.unresolved'], cells: everywhere(stay) },
  {
    substates: ['PENDING.awaitingRunning'],
    cells: {
      PENDING: stay,
      RUNNING: 'RUNNING.idle',
      SUSPENDING: { 'the caller keeps the token': stay, 'the token is ours': 'PENDING.held' },
      SUSPENDED: {
        'the caller keeps the token, first time': 'PENDING.reviving',
        'the caller keeps the token, once more': stay,
        'the token is ours': 'PENDING.held',
      },
      TERMINATING: 'PENDING.held',
      TERMINATED: 'PENDING.held',
    },
  },
  {
    // The one resume of a caller-kept launch is under way: reads may lag behind it.
    substates: ['PENDING.reviving'],
    cells: {
      PENDING: stay,
      RUNNING: 'RUNNING.idle',
      SUSPENDING: stay,
      SUSPENDED: stay,
      TERMINATING: 'PENDING.held',
      TERMINATED: 'PENDING.held',
    },
  },
  {
    substates: ['PENDING.held'],
    cells: {
      PENDING: stay,
      RUNNING: 'RUNNING.idle',
      SUSPENDING: 'SUSPENDING.unsettled',
      SUSPENDED: 'SUSPENDED.idle',
      TERMINATING: 'TERMINATING.accepted',
      TERMINATED: 'TERMINATED',
    },
  },
  {
    substates: ['RUNNING.idle'],
    cells: {
      PENDING: stay,
      RUNNING: stay,
      SUSPENDING: 'SUSPENDING.unsettled, platform',
      SUSPENDED: 'SUSPENDED.idle, platform',
      TERMINATING: 'TERMINATING.accepted',
      TERMINATED: 'TERMINATED',
    },
  },
  {
    // Our own suspend is under way: what is seen is its effect.
    substates: ['RUNNING.suspending'],
    cells: {
      PENDING: stay,
      RUNNING: stay,
      SUSPENDING: 'SUSPENDING.watching',
      // The window begins at this moment, so it is open.
      SUSPENDED: { 'no RESUME waits': 'SUSPENDED.idle', 'a RESUME waits': 'SUSPENDED.resuming' },
      TERMINATING: 'TERMINATING.accepted',
      TERMINATED: 'TERMINATED',
    },
  },
  {
    // Our wait runs: reads may lag behind it.
    substates: ['SUSPENDING.watching', 'SUSPENDING.rereading'],
    cells: {
      PENDING: stay,
      RUNNING: stay,
      SUSPENDING: stay,
      SUSPENDED: suspendedWhileSuspending,
      TERMINATING: 'TERMINATING.accepted',
      TERMINATED: 'TERMINATED',
    },
  },
  {
    // Nobody waits, so the report is the newest word.
    substates: ['SUSPENDING.unsettled'],
    cells: {
      PENDING: stay,
      RUNNING: 'RUNNING.idle',
      SUSPENDING: stay,
      SUSPENDED: 'SUSPENDED.idle',
      TERMINATING: 'TERMINATING.accepted',
      TERMINATED: 'TERMINATED',
    },
  },
  {
    substates: [
      'SUSPENDED.idle',
      'SUSPENDED.resuming',
      'SUSPENDED.awaitingRunning',
      'SUSPENDED.rereading',
      'SUSPENDED.settling',
    ],
    cells: {
      PENDING: stay,
      RUNNING: 'RUNNING.idle, proxy token dropped',
      SUSPENDING: stay,
      SUSPENDED: stay,
      TERMINATING: 'TERMINATING.accepted',
      TERMINATED: 'TERMINATED',
    },
  },
  {
    substates: ['TERMINATING.calling', 'TERMINATING.watching', 'TERMINATING.accepted', 'TERMINATING.unaccepted'],
    cells: { ...everywhere(stay), TERMINATED: 'TERMINATED' },
  },
  { substates: ['TERMINATED'], cells: everywhere(stay) },
];

/** A cell that an option changes. */
export interface OptionCell {
  readonly substates: readonly string[];
  readonly event: CommandType | VmState;
  readonly cell: Cell;
}

/** Cells that an option of the machine's policy changes (`SandboxPolicy`). */
export const optionCells: Readonly<Record<string, readonly OptionCell[]>> = {
  'whenAlreadyThere: succeed': [
    { substates: ['RUNNING.idle'], event: 'RESUME', cell: 'no-op' },
    { substates: ['SUSPENDED.idle'], event: 'SUSPEND', cell: 'no-op' },
  ],
  'pastWindow: ask': [
    {
      substates: ['SUSPENDED.idle'],
      event: 'RESUME',
      cell: { 'the window is open': 'accepted', 'the window is closed': 'accepted' },
    },
    {
      substates: ['SUSPENDING.watching', 'SUSPENDING.rereading'],
      event: 'SUSPENDED',
      cell: { ...suspendedWhileSuspending, 'a RESUME waits, the window is closed': 'SUSPENDED.resuming' },
    },
  ],
};
