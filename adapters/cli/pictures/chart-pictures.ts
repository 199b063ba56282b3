/** A machine's pictures for the page: from afar, and one outermost state at a time. */
import { createMachine, type AnyStateMachine } from 'xstate';
import { chartOf, findMachine, palette, toDot } from '../../../model/export/index.ts';
import { bestShape, layOut, readDrawing, styleSheet } from '../../graph/index.ts';
import type { Drawing } from '../../graph/index.ts';
import type { ChartView } from '../../ui/index.ts';

/** The panel on the page is about as wide as high. */
const proportion = 1;

/** The colours of the drawings, for the page's own style sheet: it may have no style of its own in its elements. */
export const chartTheme: string = styleSheet(Object.values(palette));

/**
 * Draws a machine by name, or from the config that a watched program sent; `part` names an outermost state. One of ours
 * is drawn from the machine itself. `null` for a machine that nobody knows.
 */
export async function chartView(name: string, config: unknown, part: string | null): Promise<ChartView | null> {
  const machine = findMachine(name)?.machine ?? machineFrom(config);
  if (machine === null) return null;
  const parts = chartOf(machine)
    .states.filter(({ parent, children }) => parent === '' && children.length > 0)
    .map(({ path }) => path);
  if (part !== null && !parts.includes(part)) return null;
  const picture =
    part !== null || parts.length === 0
      ? await best(machine, part)
      : readDrawing(await layOut(toDot(machine, { flat: true })));
  return { machine: name, picture, parts };
}

async function best(machine: AnyStateMachine, only: string | null): Promise<Drawing> {
  const layouts: Drawing[] = [];
  for (const direction of ['TB', 'LR'] as const)
    layouts.push(readDrawing(await layOut(toDot(machine, { only, direction }))));
  return bestShape(layouts as [Drawing, ...Drawing[]], proportion);
}

/** A machine without implementations: enough to be drawn. */
function machineFrom(config: unknown): AnyStateMachine | null {
  if (typeof config !== 'object' || config === null) return null;
  try {
    return createMachine(config as never);
  } catch {
    return null;
  }
}
