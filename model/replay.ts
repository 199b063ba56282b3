/** Walks a machine along given events and judges the steps: what a pasted counterexample does. */
import { initialTransition, type AnyStateMachine, type EventFromLogic, type SnapshotFrom } from 'xstate';
import { stepperOf, type MachineEffects, type MachineStep } from './machine-system.ts';
import { ModelError } from './model-error.ts';
import type { Property } from './property.ts';

/** The steps that a machine takes for a list of events, each with all that it would make happen. */
export function replay<Machine extends AnyStateMachine>(
  machine: Machine,
  input: unknown,
  events: readonly unknown[],
): MachineStep<Machine>[] {
  let state = initialTransition(machine, input as never)[0] as SnapshotFrom<Machine>;
  const take = stepperOf(machine);
  return events.map((event) => {
    const { type } = event as { type: string };
    const step = take(state, { label: type, by: 'test', event: event as EventFromLogic<Machine> });
    state = step.after;
    return step;
  });
}

/**
 * The first step that violates a property, as its number (1 for the first) and the event's type; `null` when none
 * does.
 *
 * @throws ModelError when no property has that id
 */
export function firstViolation<State, Event>(
  properties: readonly Property<State, Event, MachineEffects>[],
  id: string,
  steps: readonly {
    readonly before: State;
    readonly action: { label: string; by: string; event: Event };
    readonly after: State;
    readonly effects: MachineEffects;
  }[],
): { readonly step: number; readonly event: string } | null {
  const property = properties.find((candidate) => candidate.id === id);
  if (property === undefined) throw new ModelError('unknown-name', `no property '${id}'`);
  for (const [index, step] of steps.entries()) {
    const broken =
      (property.kind === 'step' && property.premise(step) && !property.check(step)) ||
      (property.kind === 'always' && (property.premise?.(step.after) ?? true) && !property.check(step.after));
    if (broken) return { step: index + 1, event: step.action.label };
  }
  return null;
}
