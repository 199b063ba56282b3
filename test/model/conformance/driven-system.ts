/** The lifecycle machine beside the platform's VM, with only those steps that can really be caused. */
import type { SandboxEvent, SandboxSnapshot, VmState } from '../../../machines/index.ts';
import {
  explore,
  keyOf,
  pathTo,
  sandboxSystem,
  type MachineEffects,
  type Projection,
  type SandboxAction,
  type TransitionSystem,
} from '../../../model/index.ts';
import { planOf, type Plan, type PlatformState } from './drivable.ts';

/** Both sides. */
export interface DrivenState {
  readonly life: SandboxSnapshot;
  readonly platform: PlatformState;
}

/** One step of a path: what happens, how it is caused, and where the model then is. */
export interface DrivenStep {
  readonly action: SandboxAction;
  readonly plan: Plan;
  readonly after: DrivenState;
}

/** A path from a new life, or from a VM that is adopted. */
export interface DrivenPath {
  readonly title: string;
  readonly start: DrivenState;
  readonly steps: readonly DrivenStep[];
}

const level1 = sandboxSystem();

const driven: TransitionSystem<DrivenState, SandboxEvent, MachineEffects> = {
  initial: () =>
    level1.initial().map((life) => ({
      life,
      platform: life.context.microvmId === null ? 'none' : (life.context.lifecycle satisfies VmState),
    })),
  actions: ({ life, platform }) => level1.actions(life).filter((action) => planOf(life, platform, action) !== null),
  step: ({ life, platform }, action) => {
    const { after, effects } = level1.step(life, action);
    const plan = planOf(life, platform, action);
    return {
      before: { life, platform },
      action,
      after: { life: after, platform: plan?.after ?? platform },
      effects,
    };
  },
  project: ({ life, platform }) => ({ ...level1.project(life), platform }),
  isSilent: level1.isSilent,
  describe: ({ life, platform }) => `${level1.describe(life)}, platform ${platform}`,
  describeEffects: level1.describeEffects,
};

/** What the model says of a life. */
export const lifeKey = (life: SandboxSnapshot): string => keyOf(level1.project(life));

interface Edge {
  readonly from: number;
  readonly action: SandboxAction;
  readonly after: DrivenState;
}

/** What was explored, and how to get from a start to one of its states or over one of its edges. */
function exploreDriven() {
  const edges: Edge[] = [];
  const { visits } = explore(driven, {
    onStep: ({ action, after, effects }, from, to) => {
      if (from !== to || !driven.isSilent(effects)) edges.push({ from, action, after });
    },
  });
  const path = (index: number, more: readonly Edge[] = []): DrivenPath => {
    const [start, ...rest] = pathTo(visits, index).flatMap((at) => visits[at] ?? []);
    if (start === undefined) throw new RangeError(`There is no state ${index}.`);
    let before = start.state;
    const taken = [...rest.map(({ action, state }) => ({ action, after: state })), ...more];
    const steps = taken.flatMap(({ action, after }): DrivenStep[] => {
      const plan = action && planOf(before.life, before.platform, action);
      before = after;
      return action === null || plan === null ? [] : [{ action, plan, after }];
    });
    const title = [driven.describe(start.state), ...steps.map(({ action }) => action.label)].join(' > ');
    return { title, start: start.state, steps };
  };
  return { visits, edges, path };
}

/** A shortest path to every state of the lifecycle machine that can be driven to; beginnings of longer ones left out. */
export function pathsToStates(): readonly DrivenPath[] {
  const { visits, path } = exploreDriven();
  const first = new Map<string, number>();
  for (const [index, { state }] of visits.entries()) {
    const key = lifeKey(state.life);
    if (!first.has(key)) first.set(key, index);
  }
  const ends = [...first.values()];
  const passed = new Set(ends.flatMap((index) => pathTo(visits, index).slice(0, -1)));
  return ends.filter((index) => !passed.has(index)).map((index) => path(index));
}

/** Shortest paths that end with each step that a state offers, wherever the platform then is; each such step once. */
export function pathsOverSteps(): readonly DrivenPath[] {
  const { visits, edges, path } = exploreDriven();
  const taken = new Set<string>();
  return edges.flatMap((edge) => {
    const { life } = visits[edge.from]?.state ?? edge.after;
    const key = `${lifeKey(life)} ${edge.action.label}`;
    if (taken.has(key)) return [];
    taken.add(key);
    return [path(edge.from, [edge])];
  });
}

/** The states of level 1, and those among them that no driven path leads to. */
export function undrivenStates(): { readonly all: number; readonly undriven: readonly Projection[] } {
  const reached = new Set(explore(driven).visits.map(({ state }) => lifeKey(state.life)));
  const { visits } = explore(level1);
  const undriven = visits.filter(({ state }) => !reached.has(lifeKey(state)));
  return { all: visits.length, undriven: undriven.map(({ projection }) => projection) };
}
