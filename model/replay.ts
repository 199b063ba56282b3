/** Walks a system along given actions and judges the steps: what a pasted counterexample does. */
import { ModelError } from './model-error.ts';
import type { Property } from './property.ts';
import type { Step, TransitionSystem } from './transition-system.ts';

/** The steps of a system from a start, one for each labelled event, whether or not the state offers it. */
export function replay<State, Event, Effects>(
  system: TransitionSystem<State, Event, Effects>,
  start: State,
  events: readonly (readonly [label: string, event: unknown])[],
): Step<State, Event, Effects>[] {
  let state = start;
  return events.map(([label, event]) => {
    const step = system.step(state, { label, by: 'test', event: event as Event });
    state = step.after;
    return step;
  });
}

/**
 * The first step that violates a property, as its number (1 for the first) and its label; `null` when none does.
 *
 * @throws ModelError when no property has that id
 */
export function firstViolation<State, Event, Effects>(
  properties: readonly Property<State, Event, Effects>[],
  id: string,
  steps: readonly Step<State, Event, Effects>[],
): { readonly step: number; readonly label: string } | null {
  const property = properties.find((candidate) => candidate.id === id);
  if (property === undefined) throw new ModelError('unknown-name', `no property '${id}'`);
  const broken = (step: Step<State, Event, Effects>): boolean => {
    if (property.kind === 'always') return (property.premise?.(step.after) ?? true) && !property.check(step.after);
    return property.kind === 'step' && property.premise(step) && !property.check(step);
  };
  const index = steps.findIndex(broken);
  const found = steps[index];
  return found === undefined ? null : { step: index + 1, label: found.action.label };
}
