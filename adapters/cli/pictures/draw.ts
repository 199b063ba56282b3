/**
 * A machine as an SVG file: a small one whole, a large one as an overview and a part for each of its outermost states,
 * and one that runs several side by side as a picture of each.
 */
import type { AnyStateMachine } from 'xstate';
import { chartOf, isInFlight, light, palette, type Chart, type TriggerKind } from '../../../model/export/index.ts';
import { headed, legendOf, sheetOf, svgFile } from '../../graph/index.ts';
import type { Drawing, LegendEntry } from '../../graph/index.ts';
import { drawInside, drawOverview } from './layout.ts';
import { inTheWhole, regionsOf, stateIn, type Region } from './regions.ts';

/** Options of {@link drawSvg}. */
export interface DrawOptions {
  readonly flat?: boolean;
  readonly highlight?: string | null;
  /** Draws one outermost state alone; the empty path, the laws of the root. */
  readonly only?: string | null;
}

/** Beyond this many arrows a picture in one piece is a tangle. */
const arrowsInOnePiece = 30;

/** What a sheet is made for: wide as a large screen, a little wider than high. */
const sheetWidthPx = 2_900;
const proportion = 1.7;

/** Draws a machine. */
export async function drawSvg(machine: AnyStateMachine, options: DrawOptions = {}): Promise<string> {
  const chart = chartOf(machine);
  const colours = Object.values(palette);
  const regions = options.only ? [] : regionsOf(machine);
  const drawing = regions.length > 1 ? await sideBySide(regions, options) : await pictureOf(machine, options);
  return svgFile(drawing, { title: titleOf(chart, options), ...describe(chart), colours });
}

async function sideBySide(regions: readonly Region[], options: DrawOptions): Promise<Drawing> {
  const drawings: Drawing[] = [];
  for (const region of regions) {
    const { highlight = null } = options;
    const state = highlight === null ? '' : stateIn(region, highlight);
    const picture = await pictureOf(region.machine, { ...options, highlight: state === '' ? null : state });
    drawings.push(headed(region.path, inTheWhole(region, picture), light('ink')));
  }
  return sheetOf(drawings, sheetWidthPx);
}

async function pictureOf(machine: AnyStateMachine, options: DrawOptions): Promise<Drawing> {
  const chart = chartOf(machine);
  const { flat = false, only = null, highlight } = options;
  if (flat) return await drawOverview(machine, highlight);
  const arrows = chart.transitions.filter(({ to }) => to !== null).length;
  const inOnePiece = only !== null || arrows <= arrowsInOnePiece;
  return inOnePiece ? await drawInside(machine, options, proportion) : await sheet(machine, chart, options);
}

async function sheet(machine: AnyStateMachine, chart: Chart, options: DrawOptions): Promise<Drawing> {
  const root = chart.states.find(({ path }) => path === '');
  const parts = (root?.children ?? []).filter((path) => chart.states.some(({ parent }) => parent === path));
  const laws = chart.transitions.some(({ source, to }) => source === '' && to !== null);
  const drawings: Drawing[] = [await drawOverview(machine, options.highlight)];
  for (const only of [...(laws ? [''] : []), ...parts])
    drawings.push(await drawInside(machine, { ...options, only }, proportion));
  const [overview, ...others] = drawings as [Drawing, ...Drawing[]];
  const head = sheetOf(
    [overview, sheetOf([legendOf(keyTo(chart), light('ink')), ...(laws ? others.slice(0, 1) : [])], 1)],
    sheetWidthPx,
  );
  return sheetOf([head, ...others.slice(laws ? 1 : 0)], sheetWidthPx);
}

const lines: Readonly<Record<Exclude<TriggerKind, 'eventless'>, Omit<LegendEntry, 'colour'>>> = {
  command: { sample: 'arrow', means: 'a command' },
  report: { sample: 'dashed-arrow', means: 'a report of what happened elsewhere' },
  outcome: { sample: 'arrow', means: 'the end of a call in flight' },
  time: { sample: 'dotted-arrow', means: 'time passes' },
};

/** The key to what is in a chart. */
function keyTo(chart: Chart): LegendEntry[] {
  const used = (trigger: string) =>
    chart.transitions.some((transition) => transition.trigger === trigger && transition.to !== null);
  return [
    { sample: 'box', colour: light('stateLine'), fill: light('state'), means: 'a state' },
    ...(chart.states.some(isInFlight)
      ? [
          {
            sample: 'quiet-box',
            colour: light('quietLine'),
            fill: light('quiet'),
            means: 'a call of ours is in flight',
          } as const,
        ]
      : []),
    ...Object.entries(lines)
      .filter(([trigger]) => used(trigger))
      .map(([trigger, line]) => ({ ...line, colour: light(trigger as keyof typeof lines) })),
    { sample: 'text', colour: light('muted'), example: '[guard]', means: 'holds when the arrow is taken' },
    ...(chart.transitions.some(({ requirements }) => requirements.length > 0)
      ? [
          {
            sample: 'text',
            colour: light('requirement'),
            example: 'STATE-n',
            means: 'the requirement that speaks',
          } as const,
        ]
      : []),
  ];
}

function titleOf(chart: Chart, { flat = false, only = null }: DrawOptions): string {
  if (only !== null) return `${chart.id}: ${only === '' ? 'in every state' : only}`;
  return flat ? `${chart.id}, at a glance` : chart.id;
}

function describe(chart: Chart): { description?: string } {
  return chart.description === null ? {} : { description: chart.description };
}
