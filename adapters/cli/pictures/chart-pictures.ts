/** A machine's pictures for the page: from afar, and one outermost state at a time. */
import { createMachine, type AnyStateMachine } from 'xstate';
import { chartOf, findMachine, light, palette } from '../../../model/export/index.ts';
import { headed, sheetOf, styleSheet, type Drawing } from '../../graph/index.ts';
import type { ChartView } from '../../ui/index.ts';
import { drawInside, drawOverview } from './layout.ts';
import { inTheWhole, regionsOf, type Region } from './regions.ts';

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
  const regions = regionsOf(machine);
  const parts = regions.flatMap((region) => partsOf(region));
  const known = parts.find(({ path }) => path === part);
  if (part !== null && known === undefined) return null;
  const overviews: Drawing[] = [];
  if (known === undefined) {
    for (const region of regions) {
      const overview = inTheWhole(region, await fromAfar(region.machine));
      overviews.push(region.path === '' ? overview : headed(region.path, overview, light('ink')));
    }
  }
  const picture =
    known === undefined
      ? sheetOf(overviews, 0)
      : inTheWhole(known.region, await drawInside(known.region.machine, { only: known.only }, proportion));
  return { machine: name, picture, parts: parts.map(({ path }) => path) };
}

/** The outermost states of a region that have something inside, by their names in the whole machine. */
function partsOf(region: Region) {
  return chartOf(region.machine)
    .states.filter(({ parent, children }) => parent === '' && children.length > 0)
    .map(({ path }) => ({ path: [region.path, path].filter(Boolean).join('.'), region, only: path }));
}

async function fromAfar(machine: AnyStateMachine): Promise<Drawing> {
  const divisible = chartOf(machine).states.some(({ parent, children }) => parent === '' && children.length > 0);
  return divisible ? await drawOverview(machine) : await drawInside(machine, {}, proportion);
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
