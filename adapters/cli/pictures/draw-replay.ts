/** The way that a recorded life took, drawn into its statechart: every step numbered, its states and arrows marked. */
import type { AnyStateMachine } from 'xstate';
import { chartOf, light, palette, toDot, topOf } from '../../../model/export/index.ts';
import { escapeXml, layOut, readDrawing, sheetOf, svgFile, bestShape } from '../../graph/index.ts';
import type { Drawing } from '../../graph/index.ts';
import type { Replay } from '../../trace/file.ts';
import type { StateEntry } from '../../trace/entry.ts';

/** One step of the way. */
interface TrailStep {
  readonly from: string | null;
  readonly to: string;
  readonly event: string;
}

const trail = { line: '#c2255c', dark: '#ff7ab0' };
const sheetWidthPx = 2_300;
const rowPx = 22;

/** The states that a life went through, one step for each change. */
export function trailOf({ entries }: Replay): TrailStep[] {
  return entries
    .filter((entry): entry is StateEntry => entry.kind === 'state' && entry.from !== entry.state)
    .map(({ from, state: to, event }) => ({ from, to, event }));
}

/** Draws the overview with the way marked, its steps beside it, and below it the insides of the states it went through. */
export async function drawReplay(machine: AnyStateMachine, replay: Replay, flat: boolean): Promise<string> {
  const steps = trailOf(replay);
  const last = steps.at(-1)?.to ?? null;
  const chart = chartOf(machine);
  const overview = marked(readDrawing(await layOut(toDot(machine, { flat: true, highlight: last }))), steps, true);
  const finding = replay.entries.find((entry) => entry.kind === 'finding');
  const title = finding === undefined ? replay.title : `${finding.property} is violated: ${finding.says}`;
  const head = sheetOf([overview, listOf(steps, title)], sheetWidthPx);
  const visited = [...new Set(steps.map(({ to }) => topOf(to)))].filter((top) =>
    chart.states.some(({ parent }) => parent === top),
  );
  const parts: Drawing[] = [];
  for (const only of flat ? [] : visited) {
    const layouts: Drawing[] = [];
    for (const direction of ['TB', 'LR'] as const)
      layouts.push(readDrawing(await layOut(toDot(machine, { only, direction, highlight: last }))));
    parts.push(marked(bestShape(layouts as [Drawing, ...Drawing[]], 1.7), steps, false));
  }
  return svgFile(sheetOf([head, ...parts], sheetWidthPx), {
    title,
    colours: [...Object.values(palette), { light: trail.line, dark: trail.dark }],
    css: `.way>path{stroke-width:3;stroke:${trail.line}}.way>polygon{fill:${trail.line};stroke:${trail.line}}.seen>path{stroke-width:2.6;stroke:${trail.line}}@media (prefers-color-scheme:dark){.way>path,.seen>path{stroke:${trail.dark}}.way>polygon{fill:${trail.dark};stroke:${trail.dark}}}`,
  });
}

/** Adds classes to the states and arrows of the way. */
function marked(drawing: Drawing, steps: readonly TrailStep[], flat: boolean): Drawing {
  const seen = new Set(steps.flatMap(({ to }) => (flat ? [topOf(to)] : [to])));
  const moves = steps.flatMap(({ from, to }) =>
    from === null ? [] : [flat ? `${topOf(from)} ${topOf(to)}` : `${from} ${to}`],
  );
  const content = drawing.content
    .replace(/data-state="([^"]*)" class="/g, (whole, path: string) => (seen.has(path) ? `${whole}seen ` : whole))
    .replace(/data-move="([^"]*)" class="/g, (whole, move: string) =>
      moves.some((taken) => `${move} `.startsWith(`${taken} `)) ? `${whole}way ` : whole,
    );
  return { ...drawing, content };
}

/** The steps in words. */
function listOf(steps: readonly TrailStep[], title: string): Drawing {
  const lines = steps.map(({ from, to, event }, index) => ({
    number: String(index),
    words: from === null ? `begins in ${to}` : `${plain(event)} → ${to}`,
  }));
  const width = Math.max(title.length * 7.6, ...lines.map(({ words }) => words.length * 7.2 + 60)) + 30;
  const rows = lines.map(
    ({ number, words }, index) =>
      `<text x="34" y="${58 + index * rowPx}" text-anchor="end" font-size="13" fill="${trail.line}">${number}</text>` +
      `<text x="46" y="${58 + index * rowPx}" font-size="13" fill="${light('ink')}">${escapeXml(words)}</text>`,
  );
  return {
    width: Math.ceil(width),
    height: 70 + lines.length * rowPx,
    content: `<text x="14" y="26" font-size="15" font-weight="bold" fill="${light('ink')}">${escapeXml(title)}</text>${rows.join('\n')}`,
  };
}

/** XState's own events in plain words. */
function plain(event: string): string {
  const ended = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event);
  return ended === null ? event : `${ended[2] ?? ''} ${ended[1] === 'done' ? 'done' : 'threw'}`;
}
