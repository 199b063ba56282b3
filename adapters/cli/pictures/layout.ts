/** From a machine to a drawing: laid out by Graphviz, in the way that is best to read. */
import type { AnyStateMachine } from 'xstate';
import { light, toDot, type DotOptions } from '../../../model/export/index.ts';
import { clearest, layOut, readDrawing } from '../../graph/index.ts';
import type { Drawing } from '../../graph/index.ts';

const ways = (['TB', 'LR'] as const).flatMap((direction) => [1, 1.4].map((spread) => ({ direction, spread })));

/** A machine from afar: its outermost states, from top to bottom. */
export async function drawOverview(machine: AnyStateMachine, highlight: string | null = null): Promise<Drawing> {
  return await drawn(machine, { flat: true, highlight });
}

/** A machine with all that is in it, or one of its outermost states, for a place of the given proportion. */
export async function drawInside(
  machine: AnyStateMachine,
  options: Pick<DotOptions, 'highlight' | 'only'>,
  proportion: number,
): Promise<Drawing> {
  const layouts: Drawing[] = [];
  for (const way of ways) layouts.push(await drawn(machine, { ...options, ...way }));
  return clearest(layouts as [Drawing, ...Drawing[]], proportion);
}

async function drawn(machine: AnyStateMachine, options: DotOptions): Promise<Drawing> {
  return readDrawing(await layOut(toDot(machine, options)), light('group'));
}
