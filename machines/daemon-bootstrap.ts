/**
 * The daemon's one-shot bootstrap (`agentd-protocol.md` 3.4): the first valid run hook installs, an identical one
 * is answered again, any other is refused and changes nothing.
 *
 * The agent token is never here. The host gives each token a reference, equal for byte-identical tokens
 * and telling nothing about them.
 */
import { assign, emit, setup } from 'xstate';

/** What the machine remembers; all of it safe to show. */
export interface BootstrapContext {
  /** The reference of the installed token, or `null` while nothing is installed. */
  readonly tokenRef: string | null;
  /** The clock's reading at the installation. */
  readonly installedAt: number | null;
  /** How many calls installed something. Never more than one. */
  readonly installations: number;
}

/** A run hook whose payload is well formed. `at` is a monotonic reading in milliseconds. */
export interface BootstrapEvent {
  readonly type: 'INSTALL';
  readonly tokenRef: string;
  readonly at: number;
}

/** The one answer to each {@link BootstrapEvent}. Only `installed` lets the host keep what came with the token. */
export type BootstrapAnswer =
  | { readonly type: 'INSTALL.ANSWERED'; readonly outcome: 'installed'; readonly status: 200 }
  | { readonly type: 'INSTALL.ANSWERED'; readonly outcome: 'replayed'; readonly status: 200 }
  | { readonly type: 'INSTALL.ANSWERED'; readonly outcome: 'refused'; readonly status: 409 };

const bootstrapSetup = setup({
  types: {
    context: {} as BootstrapContext,
    events: {} as BootstrapEvent,
    emitted: {} as BootstrapAnswer,
  },
  guards: {
    sameToken: ({ context, event }) => event.tokenRef === context.tokenRef,
  },
  actions: {
    install: assign(({ context, event }) => ({
      tokenRef: event.tokenRef,
      installedAt: event.at,
      installations: context.installations + 1,
    })),
    answerInstalled: emit({ type: 'INSTALL.ANSWERED', outcome: 'installed', status: 200 }),
    answerReplayed: emit({ type: 'INSTALL.ANSWERED', outcome: 'replayed', status: 200 }),
    refuse: emit({ type: 'INSTALL.ANSWERED', outcome: 'refused', status: 409 }),
  },
});

/** The bootstrap machine: the very object that the emulated daemon runs and the checker explores. */
export const bootstrapMachine = bootstrapSetup.createMachine({
  id: 'bootstrap',
  description: 'Exactly one token is ever installed in one life of a VM.',
  context: { tokenRef: null, installedAt: null, installations: 0 },
  initial: 'open',
  states: {
    open: {
      description: 'Nothing is installed: every control route answers 503.',
      on: { INSTALL: { target: 'installed', actions: ['install', 'answerInstalled'] } },
    },
    installed: {
      description: 'Control routes answer to the holder of the token, for the rest of the life of the VM.',
      on: { INSTALL: [{ guard: 'sameToken', actions: 'answerReplayed' }, { actions: 'refuse' }] },
    },
  },
});
