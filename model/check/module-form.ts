/**
 * What a user's check has to look like, and whose fault it is when a function of it throws: a check is the user's
 * own code, so that a mistake in it is told by its property or its event, and never as a fault of the checker.
 */
import type { AnyStateMachine } from 'xstate';
import { machineSystem, type MachineEffects } from '../machine-system.ts';
import { ModelError } from '../model-error.ts';
import type { Property } from '../property.ts';
import type { CheckModule } from './module.ts';

const kinds = ['always', 'step', 'sometimes'] as const;

function invalid(message: string, cause?: unknown): ModelError {
  return new ModelError('invalid-model', message, cause === undefined ? {} : { cause });
}

/**
 * Looks at what can be seen without exploring.
 *
 * @param whose what the message begins with, such as `the check in ./orders.js`
 * @throws ModelError with reason `invalid-model` that names the part, or the property, that is wrong
 */
export function refuseWrongForm(check: Partial<CheckModule>, whose: string): void {
  const { machine, events, properties } = check as Readonly<Record<string, unknown>>;
  if (typeof machine !== 'object' || machine === null || !('transition' in machine))
    throw invalid(`the machine of ${whose} is no XState machine`);
  if (typeof events !== 'function') throw invalid(`events of ${whose} must be a function of a snapshot`);
  if (!Array.isArray(properties)) throw invalid(`properties of ${whose} must be a list`);
  if (properties.length === 0) throw invalid(`${whose} has no properties, so that nothing is put to the test`);
  const seen = new Set<unknown>();
  for (const [index, property] of (properties as unknown[]).entries()) {
    refuseWrongProperty(property, `property ${index + 1} of ${whose}`);
    const { id } = property as { readonly id: string };
    if (seen.has(id)) throw invalid(`two properties of ${whose} have the id '${id}'`);
    seen.add(id);
  }
}

function refuseWrongProperty(property: unknown, place: string): void {
  if (typeof property !== 'object' || property === null) throw invalid(`${place} is no object`);
  const { id, kind, says, premise, check } = property as Readonly<Record<string, unknown>>;
  if (typeof id !== 'string' || id === '') throw invalid(`${place} has no id`);
  const named = `the property '${id}'`;
  if (!kinds.some((known) => known === kind))
    throw invalid(
      `${named} has the kind ${JSON.stringify(kind) ?? 'undefined'}: it must be one of ${kinds.join(', ')}`,
    );
  if (typeof says !== 'string') throw invalid(`${named} lacks says, its sentence`);
  if (typeof check !== 'function') throw invalid(`${named} lacks check, a function`);
  if (premise === undefined && kind === 'step') throw invalid(`${named} lacks premise, which a step property needs`);
  if (premise !== undefined && typeof premise !== 'function') throw invalid(`the premise of ${named} is no function`);
}

/** The same check, whose own functions say who they are when they throw. */
export function guarded(check: CheckModule): CheckModule {
  const { events, project, describe, describeEmitted } = check;
  return {
    ...check,
    events: (snapshot) => {
      const actions = told(() => events(snapshot), `events() of '${check.name}'`);
      if (!Array.isArray(actions)) throw invalid(`events() of '${check.name}' must give a list`);
      for (const action of actions as unknown[]) refuseWrongAction(action, check.name);
      return actions;
    },
    properties: check.properties.map(guardedProperty),
    ...(project === undefined
      ? {}
      : { project: (snapshot) => told(() => project(snapshot), `project() of '${check.name}'`) }),
    ...(describe === undefined
      ? {}
      : { describe: (snapshot) => told(() => describe(snapshot), `describe() of '${check.name}'`) }),
    ...(describeEmitted === undefined
      ? {}
      : { describeEmitted: (event) => told(() => describeEmitted(event), `describeEmitted() of '${check.name}'`) }),
  };
}

/** The system of a check, in which an event that the machine throws at is named by its label. */
export function systemOf<Machine extends AnyStateMachine>(check: CheckModule<Machine>): SystemOf<Machine> {
  const system = told(() => machineSystem(check.machine, check), `the start of '${check.name}'`);
  return {
    ...system,
    step: (before, action) => told(() => system.step(before, action), `the machine, at the event '${action.label}',`),
  };
}

type SystemOf<Machine extends AnyStateMachine> = ReturnType<typeof machineSystem<Machine>>;

function refuseWrongAction(action: unknown, name: string): void {
  if (typeof action !== 'object' || action === null)
    throw invalid(`events() of '${name}' gives an event that is no object`);
  const { by, label, event } = action as Readonly<Record<string, unknown>>;
  const called =
    typeof label === 'string' && label !== '' ? `'${label}'` : (JSON.stringify(action) ?? 'without a label');
  if (typeof label !== 'string' || typeof by !== 'string')
    throw invalid(`the event ${called} of '${name}' needs by and label, two texts`);
  const type = (event as { readonly type?: unknown } | null | undefined)?.type;
  if (typeof type !== 'string')
    throw invalid(`the event ${called} of '${name}' has no type: it needs event: { type: … }`);
}

function guardedProperty<State, Event>(
  property: Property<State, Event, MachineEffects>,
): Property<State, Event, MachineEffects> {
  const named = `of the property '${property.id}'`;
  const { check, premise } = property as {
    readonly check: (...args: unknown[]) => boolean;
    readonly premise?: (...args: unknown[]) => boolean;
  };
  return {
    ...property,
    check: (...args: unknown[]) => told(() => check(...args), `check ${named}`),
    ...(premise === undefined
      ? {}
      : { premise: (...args: unknown[]) => told(() => premise(...args), `premise ${named}`) }),
  } as Property<State, Event, MachineEffects>;
}

/** Says whose function it was that threw. */
function told<T>(work: () => T, who: string): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ModelError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    // XState breaks the line before what a guard threw; a refusal is one sentence.
    throw invalid(`${who} threw: ${message.replaceAll(/\s*\n\s*/g, ' ').replace(/\.$/, '')}`, error);
  }
}
