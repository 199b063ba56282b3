/** Compares the two tables of the lifecycle with what the machine does, cell by cell. */
import {
  commandTypes,
  substateOf,
  vmStates,
  type CommandType,
  type SandboxPolicy,
  type SandboxSnapshot,
  type VmState,
} from '../../machines/index.ts';
import { commandTable, optionCells, reportTable, type Cell } from './lifecycle-tables.ts';
import { answersOf, commandOf, freshReport } from './steps.ts';
import type { SandboxStep } from './system.ts';
import { windowOf } from './times.ts';

/** One cell, or one condition of it, and what the machine did. */
export interface CellResult {
  readonly table: 'commands' | 'reports';
  /** The substate. */
  readonly state: string;
  /** The command, or the reported state. */
  readonly event: CommandType | VmState;
  /** The condition under which this holds; `null` where the cell has one answer. */
  readonly condition: string | null;
  readonly expected: string;
  /** How many steps were compared. None means that the cell was not tested, and fails the check. */
  readonly witnesses: number;
  /** The first answer that differs, or `null`. */
  readonly found: string | null;
  readonly holds: boolean;
}

/** What each condition means, for the step that it is asked of. */
const conditions: Readonly<Record<string, (step: SandboxStep) => boolean>> = {
  'the same intent': ({ action }) => action.label.startsWith('RUN with the same intent'),
  'another intent': ({ action }) => !action.label.startsWith('RUN with the same intent'),
  'the window is open': isWindowOpen,
  'the window is closed': (step) => !isWindowOpen(step),
  'the caller keeps the token': ({ before }) => keepsToken(before),
  'the caller keeps the token, first time': ({ before }) => keepsToken(before) && !before.context.revived,
  'the caller keeps the token, once more': ({ before }) => keepsToken(before) && before.context.revived,
  'the token is ours': ({ before }) => !keepsToken(before),
  'no RESUME waits': ({ before }) => before.context.deferred === null,
  'a RESUME waits': ({ before }) => before.context.deferred !== null,
  'a RESUME waits, the window is open': (step) => step.before.context.deferred !== null && isWindowOpen(step),
  'a RESUME waits, the window is closed': (step) => step.before.context.deferred !== null && !isWindowOpen(step),
};

function keepsToken({ context }: SandboxSnapshot): boolean {
  return context.launch === null || context.launch.callerKept;
}

/** The last instant of the window counts as open; where no window runs there is none to be closed. */
function isWindowOpen({ before, action }: SandboxStep): boolean {
  const window = windowOf(before.context);
  return window === null || (action.event as { at: number }).at <= window.until;
}

/** The answer to a command, as the table writes it. */
function answerTo(step: SandboxStep): string {
  const [answer] = answersOf(step);
  if (answer === undefined) return 'no answer';
  const { verdict, refusal } = answer;
  return verdict === 'refused' ? `refused ${refusal?.requirement ?? refusal?.kind ?? 'without a reason'}` : verdict;
}

/** Where a report leads, as the table writes it; `expected` says which details the cell names. */
function effectOf({ before, after, effects }: SandboxStep, expected: string): string {
  const to = substateOf(after);
  if (to === substateOf(before)) return 'stay';
  const details = [
    expected.endsWith(', platform') && after.context.cause === 'platform' && ', platform',
    expected.endsWith(', proxy token dropped') &&
      effects.emitted.some(({ type }) => type === 'PROXY_TOKEN_DROPPED') &&
      ', proxy token dropped',
  ];
  return to + details.filter((detail) => detail !== false).join('');
}

function entries(cell: Cell): [string | null, string][] {
  return typeof cell === 'string' ? [[null, cell]] : Object.entries(cell);
}

/** Collects what the machine does in each cell. Feed it every step of an exploration, then ask for the results. */
export class TableCheck {
  private readonly cells = new Map<string, CellResult[]>();

  /** @param policy the options under which the machine is explored; they change some cells */
  constructor(policy: Partial<SandboxPolicy> = {}) {
    const changed = Object.entries(policy).flatMap(([option, value]) => optionCells[`${option}: ${value}`] ?? []);
    const add = (table: CellResult['table'], state: string, event: CellResult['event'], cell: Cell): void => {
      const option = changed.find(({ substates, event: of }) => substates.includes(state) && of === event);
      this.cells.set(
        [table, state, event].join(),
        entries(option?.cell ?? cell).map(([condition, expected]) => {
          return { table, state, event, condition, expected, witnesses: 0, found: null, holds: false };
        }),
      );
    };
    for (const { substates, cells } of commandTable) {
      for (const state of substates) for (const event of commandTypes) add('commands', state, event, cells[event]);
    }
    for (const { substates, cells } of reportTable) {
      for (const state of substates) for (const event of vmStates) add('reports', state, event, cells[event]);
    }
  }

  /** Compares one step with its cell; a step that no cell speaks about counts for nothing. */
  see(step: SandboxStep): void {
    const state = substateOf(step.before);
    const command = commandOf(step);
    if (command !== null) {
      if (Number.isFinite(command.at)) this.compare('commands', state, command.type, step);
      return;
    }
    const reported = freshReport(step) ?? reportBeforeAnyVm(step);
    if (reported !== null) this.compare('reports', state, reported as VmState, step);
  }

  /** Every cell. */
  results(): readonly CellResult[] {
    return [...this.cells.values()].flat();
  }

  private compare(table: CellResult['table'], state: string, event: CellResult['event'], step: SandboxStep): void {
    const key = [table, state, event].join();
    const judged = (this.cells.get(key) ?? []).map((cell) => {
      if (cell.condition !== null && conditions[cell.condition]?.(step) !== true) return cell;
      const found = table === 'commands' ? answerTo(step) : effectOf(step, cell.expected);
      const differs = cell.found ?? (found === cell.expected ? null : found);
      return { ...cell, witnesses: cell.witnesses + 1, found: differs, holds: differs === null };
    });
    this.cells.set(key, judged);
  }
}

/** A report that comes while no VM is known: it cannot be about ours. */
function reportBeforeAnyVm({ before, action }: SandboxStep): string | null {
  const { type } = action.event;
  return before.context.microvmId === null && type.startsWith('OBSERVED.') ? type.slice('OBSERVED.'.length) : null;
}
