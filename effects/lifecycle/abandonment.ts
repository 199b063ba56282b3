/** Warns of a VM whose handle was dropped while it lives. Warns, and never tears down (`client-behaviour.md` 2.11). */
import type { VmState } from '../../machines/index.ts';
import { isLive } from './predicates.ts';

/** What is known of a VM at the moment its handle goes away. */
export interface Abandonment {
  microvmId: string | null;
  lifecycle: VmState;
  /** Where the life stands, such as `TERMINATING.unaccepted`. */
  substate: string;
  /** The key of the launch that was sent, whether it was answered or not. */
  clientToken: string | null;
  /** A teardown ran, the handle was detached, or the VM was never ours to end. */
  released: boolean;
  readonly warn: (text: string) => void;
}

/** The one warning about a VM that nobody holds any more, or `null` when there is nothing to warn of. */
export function abandonmentWarning(state: Abandonment): string | null {
  const { microvmId, lifecycle, released, substate, clientToken } = state;
  if (released) return null;
  if (microvmId === null) {
    if (substate !== 'PENDING.launching' && substate !== 'PENDING.unresolved') return null;
    return (
      `a sandbox was dropped while nobody knows whether its launch ${clientToken ?? ''} made a VM. Nothing was torn ` +
      'down: if there is one, it bills until its maximumDurationInSeconds. List what runs: aws lambda-microvms list-microvms'
    );
  }
  if (!isLive(lifecycle) && substate !== 'TERMINATING.calling' && substate !== 'TERMINATING.unaccepted') return null;
  return (
    `the sandbox of MicroVM ${microvmId} was dropped while the VM is ${lifecycle}. Nothing was torn down: ` +
    `it bills until its maximumDurationInSeconds. End it: aws lambda-microvms terminate-microvm --microvm-identifier ${microvmId}`
  );
}

// The state is held apart from the handle, or the handle could never be collected.
const registry = new FinalizationRegistry<Abandonment>((state) => {
  const warning = abandonmentWarning(state);
  if (warning !== null) state.warn(warning);
});

/** Watches a handle; the state object goes on telling the truth after the handle is gone. */
export function watchForAbandonment(handle: object, state: Abandonment): void {
  registry.register(handle, state);
}
