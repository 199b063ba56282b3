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

/** A shortest path to every state of the lifecycle machine that can be driven to; beginnings of longer ones left out. */
export function drivenPaths(): { readonly paths: readonly DrivenPath[]; readonly states: number } {
  const { visits } = explore(driven);
  const first = new Map<string, number>();
  for (const [index, { state }] of visits.entries()) {
    const key = lifeKey(state.life);
    if (!first.has(key)) first.set(key, index);
  }
  const taken = new Set([...first.values()].flatMap((index) => pathTo(visits, index).slice(0, -1)));
  const ends = [...first.values()].filter((index) => !taken.has(index));
  const paths = ends.map((end): DrivenPath => {
    const [start, ...rest] = pathTo(visits, end).map((index) => visits[index]);
    let before = start?.state as DrivenState;
    const steps = rest.map((visit): DrivenStep => {
      const { state: after, action } = visit as { state: DrivenState; action: SandboxAction };
      const plan = planOf(before.life, before.platform, action) as Plan;
      before = after;
      return { action, plan, after };
    });
    return {
      title: [driven.describe(start?.state as DrivenState), ...steps.map(({ action }) => action.label)].join(' > '),
      start: start?.state as DrivenState,
      steps,
    };
  });
  return { paths, states: first.size };
}

/** The states of level 1 that no driven path leads to. */
export function undrivenStates(): readonly Projection[] {
  const reached = new Set(explore(driven).visits.map(({ state }) => lifeKey(state.life)));
  return explore(level1)
    .visits.filter(({ state }) => !reached.has(lifeKey(state)))
    .map(({ projection }) => projection);
}
