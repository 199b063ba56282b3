/** A machine's pictures for the page: from afar, and one outermost state at a time. */
import { createMachine, type AnyStateMachine } from 'xstate';
import { chartOf, findMachine, palette } from '../../../model/export/index.ts';
import { styleSheet } from '../../graph/index.ts';
import type { ChartView } from '../../ui/index.ts';
import { drawInside, drawOverview } from './layout.ts';

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
  return machine === null ? null : await viewOf(name, machine, part);
}

/** A machine from afar, or one of its outermost states; `null` for a part that it does not have. */
export async function viewOf(name: string, machine: AnyStateMachine, part: string | null): Promise<ChartView | null> {
  const parts = chartOf(machine)
    .states.filter(({ parent, children }) => parent === '' && children.length > 0)
    .map(({ path }) => path);
  if (part !== null && !parts.includes(part)) return null;
  const picture =
    part !== null || parts.length === 0
      ? await drawInside(machine, { only: part }, proportion)
      : await drawOverview(machine);
  return { machine: name, picture, parts };
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
