/** States by commands: what each state does with each of them. */
import type { AnyStateMachine } from 'xstate';
import { commandTypes, sandboxMachine, substateOf, type Answered } from '../../machines/index.ts';
import { explore } from '../explorer.ts';
import { sandboxSystem } from '../sandbox/system.ts';
import { chartOf, type Chart, type ChartTransition } from './chart.ts';
import { guardText } from './guard.ts';

/** States by commands. A cell holds every answer that is possible there. */
export interface AnswerTable {
  readonly commands: readonly string[];
  readonly rows: readonly { readonly state: string; readonly cells: readonly (readonly string[])[] }[];
}

/**
 * The table of a machine. For the lifecycle machine the cells are its answers: every command is given, by
 * `transition()`, to every state that can be reached, and what is emitted is written down. For any other machine a cell
 * says where the command leads.
 */
export function tableOf(machine: AnyStateMachine): AnswerTable {
  return machine === sandboxMachine ? lifecycleTable() : handlingTable(chartOf(machine));
}

/** Prints the table in Markdown, with columns that line up. */
export function toTable(machine: AnyStateMachine): string {
  const { commands, rows } = tableOf(machine);
  const cells = [
    ['state', ...commands],
    ...rows.map(({ state, cells }) => [state, ...cells.map((answers) => answers.join(', ') || '–')]),
  ].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? '')].length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length)).join(' | ')} |`;
  const [head = [], ...body] = cells;
  return `${[line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')}\n`;
}

function lifecycleTable(): AnswerTable {
  const leaves = chartOf(sandboxMachine).states.filter(({ children }) => children.length === 0);
  const answers = new Map<string, Set<string>>();
  explore(sandboxSystem(), {
    onStep: ({ before, action, effects }) => {
      // A command without a time is refused everywhere, for a reason that says nothing of the state.
      if (!('commandId' in action.event) || !Number.isFinite((action.event as { at: number }).at)) return;
      for (const emitted of effects.emitted) {
        if (emitted.type !== 'ANSWERED') continue;
        const { command, verdict, refusal } = emitted as unknown as Answered;
        const key = `${substateOf(before)} ${command}`;
        const answer = refusal === null ? verdict : `${verdict} ${refusal.requirement ?? refusal.kind}`;
        answers.set(key, (answers.get(key) ?? new Set()).add(answer));
      }
    },
  });
  return {
    commands: commandTypes,
    rows: leaves.map(({ path }) => ({
      state: path,
      cells: commandTypes.map((command) => [...(answers.get(`${path} ${command}`) ?? [])].sort()),
    })),
  };
}

function handlingTable(chart: Chart): AnswerTable {
  const commands = [
    ...new Set(chart.transitions.filter(({ trigger }) => trigger === 'command').map(({ event }) => event)),
  ];
  const leaves = chart.states.filter(({ children }) => children.length === 0);
  return {
    commands,
    rows: leaves.map(({ path }) => ({
      state: path,
      cells: commands.map((command) => branches(chart, path, command).map((branch) => branchText(branch, path))),
    })),
  };
}

/** The transitions that a command may take in a state, inner states first, up to the first without a guard. */
function branches(chart: Chart, leaf: string, event: string): ChartTransition[] {
  const found: ChartTransition[] = [];
  for (const from of ancestry(leaf)) {
    for (const candidate of chart.transitions) {
      if (candidate.from !== from || candidate.event !== event) continue;
      found.push(candidate);
      if (candidate.guard === null) return found;
    }
  }
  return found;
}

/** A path and those around it, innermost first; the root's is empty. */
function ancestry(path: string): string[] {
  const parts = path === '' ? [] : path.split('.');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('.')).concat('');
}

function branchText({ to, guard, actions }: ChartTransition, leaf: string): string {
  const does = actions.map(({ name, params }) =>
    params === null ? name : `${name}(${Object.values(params).join(', ')})`,
  );
  const leads = to === null || to === leaf ? 'stays' : `→ ${to}`;
  return [leads, guard === null ? '' : `[${guardText(guard)}]`, does.length === 0 ? '' : `/ ${does.join(' ')}`]
    .filter(Boolean)
    .join(' ');
}
