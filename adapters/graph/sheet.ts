/** Several drawings on one sheet: in rows, in the order given, each row as wide as the sheet allows. */
import { clutterOf } from './clarity.ts';
import { escapeXml } from './svg.ts';
import type { Drawing } from './svg.ts';

const gap = 28;

/** Sets drawings side by side as long as they fit into the width, then begins a new row. */
export function sheetOf(drawings: readonly Drawing[], widthPx: number): Drawing {
  const rows: Drawing[][] = [];
  for (const drawing of drawings) {
    const row = rows.at(-1);
    const used = (row ?? []).reduce((sum, { width }) => sum + width + gap, 0);
    if (row !== undefined && used + drawing.width <= widthPx) row.push(drawing);
    else rows.push([drawing]);
  }
  let top = 0;
  let width = 0;
  const content: string[] = [];
  for (const row of rows) {
    let left = 0;
    for (const drawing of row) {
      content.push(`<g transform="translate(${left} ${top})">${drawing.content}</g>`);
      left += drawing.width + gap;
    }
    width = Math.max(width, left - gap);
    top += Math.max(...row.map(({ height }) => height)) + gap;
  }
  return { width, height: Math.max(0, top - gap), content: content.join('\n') };
}

const headPx = 36;

/** A drawing under a title. `ink` is the colour of its words. */
export function headed(title: string, { width, height, content }: Drawing, ink: string): Drawing {
  const words = `<text x="14" y="26" font-size="15" font-weight="bold" fill="${ink}">${escapeXml(title)}</text>`;
  return {
    width: Math.max(width, 28 + title.length * 9),
    height: height + headPx,
    content: `${words}<g transform="translate(0 ${headPx})">${content}</g>`,
  };
}

/** What one thing that is hard to read costs, as a share of a drawing's size. */
const clutterCost = 0.06;

/**
 * Of several layouts of one graph, the one that is best to read: small on a page of the given proportion of width to
 * height, with few words that lie on something.
 */
export function clearest(drawings: readonly [Drawing, ...Drawing[]], proportion: number): Drawing {
  const cost = (drawing: Drawing) =>
    Math.max(drawing.width / proportion, drawing.height) * (1 + clutterCost * clutterOf(drawing));
  return drawings
    .map((drawing) => ({ drawing, cost: cost(drawing) }))
    .reduce((best, candidate) => (candidate.cost < best.cost ? candidate : best)).drawing;
}
