/** XState's inspection protocol as `@statelyai/inspect` sends it, read into entries. */
import type { Tell } from '../trace/entry.ts';
import { factsOf, pathOfValue } from '../trace/inspection.ts';

/** The part of the protocol's events that is read. */
export interface StatelyEvent {
  readonly type: '@xstate.actor' | '@xstate.event' | '@xstate.snapshot';
  readonly sessionId: string;
  readonly name?: string;
  /** The machine's config as JSON. */
  readonly definition?: string;
  readonly event?: { readonly type: string };
  readonly snapshot?: { readonly value?: unknown; readonly context?: unknown } | null;
}

/** Makes a reader for one connection. Contexts are looked at for what a page shows of a lifecycle, and dropped. */
export function statelyReader(
  tell: Tell,
  learn: (machine: string, config: unknown) => void,
): (event: StatelyEvent) => void {
  const actors = new Map<string, { readonly life: string; state: string }>();

  function settle(sessionId: string, event: string, snapshot: StatelyEvent['snapshot']): void {
    const actor = actors.get(sessionId);
    if (actor === undefined || snapshot?.value === undefined) return;
    const state = pathOfValue(snapshot.value);
    const at = Date.now();
    const { life } = actor;
    const from = actor.state === '' ? null : actor.state;
    if (from === state) {
      tell({ kind: 'event', at, life, event, state });
      return;
    }
    const facts = factsOf(snapshot.context, null);
    tell({
      kind: 'state',
      at,
      life,
      from,
      state,
      event,
      cause: null,
      reason: null,
      ...(facts === null ? {} : { facts }),
    });
    actor.state = state;
  }

  return ({ type, sessionId, name, definition, event, snapshot }) => {
    if (type === '@xstate.actor') {
      const config = definition === undefined ? null : (JSON.parse(definition) as { id?: string; states?: unknown });
      // Promises and callbacks have a definition of their name alone.
      if (config?.states === undefined) return;
      const machine = config.id ?? name ?? sessionId;
      const life = `${name ?? machine} ${sessionId}`;
      learn(machine, config);
      actors.set(sessionId, { life, state: '' });
      tell({ kind: 'life', at: Date.now(), life, machine, title: life, source: 'inspect', takesCommands: false });
      settle(sessionId, 'start', snapshot);
    } else if (type === '@xstate.snapshot') {
      settle(sessionId, event?.type ?? '', snapshot);
    }
  };
}
