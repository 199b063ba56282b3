/** A machine whose root is parallel runs several side by side: each is drawn as a machine of its own. */
import { createMachine, type AnyStateMachine } from 'xstate';
import type { Drawing } from '../../graph/index.ts';

/** One of the machines that run side by side, or the machine itself. */
export interface Region {
  /** The region's name; empty for a machine that is not divided. */
  readonly path: string;
  readonly machine: AnyStateMachine;
}

/** The regions of a machine. One whose arrows lead from region to region cannot be divided. */
export function regionsOf(machine: AnyStateMachine): readonly Region[] {
  if (machine.root.type === 'parallel') {
    try {
      return Object.entries(machine.config.states ?? {}).map(([path, config]) => ({
        path,
        // With what its names stand for: a guard may say in which state alone it holds.
        machine: createMachine(
          { id: path, ...(config as object) },
          machine.implementations as never,
        ) as AnyStateMachine,
      }));
    } catch {
      // XState does not know where an arrow leads that leaves its region.
    }
  }
  return [{ path: '', machine }];
}

/** Of a state, whose regions are joined by `|`, the part in a region, as the region's own machine names it. */
export function stateIn({ path }: Region, state: string): string {
  if (path === '') return state;
  const here = state.split('|').find((part) => part === path || part.startsWith(`${path}.`)) ?? '';
  return here.slice(path.length + 1);
}

/** A drawing of a region whose states and arrows go by the names that they have in the whole. */
export function inTheWhole({ path }: Region, drawing: Drawing): Drawing {
  if (path === '') return drawing;
  const whole = (inner: string) => (inner === '' ? path : `${path}.${inner}`);
  const content = drawing.content
    .replace(/data-state="([^"]*)"/g, (_, state: string) => `data-state="${whole(state)}"`)
    .replace(/data-move="(\S*) (\S*)/g, (_, from: string, to: string) => `data-move="${whole(from)} ${whole(to)}`);
  return { ...drawing, content };
}
