/** Ways to look at the lifecycle machine from outside: its start, its substate, the spec's variables, an answer in advance. */
import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom, StateValueFrom } from 'xstate';
import type { VmState } from './records.ts';
import { sandboxMachine } from './sandbox.ts';
import { contextFrom } from './sandbox-context.ts';
import type { SandboxContext, SandboxInput } from './sandbox-context.ts';
import type { Answered, SandboxCommand } from './sandbox-events.ts';

/** A snapshot of the lifecycle machine. */
export type SandboxSnapshot = SnapshotFrom<typeof sandboxMachine>;

/**
 * The snapshot a life starts with: the machine's own beginning, or the quiet substate in which a
 * restored or adopted life goes on.
 *
 * @example
 * createActor(sandboxMachine.provide({ actors }), { snapshot: initialSnapshot(restore(record)) }).start();
 */
export function initialSnapshot(input: SandboxInput): SandboxSnapshot {
  if (input.resume === undefined) return initialTransition(sandboxMachine, input)[0];
  const [state, substate] = input.resume.substate.split('.');
  const value = (substate === undefined ? state : { [state as string]: substate }) as StateValueFrom<
    typeof sandboxMachine
  >;
  return sandboxMachine.resolveState({ value, context: contextFrom(input) });
}

/** The dotted path of a snapshot's substate, such as `PENDING.launching`. */
export function substateOf(snapshot: { readonly value: SandboxSnapshot['value'] }): string {
  const { value } = snapshot;
  if (typeof value === 'string') return value;
  const [[state, substate] = ['', '']] = Object.entries(value);
  return `${state}.${String(substate)}`;
}

/** The five variables of the spec (`client-behaviour.md` 2.2). */
export interface SpecVariables {
  readonly vm_state: VmState;
  readonly token_installed: boolean;
  readonly image_exists: boolean;
  readonly was_terminated: boolean;
  readonly bootstrap_count: number;
}

/** Projects any snapshot onto the five variables of the spec. */
export function specVariables(snapshot: {
  readonly value: SandboxSnapshot['value'];
  readonly context: SandboxContext;
}): SpecVariables {
  const { context } = snapshot;
  return {
    vm_state: substateOf(snapshot).split('.')[0] as VmState,
    token_installed: context.tokenInstalled,
    image_exists: context.imageExists,
    was_terminated: context.wasTerminated,
    bootstrap_count: context.bootstrapCount,
  };
}

/** What the machine would answer to a command in this snapshot. Sends nothing and changes nothing. */
export function answerTo(snapshot: SandboxSnapshot, command: SandboxCommand): Answered | null {
  const [, actions] = transition(sandboxMachine, snapshot, command);
  for (const { type, params } of actions as readonly { type: string; params?: { event?: unknown } }[]) {
    const emitted = type === 'xstate.emit' ? (params?.event as Answered | undefined) : undefined;
    if (emitted?.type === 'ANSWERED') return emitted;
  }
  return null;
}
