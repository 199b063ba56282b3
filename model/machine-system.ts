/**
 * A statechart as a system to explore: the very machine that runs, stepped by XState's pure `transition()`.
 *
 * No actor runs. What a machine would start, stop and emit comes back as data, and how an actor ends is supplied as
 * an event like any other (see {@link doneEvent}).
 */
import {
  createActor,
  initialTransition,
  type AnyActorScope,
  type AnyStateMachine,
  type EventFromLogic,
  type SnapshotFrom,
} from 'xstate';
import {
  type Action,
  type FieldValue,
  type Projection,
  type Step,
  type TransitionSystem,
} from './transition-system.ts';

/** An actor that a step starts. */
export interface StartedActor {
  readonly id: string;
  readonly src: string;
  readonly input: unknown;
}

/** An event that a step emits to outside listeners. */
export interface EmittedEvent {
  readonly type: string;
}

/** What a step of a machine makes happen outside. */
export interface MachineEffects {
  readonly started: readonly StartedActor[];
  /** Ids of the actors that it stops. */
  readonly stopped: readonly string[];
  readonly emitted: readonly EmittedEvent[];
}

/** One step of a machine. */
export type MachineStep<Machine extends AnyStateMachine> = Step<
  SnapshotFrom<Machine>,
  EventFromLogic<Machine>,
  MachineEffects
>;

/** Options of {@link machineSystem}. */
export interface MachineSystemOptions<Machine extends AnyStateMachine> {
  /** Inputs to start with, one initial state each; a single start without input when left out. */
  readonly inputs?: readonly unknown[];
  /** Snapshots to start from besides, for example of a restored life. */
  readonly snapshots?: readonly SnapshotFrom<Machine>[];
  /** Everything that may happen in a state: commands, the ends of actors, reports. */
  readonly events: (snapshot: SnapshotFrom<Machine>) => readonly Action<EventFromLogic<Machine>>[];
  /** The finite classes of a state; all of value and context when left out. */
  readonly project?: (snapshot: SnapshotFrom<Machine>) => Projection;
  /** A state in a few words; its path when left out. */
  readonly describe?: (snapshot: SnapshotFrom<Machine>) => string;
  /** An emitted event in a few words; its type when left out. */
  readonly describeEmitted?: (event: EmittedEvent) => string;
}

/** The event by which XState tells a machine that an invoked actor is done. */
export function doneEvent(
  id: string,
  output: unknown,
): { type: `xstate.done.actor.${string}`; output: unknown; actorId: string } {
  return { type: `xstate.done.actor.${id}`, output, actorId: id };
}

/** The event by which XState tells a machine that an invoked actor threw. */
export function errorEvent(
  id: string,
  error: unknown,
): { type: `xstate.error.actor.${string}`; error: unknown; actorId: string } {
  return { type: `xstate.error.actor.${id}`, error, actorId: id };
}

/** The place of a snapshot in its machine: `RUNNING.idle`; regions of a parallel state are joined by `|`. */
export function statePath(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([name, inner]) => {
      const below = statePath(inner);
      return below === '' ? name : `${name}.${below}`;
    })
    .join('|');
}

function flatten(prefix: string, value: unknown, into: Record<string, FieldValue>): void {
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) into[prefix] = Array.isArray(value) ? '[]' : '{}';
    for (const [name, inner] of entries) flatten(`${prefix}.${name}`, inner, into);
  } else {
    into[prefix] = (value as FieldValue | undefined) ?? null;
  }
}

/** The projection that forgets nothing: the state and every value in context. Fields may come and go. */
export function wholeSnapshot(snapshot: { readonly value: unknown; readonly context: unknown }): Projection {
  const fields: Record<string, FieldValue> = { state: statePath(snapshot.value) };
  flatten('context', snapshot.context, fields);
  // Names belong to the key here, because not every snapshot has the same fields.
  fields['fields'] = Object.keys(fields).join(',');
  return fields;
}

interface ExecutableAction {
  readonly type: string;
  readonly params?: unknown;
}

/** Sorts what XState says a step would execute. */
export function effectsOf(actions: readonly ExecutableAction[]): MachineEffects {
  const started: StartedActor[] = [];
  const stopped: string[] = [];
  const emitted: EmittedEvent[] = [];
  for (const { type, params } of actions) {
    if (type === 'xstate.spawnChild') {
      const { id, src, input } = params as { id: string; src: unknown; input: unknown };
      started.push({ id, src: typeof src === 'string' ? src : id, input });
    } else if (type === 'xstate.stopChild') {
      const target = (params as { actorRef?: { id?: string } | string } | undefined)?.actorRef ?? params;
      stopped.push(typeof target === 'string' ? target : ((target as { id?: string } | undefined)?.id ?? ''));
    } else if (type === 'xstate.emit') {
      emitted.push((params as { event: EmittedEvent }).event);
    }
  }
  return { started, stopped, emitted };
}

/** Takes one step of a machine, with all that it would make happen. Runs nothing. */
export type Stepper<Machine extends AnyStateMachine> = (
  before: SnapshotFrom<Machine>,
  action: Action<EventFromLogic<Machine>>,
) => MachineStep<Machine>;

/**
 * Makes the pure step function of a machine.
 *
 * It is XState's own `transition()`, but for the actor that this builds anew (initial state and all) for every call:
 * one that is never started serves all steps. A test compares the two.
 */
export function stepperOf<Machine extends AnyStateMachine>(machine: Machine): Stepper<Machine> {
  let actions: ExecutableAction[] = [];
  const self = createActor(machine);
  const scope = {
    self,
    system: self.system,
    id: '',
    sessionId: '',
    logger: () => {},
    defer: () => {},
    stopChild: () => {},
    emit: () => {},
    actionExecutor: (action: ExecutableAction) => {
      actions.push(action);
    },
  } as unknown as AnyActorScope;
  return (before, action) => {
    actions = [];
    const after = machine.transition(before as never, action.event, scope) as SnapshotFrom<Machine>;
    return { before, action, after, effects: effectsOf(actions) };
  };
}

/** Turns a machine into a system to explore. */
export function machineSystem<Machine extends AnyStateMachine>(
  machine: Machine,
  options: MachineSystemOptions<Machine>,
): TransitionSystem<SnapshotFrom<Machine>, EventFromLogic<Machine>, MachineEffects> {
  const { inputs, snapshots = [], events, project, describe, describeEmitted } = options;
  const given = inputs ?? (snapshots.length > 0 ? [] : [undefined]);
  const starts = [
    ...given.map((input) => initialTransition(machine, input as never)[0] as SnapshotFrom<Machine>),
    ...snapshots,
  ];
  return {
    initial: () => starts,
    actions: events,
    step: stepperOf(machine),
    project: project ?? ((state) => wholeSnapshot(state as { readonly value: unknown; readonly context: unknown })),
    isSilent: ({ started, stopped, emitted }) => started.length + stopped.length + emitted.length === 0,
    describe: describe ?? ((state) => statePath((state as { readonly value: unknown }).value)),
    describeEffects: ({ started, stopped, emitted }) => [
      ...stopped.map((id) => `stops ${id}`),
      ...started.map(({ src }) => `starts ${src}`),
      ...emitted.map((event) => describeEmitted?.(event) ?? `emits ${event.type}`),
    ],
  };
}
