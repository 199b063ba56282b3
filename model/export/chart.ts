/**
 * A machine as a list of states and a list of transitions: what every picture is drawn from.
 *
 * It is read off the machine object itself, with targets resolved and guards as data. Nothing is run.
 */
import type { AnyStateMachine } from 'xstate';
import { confinedTo, readGuard, type ChartGuard } from './guard.ts';

/** An action or an actor by name, with the parameters that it is given. */
export interface ChartAction {
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>> | null;
}

/** A call or a wait that runs as long as its state lasts. */
export interface ChartInvoke {
  readonly id: string;
  readonly src: string;
}

/** One state of the chart. */
export interface ChartState {
  /** Dotted, without the machine's id: `RUNNING.suspending`; empty for the root. */
  readonly path: string;
  /** The last part of the path. */
  readonly name: string;
  readonly parent: string | null;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  /** Paths of the states directly inside, in the order of the config. */
  readonly children: readonly string[];
  /** Where a compound state begins. */
  readonly initial: string | null;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly entry: readonly ChartAction[];
  readonly exit: readonly ChartAction[];
  readonly invokes: readonly ChartInvoke[];
}

/**
 * What makes a transition happen: a `command` is asked for, a `report` tells what happened elsewhere (its name has a
 * dot), an `outcome` is the end of an invoked actor, `time` passes, and what is `eventless` happens at once.
 */
export type TriggerKind = 'command' | 'report' | 'outcome' | 'time' | 'eventless';

/** One transition of the chart, in the order in which XState tries them. */
export interface ChartTransition {
  /** Where it is written; the root's path is empty. */
  readonly from: string;
  /** Where it can be taken: `from`, or the inner state that its guard confines it to. */
  readonly source: string;
  /** Where it leads; `null` for one that stays. */
  readonly to: string | null;
  /** As XState knows it, such as `SUSPEND` or `xstate.done.actor.suspend`. */
  readonly event: string;
  /** As people read it, such as `SUSPEND` or `suspend done`. */
  readonly label: string;
  readonly trigger: TriggerKind;
  readonly guard: ChartGuard | null;
  readonly actions: readonly ChartAction[];
  readonly requirements: readonly string[];
  readonly description: string | null;
  readonly reenter: boolean;
}

/** A whole chart. States and transitions are in the order of the config. */
export interface Chart {
  readonly id: string;
  readonly description: string | null;
  readonly states: readonly ChartState[];
  readonly transitions: readonly ChartTransition[];
}

type Node = AnyStateMachine['root'];

/** Reads the chart off a machine. */
export function chartOf(machine: AnyStateMachine): Chart {
  const states: ChartState[] = [];
  const transitions: ChartTransition[] = [];
  const visit = (node: Node) => {
    states.push(readState(node));
    for (const [event, candidates] of node.transitions) {
      for (const candidate of candidates) transitions.push(readTransition(machine, node, event, candidate));
    }
    for (const candidate of node.always ?? []) transitions.push(readTransition(machine, node, '', candidate));
    for (const child of Object.values(node.states)) visit(child);
  };
  visit(machine.root);
  return { id: machine.id, description: machine.root.description ?? null, states, transitions };
}

function pathOf(node: Node): string {
  return node.path.join('.');
}

function readState(node: Node): ChartState {
  const initial = node.type === 'compound' ? node.initial.target[0] : undefined;
  return {
    path: pathOf(node),
    name: node.key,
    parent: node.parent === undefined ? null : pathOf(node.parent),
    kind: node.type,
    children: Object.values(node.states).map(pathOf),
    initial: initial === undefined ? null : pathOf(initial),
    description: node.description ?? null,
    tags: node.tags,
    entry: readActions(node.entry),
    exit: readActions(node.exit),
    invokes: node.invoke.map(({ id, src }) => ({ id, src: typeof src === 'string' ? src : id })),
  };
}

/** Reads action references; a function written in place shows under its own name. */
export function readActions(actions: readonly unknown[]): ChartAction[] {
  return actions.map((action) => {
    if (typeof action === 'string') return { name: action, params: null };
    const { type, params, name } = action as { type?: string; name?: string; params?: Record<string, unknown> };
    return { name: type ?? name ?? 'action', params: typeof params === 'object' ? params : null };
  });
}

type Candidate = Node['transitions'] extends ReadonlyMap<string, (infer Each)[]> ? Each : never;

function readTransition(machine: AnyStateMachine, node: Node, event: string, candidate: Candidate): ChartTransition {
  const guard = readGuard(candidate.guard);
  const from = pathOf(node);
  const confined = confinedTo(guard, machine);
  const target = candidate.target?.[0];
  const meta = candidate.meta as { readonly requirements?: readonly string[] } | undefined;
  return {
    from,
    source: confined !== null && (from === '' || confined.startsWith(`${from}.`)) ? confined : from,
    to: target === undefined ? null : pathOf(target as Node),
    event,
    ...readTrigger(event),
    guard,
    actions: readActions(candidate.actions),
    requirements: meta?.requirements ?? [],
    description: candidate.description ?? null,
    reenter: candidate.reenter,
  };
}

function readTrigger(event: string): { label: string; trigger: TriggerKind } {
  const ended = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event);
  if (ended) return { label: `${ended[2]} ${ended[1] === 'done' ? 'done' : 'threw'}`, trigger: 'outcome' };
  if (event.startsWith('xstate.done.state.')) return { label: 'done', trigger: 'outcome' };
  const after = /^xstate\.after\.([^.]*)\./.exec(event);
  if (after)
    return { label: /^\d+$/.test(after[1] ?? '') ? `after ${after[1]} ms` : `after ${after[1]}`, trigger: 'time' };
  if (event === '') return { label: '', trigger: 'eventless' };
  if (event === 'TICK') return { label: event, trigger: 'time' };
  return { label: event, trigger: event.includes('.') ? 'report' : 'command' };
}

/** The outermost state around a path: `RUNNING` for `RUNNING.suspending`. */
export function topOf(path: string): string {
  return path.split('.')[0] ?? '';
}

/** A state in which a call or a wait of ours is under way. Pictures draw it quieter than the states around it. */
export function isInFlight(state: ChartState): boolean {
  return state.invokes.length > 0;
}
