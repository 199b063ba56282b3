/**
 * A chart as a Graphviz graph. States inside a state become a cluster, the calls in flight are drawn quieter than the
 * rest, and each element carries a class and an id, so that a style sheet can light it in the SVG.
 */
import type { AnyStateMachine } from 'xstate';
import { chartOf, isInFlight, topOf } from './chart.ts';
import type { Chart, ChartState, ChartTransition, TriggerKind } from './chart.ts';
import {
  currentStyle,
  edgeStyle,
  graphStyle,
  groupStyle,
  lawStyle,
  nodeStyle,
  outerStyle,
  quietStyle,
  referenceStyle,
  startStyle,
} from './dot-style.ts';
import { attributes, classes, label, quote, words } from './dot-syntax.ts';
import { guardNames, guardText } from './guard.ts';
import { overviewOf } from './overview.ts';
import { light, type ColourRole } from './palette.ts';

/** Options of {@link toDot}. */
export interface DotOptions {
  /** Only the outermost states, and one arrow between each two. */
  readonly flat?: boolean;
  /** Marks a state, given by its path, such as `RUNNING` or `RUNNING.suspending`. */
  readonly highlight?: string | null;
  /**
   * Draws one outermost state with all that is in it; an arrow that leaves it ends at a small box that names where it
   * leads. The empty path draws the laws of the root, which hold in every state.
   */
  readonly only?: string | null;
  /** Which way it reads: top to bottom (default), or left to right. */
  readonly direction?: 'TB' | 'LR';
  /** How far its boxes stand apart, as a multiple of what is usual. */
  readonly spread?: number;
}

type Move = ChartTransition & { readonly to: string };

/** Prints a machine as a Graphviz graph. A law of the root is drawn once, from a box called `any state`. */
export function toDot(machine: AnyStateMachine, options: DotOptions = {}): string {
  const { flat = false, highlight = null, only = null, direction = 'TB', spread = 1 } = options;
  const chart = chartOf(machine);
  const marked = highlight !== null && flat ? topOf(highlight) : highlight;
  const body = flat
    ? flatLines(chart, marked)
    : only === null
      ? wholeLines(chart, marked)
      : partLines(chart, marked, only);
  return [
    `digraph ${quote(chart.id)} {`,
    `  graph [${attributes({ ...graphStyle(spread), rankdir: direction, tooltip: chart.description ?? chart.id })}]`,
    `  node [${attributes(nodeStyle)}]`,
    `  edge [${attributes(edgeStyle)}]`,
    ...body.map((line) => `  ${line}`),
    '}',
    '',
  ].join('\n');
}

function flatLines(chart: Chart, marked: string | null): string[] {
  const { states, initial, arrows } = overviewOf(chart);
  const outer = chart.states.filter(({ path }) => states.includes(path));
  return [
    ...(initial === null ? [] : startLines('', { node: initial, cluster: null })),
    ...outer.map((state) => nodeLine(state, marked)),
    ...arrows.map(({ from, to, trigger, events, requirements }) => {
      const rows = [
        ...(events.length === 0 ? [] : [words(events.join(', '), roleOf(trigger), true)]),
        ...inPairs(requirements).map((ids) => words(ids.join(' · '), 'requirement')),
      ];
      return arrowLine(
        { node: from, cluster: null },
        { node: to, cluster: null },
        {
          trigger,
          rows,
          tooltip: `${from} → ${to}`,
          id: `move:${from} ${to}`,
        },
      );
    }),
  ];
}

function wholeLines(chart: Chart, marked: string | null): string[] {
  const moves = movesOf(chart);
  const root = chart.states.find(({ path }) => path === '');
  return [
    ...(root?.initial ? startLines('', endOf(topOf(root.initial), chart)) : []),
    ...(root?.children ?? []).flatMap((path) => stateLines(chart, path, marked)),
    ...(moves.some(({ source }) => source === '') ? [anyStateLine] : []),
    ...moveLines(chart, moves, null),
  ];
}

function partLines(chart: Chart, marked: string | null, only: string): string[] {
  const root = chart.states.find(({ path }) => path === '');
  const moves = movesOf(chart).filter(({ source }) => (only === '' ? source === '' : isWithin(only, source)));
  return [
    ...(only !== '' && root?.initial === only ? startLines('', endOf(only, chart)) : []),
    ...(only === '' ? [anyStateLine] : stateLines(chart, only, marked)),
    ...moveLines(chart, moves, only),
  ];
}

function movesOf(chart: Chart): Move[] {
  return chart.transitions.filter((move): move is Move => move.to !== null);
}

function isWithin(outer: string, path: string): boolean {
  return path === outer || path.startsWith(`${outer}.`);
}

function stateLines(chart: Chart, path: string, marked: string | null): string[] {
  const state = chart.states.find((candidate) => candidate.path === path);
  if (state === undefined) return [];
  if (state.children.length === 0) return [nodeLine(state, marked)];
  const current = path === marked;
  const style = {
    ...groupStyle,
    label: state.name,
    class: classes('group', current ? 'current' : null),
    id: `state:${path}`,
    tooltip: state.description ?? path,
    fontsize: state.parent === '' ? '15' : '12',
    ...(current ? { color: light('current'), penwidth: '3' } : {}),
    ...(state.kind === 'parallel' ? { style: 'rounded,filled,dashed' } : {}),
  };
  return [
    `subgraph ${quote(clusterId(path))} {`,
    `  graph [${attributes(style)}]`,
    ...(state.initial === null ? [] : startLines(path, endOf(state.initial, chart)).map((line) => `  ${line}`)),
    ...state.children.flatMap((child) => stateLines(chart, child, marked).map((line) => `  ${line}`)),
    '}',
  ];
}

function nodeLine(state: ChartState, marked: string | null): string {
  const outer = state.parent === '';
  const quiet = !outer && isInFlight(state);
  const current = state.path === marked;
  return `${quote(state.path)} [${attributes({
    label: state.name,
    id: `state:${state.path}`,
    class: classes(outer ? 'outer' : 'inner', quiet ? 'inflight' : null, current ? 'current' : null),
    tooltip: state.description ?? state.path,
    ...(outer ? outerStyle : quiet ? quietStyle : {}),
    ...(current ? currentStyle : {}),
    ...(state.kind === 'final' ? { peripheries: '2' } : {}),
  })}]`;
}

const anyStateLine = `"" [${attributes({ ...lawStyle, label: 'any state', id: 'state:', class: 'law', tooltip: 'holds in every state' })}]`;

/** The dot from which a state begins. */
function startLines(path: string, initial: End): string[] {
  const dot = quote(`start ${path}`);
  const arrow = { class: 'start', color: light('muted'), tooltip: 'start', ...clipped(null, initial) };
  return [`${dot} [${attributes(startStyle)}]`, `${dot} -> ${quote(initial.node)} [${attributes(arrow)}]`];
}

/** An end of an arrow. Graphviz ends them at nodes: one at a cluster goes to a node in it, and is cut at its border. */
interface End {
  readonly node: string;
  readonly cluster: string | null;
}

function endOf(path: string, chart: Chart): End {
  let at = chart.states.find((state) => state.path === path);
  if (path === '' || at === undefined || at.children.length === 0) return { node: path, cluster: null };
  while (at !== undefined && at.children.length > 0) {
    const next: string = at.initial ?? at.children[0] ?? '';
    at = chart.states.find((state) => state.path === next);
  }
  return { node: at?.path ?? path, cluster: clusterId(path) };
}

function clipped(tail: End | null, head: End): Record<string, string> {
  return {
    ...(tail?.cluster ? { ltail: tail.cluster } : {}),
    ...(head.cluster ? { lhead: head.cluster } : {}),
  };
}

function clusterId(path: string): string {
  return `cluster ${path}`;
}

/** Transitions as arrows, those with the same two ends on one; beyond `part`, if there is one, stand references. */
function moveLines(chart: Chart, moves: readonly Move[], part: string | null): string[] {
  const alike = new Map<string, Move[]>();
  for (const move of moves) {
    // Commands stand apart: they are what a reader looks for.
    const key = JSON.stringify([move.source, move.to, move.trigger === 'command']);
    alike.set(key, [...(alike.get(key) ?? []), move]);
  }
  const arrows = [...alike.values()].map((together) => {
    const [{ source, to, trigger }] = together as [Move];
    const leaves = part !== null && (part === '' || !isWithin(part, to));
    // A law of the whole part leaves from its border, so what it leads to stands outside.
    const outside = source === part;
    const line = arrowLine(
      endOf(source, chart),
      leaves ? { node: referenceId(outside, to), cluster: null } : endOf(to, chart),
      {
        trigger,
        rows: together.flatMap(rowsOf),
        tooltip: together.map((move) => move.description ?? move.label).join('\n'),
        id: `move:${source} ${to} ${trigger}`,
      },
    );
    return { line, outside, reference: leaves ? referenceLine(outside, to) : '' };
  });
  const references = (beyond: boolean) => [
    ...new Set(
      arrows
        .filter(({ outside, reference }) => outside === beyond && reference !== '')
        .map(({ reference }) => reference),
    ),
  ];
  const inside = references(false);
  return [
    ...references(true),
    // A cluster that is opened again takes in what follows.
    ...(inside.length === 0
      ? []
      : [`subgraph ${quote(clusterId(part ?? ''))} {`, ...inside.map((line) => `  ${line}`), '}']),
    ...arrows.map(({ line }) => line),
  ];
}

/** Names where an arrow leads that leaves the part which is drawn. */
function referenceLine(outside: boolean, to: string): string {
  const style = { ...referenceStyle, label: `→ ${to}`, class: 'reference', tooltip: to };
  return `${quote(referenceId(outside, to))} [${attributes(style)}]`;
}

function referenceId(outside: boolean, to: string): string {
  return `to ${to}${outside ? ' outside' : ''}`;
}

const longRow = 40;

/** Event, guard and requirements of one transition: on one line, or on two where it grows long. */
function rowsOf({ label: event, trigger, guard, requirements }: Move): (string | { indented: string })[] {
  const named = new Set(guardNames(guard));
  const others = requirements.filter((id) => !named.has(id)).join(' · ');
  const condition = guard === null ? '' : `[${guardText(guard)}]`;
  const first = event === '' ? [] : [words(event, roleOf(trigger), true)];
  const rest = [
    ...(condition === '' ? [] : [words(condition, 'muted')]),
    ...(others === '' ? [] : [words(others, 'requirement')]),
  ];
  if (event.length + condition.length + others.length <= longRow) return [[...first, ...rest].join(' ')];
  return [...first, { indented: rest.join(' ') }];
}

interface Arrow {
  readonly trigger: ChartTransition['trigger'];
  readonly rows: readonly (string | { indented: string })[];
  readonly tooltip: string;
  readonly id: string;
}

function arrowLine(tail: End, head: End, { trigger, rows, tooltip, id }: Arrow): string {
  const style = {
    class: classes('move', trigger),
    id,
    color: light(roleOf(trigger)),
    tooltip,
    ...(trigger === 'command' ? { penwidth: '1.7' } : {}),
    ...(trigger === 'report' ? { style: 'dashed' } : trigger === 'time' ? { style: 'dotted', penwidth: '1.5' } : {}),
    ...clipped(tail, head),
  };
  const text = rows.length === 0 ? '' : `, label=${label(rows)}`;
  return `${quote(tail.node)} -> ${quote(head.node)} [${attributes(style)}${text}]`;
}

/** The colour of an arrow and of its event. */
function roleOf(trigger: TriggerKind): ColourRole {
  return trigger === 'eventless' ? 'outcome' : trigger;
}

function inPairs<Item>(items: readonly Item[]): Item[][] {
  return items.flatMap((_, at) => (at % 2 === 0 ? [items.slice(at, at + 2)] : []));
}
