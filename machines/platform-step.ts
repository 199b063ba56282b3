/** The platform machine as a pure function: what follows an event, and what the platform does about it. */
import { initialTransition, transition } from 'xstate';
import { platformMachine } from './platform.ts';
import type { PlatformSnapshot } from './platform.ts';
import type { PlatformEffect, PlatformEvent, PlatformInput } from './platform-types.ts';

/** A snapshot, and the effects of the step that led to it, in order. */
export interface PlatformStep {
  readonly snapshot: PlatformSnapshot;
  readonly effects: readonly PlatformEffect[];
}

function emitted(actions: readonly { readonly type: string; readonly params?: unknown }[]): PlatformEffect[] {
  const effects: PlatformEffect[] = [];
  for (const action of actions) {
    if (action.type === 'xstate.emit') effects.push((action.params as { event: PlatformEffect }).event);
  }
  return effects;
}

/** A VM whose launch was just accepted. */
export function launchPlatform(input: PlatformInput): PlatformStep {
  const [snapshot, actions] = initialTransition(platformMachine, input);
  return { snapshot, effects: emitted(actions) };
}

/** Takes one event. Runs nothing: the effects are for the caller to carry out. */
export function platformStep(snapshot: PlatformSnapshot, event: PlatformEvent): PlatformStep {
  const [next, actions] = transition(platformMachine, snapshot, event);
  return { snapshot: next, effects: emitted(actions) };
}
