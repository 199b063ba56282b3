/** Ways to read a step of the lifecycle machine: what was asked, what came back, what went out. */
import {
  substateOf,
  type Answered,
  type CallKind,
  type EffectInput,
  type Outcome,
  type Report,
  type SandboxCommand,
  type SandboxSnapshot,
  type Settled,
  type VmState,
} from '../../machines/index.ts';
import type { SandboxStep } from './system.ts';

/** The service's state of a snapshot: the first word of its substate. */
export function stateOf(snapshot: SandboxSnapshot): VmState {
  return substateOf(snapshot).split('.')[0] as VmState;
}

/** Whether a snapshot is in a state (`RUNNING`) or substate (`RUNNING.idle`). */
export function isIn(snapshot: SandboxSnapshot, ...places: readonly string[]): boolean {
  const substate = substateOf(snapshot);
  return places.some((place) => substate === place || substate.startsWith(`${place}.`));
}

/** The command that a step answers, or `null`. */
export function commandOf({ action }: SandboxStep): SandboxCommand | null {
  return 'commandId' in action.event ? action.event : null;
}

/** The answers that a step gives. */
export function answersOf({ effects }: SandboxStep): readonly Answered[] {
  return effects.emitted.filter(({ type }) => type === 'ANSWERED') as unknown as Answered[];
}

/** The commands that a step ends. */
export function settlementsOf({ effects }: SandboxStep): readonly Settled[] {
  return effects.emitted.filter(({ type }) => type === 'SETTLED') as unknown as Settled[];
}

/** What a step hands to a call of this kind, or `null` when it starts none. */
export function startedCall({ effects }: SandboxStep, kind: CallKind): EffectInput | null {
  const actor = effects.started.find(({ src }) => src === kind);
  return actor === undefined ? null : (actor.input as EffectInput);
}

/** The outcome of the operation under way, or `null` for any other event (a late outcome is not one). */
export function currentOutcome({ before, action }: SandboxStep, kind?: CallKind): Outcome | null {
  const { type, output } = action.event as { type: string; output?: Outcome };
  const { call } = before.context;
  if (call === null || output === undefined || output.op !== call.op) return null;
  return type === `xstate.done.actor.${call.kind}` && (kind === undefined || kind === call.kind) ? output : null;
}

/** The state that an outcome names: TERMINATED for a VM that is gone. */
export function stateIn(outcome: Outcome | null): string | null {
  if (outcome === null) return null;
  return outcome.gone ? 'TERMINATED' : (outcome.description?.state ?? null);
}

/** The state that a report names, or `null` when the step is no report or one that is out of date. */
export function freshReport({ before, action }: SandboxStep): string | null {
  if (!action.event.type.startsWith('OBSERVED.')) return null;
  const { askedAt, type } = action.event as Report;
  const { acceptedAt, microvmId } = before.context;
  if (microvmId === null || (acceptedAt !== null && askedAt < acceptedAt)) return null;
  return type.slice('OBSERVED.'.length);
}

/** The state that the platform is now known to be in, from a report or from the outcome under way. */
export function seen(step: SandboxStep): string | null {
  return freshReport(step) ?? stateIn(currentOutcome(step));
}

/** The whole of a snapshot that could make a difference, as text. */
export function wholeOf({ value, context }: SandboxSnapshot): string {
  return JSON.stringify([value, context]);
}
