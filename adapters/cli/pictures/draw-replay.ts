/** The way that recorded lives took, drawn into their statecharts: states and arrows marked, every step in words. */
import type { AnyStateMachine } from 'xstate';
import { chartOf, light, palette, topOf } from '../../../model/export/index.ts';
import { escapeXml, headed, sheetOf, svgFile } from '../../graph/index.ts';
import type { Drawing } from '../../graph/index.ts';
import type { Replay } from '../../trace/file.ts';
import { drawInside, drawOverview } from './layout.ts';
import { regionsOf, stateIn } from './regions.ts';
import { stepsInWords, trailOf, type TrailStep } from './replay-steps.ts';

/** A life of a replay with the machine that it lived in. */
export interface DrawnLife {
  readonly life: string;
  readonly machine: AnyStateMachine;
}

const trail = { line: '#c2255c', dark: '#ff7ab0' };
const sheetWidthPx = 2_300;
const proportion = 1.7;
const rowPx = 22;
/** How many letters of the title stand on one line. */
const titleLetters = 76;

/**
 * Draws the overview of each life with its way marked, the steps beside them, and below, unless it is to be flat, the
 * insides of the states that they went through.
 */
export async function drawReplay(lives: readonly DrawnLife[], replay: Replay, flat: boolean): Promise<string> {
  const overviews: Drawing[] = [];
  const insides: Drawing[] = [];
  for (const { name, machine, steps } of lives.flatMap((life) => apart(life, replay, lives.length === 1))) {
    const last = steps.at(-1)?.to ?? null;
    const overview = marked(await drawOverview(machine, last), steps, true);
    overviews.push(name === null ? overview : headed(name, overview, light('ink')));
    if (flat) continue;
    for (const only of visited(machine, steps)) {
      insides.push(marked(await drawInside(machine, { only, highlight: last }, proportion), steps, false));
    }
  }
  const finding = replay.entries.find((entry) => entry.kind === 'finding');
  const title = finding === undefined ? replay.title : `${finding.property} is violated: ${finding.says}`;
  const head = sheetOf([...overviews, listOf(stepsInWords(replay), title)], sheetWidthPx);
  return svgFile(sheetOf([head, ...insides], sheetWidthPx), {
    title,
    colours: [...Object.values(palette), { light: trail.line, dark: trail.dark }],
    css: `.way>path{stroke-width:3;stroke:${trail.line}}.way>polygon{fill:${trail.line};stroke:${trail.line}}.seen>path{stroke-width:2.6;stroke:${trail.line}}@media (prefers-color-scheme:dark){.way>path,.seen>path{stroke:${trail.dark}}.way>polygon{fill:${trail.dark};stroke:${trail.dark}}}`,
  });
}

/** What is drawn apart: each life, and in it each region. Only what is not alone has a name. */
function apart({ life, machine }: DrawnLife, replay: Replay, alone: boolean) {
  const trail = trailOf(replay, life);
  return regionsOf(machine).map((region) => {
    const { path } = region;
    const steps = trail.map(({ from, to }) => ({
      from: from === null ? null : stateIn(region, from),
      to: stateIn(region, to),
    }));
    const name = [alone ? '' : life, path].filter(Boolean).join(' · ');
    return { name: name === '' ? null : name, machine: region.machine, steps };
  });
}

/** The outermost states with something inside where the way leads through what is inside. */
function visited(machine: AnyStateMachine, steps: readonly TrailStep[]): string[] {
  const { states } = chartOf(machine);
  const inner = steps.flatMap(({ to }) => to.split('|')).filter((path) => topOf(path) !== path);
  return [...new Set(inner.map(topOf))].filter((top) => states.some(({ parent }) => parent === top));
}

/** Adds classes to the states and arrows of the way. Regions of a parallel state are joined by `|`. */
function marked(drawing: Drawing, steps: readonly TrailStep[], flat: boolean): Drawing {
  const shown = (state: string) => state.split('|').map((path) => (flat ? topOf(path) : path));
  const seen = new Set(steps.flatMap(({ to }) => shown(to)));
  const moves = steps.flatMap(({ from, to }) =>
    from === null ? [] : shown(from).map((tail, region) => `${tail} ${shown(to)[region] ?? ''} `),
  );
  const content = drawing.content
    .replace(/data-state="([^"]*)" class="/g, (whole, path: string) => (seen.has(path) ? `${whole}seen ` : whole))
    .replace(/data-move="([^"]*)" class="/g, (whole, move: string) =>
      moves.some((taken) => `${move} `.startsWith(taken)) ? `${whole}way ` : whole,
    );
  return { ...drawing, content };
}

/** The title and the steps, numbered. */
function listOf(steps: readonly string[], title: string): Drawing {
  const head = broken(title, titleLetters);
  const rows = [
    ...head.map((line, index) => words(14, 26 + index * rowPx, line, { bold: true })),
    ...steps.map((step, index) => {
      const y = 36 + (head.length + index) * rowPx;
      return `${words(34, y, String(index), { colour: trail.line, anchor: 'end' })}${words(46, y, step)}`;
    }),
  ];
  const longest = Math.max(...head.map((line) => line.length * 8), ...steps.map((step) => step.length * 7 + 46));
  return {
    width: Math.ceil(longest) + 30,
    height: 60 + (head.length + steps.length) * rowPx,
    content: rows.join('\n'),
  };
}

/** A text in lines of at most so many letters. */
function broken(text: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= letters) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

interface Look {
  readonly bold?: boolean;
  readonly colour?: string;
  readonly anchor?: 'start' | 'end';
}

function words(x: number, y: number, text: string, look: Look = {}): string {
  const { bold = false, colour = light('ink'), anchor = 'start' } = look;
  const weight = bold ? 'font-size="15" font-weight="bold"' : 'font-size="13"';
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" ${weight} fill="${colour}">${escapeXml(text)}</text>`;
}
