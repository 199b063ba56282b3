/**
 * The chart from afar: its outermost states, and one arrow from each to each other that says what leads there.
 *
 * A command whose call is still under way is named on the arrow that the call's outcome takes: in the lifecycle, SUSPEND
 * stands on the arrow from RUNNING to SUSPENDING, though the machine takes that step when SuspendMicrovm answers.
 */
import { topOf, type Chart, type ChartTransition, type TriggerKind } from './chart.ts';
import { guardNames, guardText } from './guard.ts';

/** One arrow of the overview. */
export interface OverviewArrow {
  readonly from: string;
  readonly to: string;
  /** What makes it happen: a command, or else the first of a report, time, or the end of a call. */
  readonly trigger: TriggerKind;
  /** The commands that lead there; where there is none, the reports and ticks that do. Each once, in order. */
  readonly events: readonly string[];
  /** Ids of the requirements that speak on the way, in ascending order. */
  readonly requirements: readonly string[];
}

/** The chart from afar. */
export interface Overview {
  readonly states: readonly string[];
  readonly initial: string | null;
  readonly arrows: readonly OverviewArrow[];
}

interface Move extends ChartTransition {
  readonly to: string;
}

/**
 * Draws a chart from afar. Where transitions name requirements, only the arrows that one of the spec's own names are
 * kept: what the environment alone does (`ENV-…`, `EXT-…`), and what merely takes two arrows at once, is left to the
 * full picture.
 */
export function overviewOf(chart: Chart): Overview {
  const root = chart.states.find(({ path }) => path === '');
  const tops = root?.children ?? [];
  const initial = root?.initial ?? null;
  const moves = chart.transitions.filter((move): move is Move => move.to !== null);
  const specified = moves.some(({ requirements }) => requirements.length > 0);

  const arrows = new Map<string, { from: string; to: string; moves: Move[] }>();
  for (const move of moves) {
    const to = topOf(move.to);
    for (const from of sourcesOf(chart, move, tops)) {
      // A law of the root that leads to the beginning is how a life begins, not a way back to it.
      if (from === to || (move.source === '' && to === initial)) continue;
      const arrow = arrows.get(`${from} ${to}`) ?? { from, to, moves: [] };
      arrow.moves.push(move);
      arrows.set(`${from} ${to}`, arrow);
    }
  }

  const direct = new Set(
    [...arrows.values()].flatMap((arrow) => arrow.moves.filter(isCommand).map(({ event }) => event)),
  );
  const drawn = [...arrows.values()]
    .filter((arrow) => !specified || arrow.moves.some(isMain))
    .map((arrow) => ({
      from: arrow.from,
      to: arrow.to,
      byCommand: arrow.moves.some(isCommand),
      ...wordsOf(chart, arrow.moves, direct, specified),
    }));
  const kept = drawn.filter(
    (arrow) => arrow.byCommand || !specified || !drawn.some((half) => isShortcut(arrow, half, drawn)),
  );
  return {
    states: tops,
    initial,
    arrows: tops.flatMap((top) =>
      kept
        .filter(({ from }) => from === top)
        .map(({ from, to, trigger, events, requirements }) => ({ from, to, trigger, events, requirements })),
    ),
  };
}

function isCommand({ trigger }: ChartTransition): boolean {
  return trigger === 'command';
}

/** One of the spec's own requirements speaks, and the environment does not act by itself. */
function isMain({ requirements }: ChartTransition): boolean {
  return requirements.some((id) => !isOutside(id)) && !requirements.some((id) => id.startsWith('ENV-'));
}

/** What the spec was extended by: effects of the environment, and what a client may do besides. */
function isOutside(id: string): boolean {
  return id.startsWith('ENV-') || id.startsWith('EXT-');
}

/** The outermost states in which a transition can be taken: one of the root, wherever nothing inside takes its place. */
function sourcesOf(chart: Chart, move: Move, tops: readonly string[]): readonly string[] {
  if (move.source !== '') return [topOf(move.source)];
  return tops.filter((top) => leavesOf(chart, top).some((leaf) => !isOverridden(chart, leaf, move)));
}

function leavesOf(chart: Chart, path: string): string[] {
  return chart.states
    .filter(({ path: inner, children }) => children.length === 0 && isAround(path, inner))
    .map(({ path: inner }) => inner);
}

function isAround(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(`${outer}.`);
}

/** Whether a state around a leaf, below the root, takes the event whenever the root's law would. */
function isOverridden(chart: Chart, leaf: string, law: Move): boolean {
  const when = law.guard === null ? null : guardText(law.guard);
  return chart.transitions.some(
    ({ from, event, guard }) =>
      event === law.event && from !== '' && isAround(from, leaf) && (guard === null || guardText(guard) === when),
  );
}

/** What an arrow says: the commands and reports behind its transitions, and the spec's requirements on the way. */
function wordsOf(
  chart: Chart,
  moves: readonly Move[],
  direct: ReadonlySet<string>,
  specified: boolean,
): Pick<OverviewArrow, 'trigger' | 'events' | 'requirements'> {
  const counts = (step: ChartTransition) => !specified || isMain(step);
  // Where a command leads there at once, nothing else needs explaining.
  const byCommand = moves.some(isCommand);
  const begun = byCommand
    ? []
    : moves
        .filter(counts)
        .flatMap((move) => startsOf(chart, move))
        .filter((start) => !direct.has(start.event) && counts(start));
  const telling = byCommand ? moves.filter(isCommand) : [...moves, ...begun];
  const named = (steps: readonly ChartTransition[], trigger: ChartTransition['trigger']) =>
    steps.filter((step) => step.trigger === trigger).map(({ label }) => label);
  const ids = telling
    .filter(counts)
    .flatMap(({ requirements, guard }) => [
      ...requirements,
      ...guardNames(guard).filter((name) => /^[A-Z]+-\d+$/.test(name)),
    ]);
  const commands = named([...moves, ...begun], 'command');
  const trigger =
    commands.length > 0
      ? 'command'
      : ((['report', 'time', 'outcome'] as const).find((kind) => named(moves, kind).length > 0) ?? 'eventless');
  return {
    trigger,
    events: [...new Set(commands.length > 0 ? commands : [...named(moves, 'report'), ...named(moves, 'time')])],
    requirements: [...new Set(ids)]
      .filter((id) => !isOutside(id))
      .sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
  };
}

/** The commands that began what an outcome ends, followed back through the calls of the same outermost state. */
function startsOf(chart: Chart, move: Move): ChartTransition[] {
  const found: ChartTransition[] = [];
  const seen = new Set<string>();
  const follow = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const step of chart.transitions) {
      if (step.to !== path || (step.source !== '' && topOf(step.source) !== topOf(path))) continue;
      if (step.trigger === 'command') found.push(step);
      else if (step.trigger === 'outcome') follow(step.source);
    }
  };
  if (move.trigger === 'outcome') follow(move.source);
  return found;
}

/** Whether an arrow only takes `half` and another one at once, and names no requirement that they do not name. */
function isShortcut(arrow: OverviewArrow, half: OverviewArrow, all: readonly OverviewArrow[]): boolean {
  if (half.from !== arrow.from || half.to === arrow.to) return false;
  const rest = all.find(({ from, to }) => from === half.to && to === arrow.to);
  if (rest === undefined) return false;
  const told = new Set([...half.requirements, ...rest.requirements]);
  return arrow.requirements.every((id) => told.has(id));
}
