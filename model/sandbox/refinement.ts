/**
 * Refinement: whatever the machine does to the five variables of the spec, the spec allows it, and by the very
 * requirement that the transition names.
 */
import { sandboxMachine, specVariables, type SandboxSnapshot } from '../../machines/index.ts';
import { chartOf, taken, type Chart } from '../coverage.ts';
import { applyEffect, brokenInvariants, symspec, type SpecState } from '../symspec.ts';
import type { SandboxProperty } from './client-properties.ts';
import { restartLabel, type SandboxMachine, type SandboxStep } from './system.ts';

/** A snapshot as a state of the spec. */
export function specStateOf(snapshot: SandboxSnapshot): SpecState {
  const { vm_state, token_installed, image_exists, was_terminated, bootstrap_count } = specVariables(snapshot);
  const type = symspec.scope.variable('vm_state');
  return {
    vm_state: type?.kind === 'enum' ? type.members.indexOf(vm_state) : -1,
    token_installed: Number(token_installed),
    image_exists: Number(image_exists),
    was_terminated: Number(was_terminated),
    bootstrap_count,
  };
}

function same(left: SpecState, right: SpecState): boolean {
  return symspec.variables.every(({ name }) => left[name] === right[name]);
}

/** Whether a step leaves all five variables alone. */
export function stutters({ before, after }: SandboxStep): boolean {
  return same(specStateOf(before), specStateOf(after));
}

/**
 * The explanations of a step: one effect, or two in a row where the machine does two things at once (a launch that is
 * accepted while a TERMINATE waits for it). Empty for a step that the spec does not allow.
 */
export function explanations({ before, after }: SandboxStep): readonly (readonly string[])[] {
  const from = specStateOf(before);
  const to = specStateOf(after);
  return symspec.effects.flatMap((first) => {
    const middle = applyEffect(symspec, first, from);
    if (middle === null) return [];
    const pairs = symspec.effects.filter((second) => {
      const reached = applyEffect(symspec, second, middle);
      return reached !== null && same(reached, to);
    });
    return [...(same(middle, to) ? [[first.id]] : []), ...pairs.map((second) => [first.id, second.id])];
  });
}

const charts = new WeakMap<SandboxMachine, Chart>();

/** The requirements that the transition of a step names; for a restart, what a journal may conclude by itself. */
function namedBy(machine: SandboxMachine, { before, action }: SandboxStep): readonly string[] {
  // A process that died while its suspend call was out must believe that the call was accepted.
  if (action.label === restartLabel) return ['STATE-4'];
  let chart = charts.get(machine);
  if (chart === undefined) charts.set(machine, (chart = chartOf(machine)));
  return taken(machine, chart, before, action.event).flatMap(({ requirements }) => requirements);
}

/** The last answer of {@link refinedEffects}: many properties ask about the same step. */
let last: { readonly step: SandboxStep; readonly effects: readonly string[] } | null = null;

/** The effects by which a step is both explained and declared; empty for one that leaves the variables alone. */
export function refinedEffects(machine: SandboxMachine, step: SandboxStep): readonly string[] {
  if (last?.step !== step) last = { step, effects: stutters(step) ? [] : refine(machine, step) };
  return last.effects;
}

function refine(machine: SandboxMachine, step: SandboxStep): readonly string[] {
  const named = namedBy(machine, step);
  return explanations(step)
    .filter((chain) => chain.every((id) => named.includes(id)))
    .flat();
}

/** Refinement as properties: every step is explained, and every effect of the spec explains some step. */
export function refinementProperties(machine: SandboxMachine = sandboxMachine): readonly SandboxProperty[] {
  const ids = [...new Set(symspec.effects.map(({ id }) => id))];
  return [
    {
      id: 'spec-invariants',
      requirement: null,
      says: 'Every state satisfies every invariant of the spec, the auxiliary ones and the facts.',
      kind: 'always',
      check: (snapshot) => brokenInvariants(symspec, specStateOf(snapshot)).length === 0,
    },
    {
      id: 'refines-spec',
      requirement: null,
      says: 'A step that changes a variable of the spec is one of its effects, and the transition names it.',
      kind: 'step',
      premise: (step) => !stutters(step),
      check: (step) => refinedEffects(machine, step).length > 0,
    },
    ...ids.map((id): SandboxProperty => ({
      id: `exercises-${id}`,
      requirement: id,
      says: `Some step of the machine is the effect ${id}.`,
      kind: 'sometimes',
      check: (_state, step) => step !== null && refinedEffects(machine, step).includes(id),
    })),
  ];
}
