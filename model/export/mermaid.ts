/** A chart as a Mermaid state diagram (`stateDiagram-v2`), which GitHub and many editors draw in place. */
import type { AnyStateMachine } from 'xstate';
import { chartOf, isInFlight, topOf, type Chart, type ChartState, type ChartTransition } from './chart.ts';
import { guardNames, guardText } from './guard.ts';
import { overviewOf } from './overview.ts';

/** Options of {@link toMermaid}. */
export interface MermaidOptions {
  /** Only the outermost states, and one arrow between each two. */
  readonly flat?: boolean;
  /** Which way it reads: top to bottom (default), or left to right. */
  readonly direction?: 'TB' | 'LR';
  /** Marks a state, given by its path, such as `RUNNING` or `RUNNING.suspending`. */
  readonly highlight?: string | null;
  /** Also draws transitions that stay where they are, as loops. Off by default: they are many. */
  readonly loops?: boolean;
}

/**
 * Prints a machine as a Mermaid state diagram, with nesting, guards and requirement ids.
 *
 * A law of the root, which holds in every state, is drawn once, from a state called `any state`.
 *
 * @example
 * await writeFile('lifecycle.mmd', toMermaid(sandboxMachine, { flat: true }));
 */
export function toMermaid(machine: AnyStateMachine, options: MermaidOptions = {}): string {
  const chart = chartOf(machine);
  const { flat = false, direction = 'TB', highlight = null } = options;
  const lines = [
    'stateDiagram-v2',
    `  direction ${direction}`,
    ...(flat ? flatLines(chart) : nestedLines(chart, options)),
  ];
  if (highlight !== null) {
    const marked = flat ? topOf(highlight) : highlight;
    lines.push('  classDef current fill:#1f6feb,stroke:#1f6feb,color:#ffffff', `  class ${nodeId(marked)} current`);
  }
  return `${lines.join('\n')}\n`;
}

function flatLines(chart: Chart): string[] {
  const { states, initial, arrows } = overviewOf(chart);
  return [
    ...(initial === null ? [] : [`  [*] --> ${nodeId(initial)}`]),
    ...arrows.map(({ from, to, events, requirements }) => {
      const words = [...inRows(events, ', ', 2), ...inRows(requirements, ' · ', 2)].map(escapeText);
      return `  ${nodeId(from)} --> ${nodeId(to)}${words.length === 0 ? '' : ` : ${words.join('<br/>')}`}`;
    }),
    // A state that nothing leaves ends the life.
    ...states
      .filter((state) => arrows.length > 0 && !arrows.some(({ from }) => from === state))
      .map((state) => `  ${nodeId(state)} --> [*]`),
  ];
}

/** Mermaid wraps where it likes; rows of a few words keep labels narrow. */
function inRows(words: readonly string[], separator: string, perRow: number): string[] {
  const rows: string[] = [];
  for (let at = 0; at < words.length; at += perRow) rows.push(words.slice(at, at + perRow).join(separator));
  return rows;
}

function nestedLines(chart: Chart, { loops = false }: MermaidOptions): string[] {
  const drawn = chart.transitions.filter(({ to }) => to !== null || loops);
  const root = chart.states.find(({ path }) => path === '');
  const fromAnywhere = drawn.some(({ source }) => source === '');
  return [
    ...(root?.initial ? [`  [*] --> ${nodeId(topOf(root.initial))}`] : []),
    ...(root?.children ?? []).flatMap((path) => stateLines(chart, path, 1)),
    ...(fromAnywhere ? [`  state "any state" as ${anyState}`] : []),
    ...arrowLines(drawn),
    ...classLines(chart.states, fromAnywhere),
  ];
}

function stateLines(chart: Chart, path: string, depth: number): string[] {
  const state = chart.states.find((candidate) => candidate.path === path);
  if (state === undefined) return [];
  const indent = '  '.repeat(depth);
  const head = `${indent}state "${escapeText(state.name)}" as ${nodeId(path)}`;
  if (state.children.length === 0) return [head];
  const regions = state.kind === 'parallel' ? [`${indent}  --`] : [];
  return [
    `${head} {`,
    ...(state.initial === null ? [] : [`${indent}  [*] --> ${nodeId(state.initial)}`]),
    ...state.children.flatMap((child, index) => [
      ...(index === 0 ? [] : regions),
      ...stateLines(chart, child, depth + 1),
    ]),
    `${indent}}`,
  ];
}

/** One arrow from each state to each other, with a line for every transition that takes it. */
function arrowLines(transitions: readonly ChartTransition[]): string[] {
  const arrows = new Map<string, string[]>();
  for (const transition of transitions) {
    const { source, to } = transition;
    const from = source === '' ? anyState : nodeId(source);
    const arrow = `  ${from} --> ${to === null ? from : nodeId(to)}`;
    const label = labelLines(transition).map(escapeText).join(' · ');
    arrows.set(arrow, [...(arrows.get(arrow) ?? []), ...(label === '' ? [] : [label])]);
  }
  return [...arrows].map(([arrow, labels]) => (labels.length === 0 ? arrow : `${arrow} : ${labels.join('<br/>')}`));
}

/** The event with its guard, and beside it the requirements that the guard does not name already. */
export function labelLines({ label, guard, requirements }: ChartTransition): string[] {
  const named = new Set(guardNames(guard));
  const others = requirements.filter((id) => !named.has(id));
  const condition = guard === null ? '' : `[${guardText(guard)}]`;
  return [[label, condition].filter(Boolean).join(' '), others.join(' · ')].filter(Boolean);
}

function classLines(states: readonly ChartState[], fromAnywhere: boolean): string[] {
  const quiet = states.filter((state) => isInFlight(state) && state.parent !== '').map(({ path }) => nodeId(path));
  return [
    ...(quiet.length === 0 ? [] : ['  classDef inFlight stroke-dasharray:4 3', `  class ${quiet.join(',')} inFlight`]),
    ...(fromAnywhere ? ['  classDef law stroke-dasharray:1 3', `  class ${anyState} law`] : []),
  ];
}

const anyState = 'anyState__';

/** A name that Mermaid takes for a state: letters, digits and underscores. */
function nodeId(path: string): string {
  return path.replace(/[^A-Za-z0-9]/g, (char) => (char === '.' ? '__' : `_${char.charCodeAt(0).toString(16)}_`));
}

/** Characters that end a label or begin something else are written as Mermaid's entity codes. */
function escapeText(text: string): string {
  return text.replace(/[#;:"<>{}]/g, (char) => `#${char.charCodeAt(0)};`);
}
