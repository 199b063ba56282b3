/**
 * The proxy token of one session: one mint at a time, refreshed at half life, its scope widened
 * port by port (`client-behaviour.md` 4.4).
 *
 * The token itself is never here. Each successful mint has a number, `heldOp`; whoever runs the
 * machine keeps the secret under that number.
 */
import { and, assign, emit, enqueueActions, fromPromise, setup } from 'xstate';
import type { ErrorRecord } from './records.ts';

/** The service's ceiling for the life of a token, in milliseconds. */
export const maxTokenLifetimeMs = 3_600_000;

/** A token older than this is minted anew: half of its life, in milliseconds. */
export const defaultRefreshAfterMs = 1_800_000;

/** Somebody who needs a token that covers a port. */
export interface TokenRequest {
  readonly id: number;
  readonly port: number;
}

/** What the machine remembers; all of it safe to show. */
export interface ProxyTokenContext {
  /** The port of the daemon, always in scope. */
  readonly sessionPort: number;
  readonly refreshAfterMs: number;
  readonly lifetimeMs: number;
  /** Which mint the held token came from, or `null` when none is held. */
  readonly heldOp: number | null;
  /** The scope of the held token, ascending. */
  readonly ports: readonly number[];
  /** The clock's reading when the held token was asked for. */
  readonly mintedAt: number | null;
  /** How many mints succeeded. */
  readonly mintCount: number;
  /** The number of the newest mint. */
  readonly op: number;
  /** The scope asked for by the mint under way. */
  readonly minting: readonly number[];
  readonly waiting: readonly TokenRequest[];
  /** The token was invalidated while a mint was under way: what comes back is of the past. */
  readonly outdated: boolean;
}

/** What a mint is told. */
export interface MintInput {
  readonly op: number;
  readonly ports: readonly number[];
}

/** How a mint ended. It never rejects. `askedAt` is the reading before it was sent. */
export type MintOutcome =
  | { readonly op: number; readonly askedAt: number; readonly at: number; readonly ok: true }
  | { readonly op: number; readonly at: number; readonly ok: false; readonly error: ErrorRecord };

/** Every event carries `at`, a monotonic reading in milliseconds. */
export type ProxyTokenEvent =
  | { readonly type: 'NEED'; readonly id: number; readonly port: number; readonly at: number }
  | { readonly type: 'GIVE_UP'; readonly id: number; readonly at: number }
  | { readonly type: 'INVALIDATE'; readonly at: number };

/** Answers to those who asked. */
export type ProxyTokenEmitted =
  | { readonly type: 'GRANTED'; readonly ids: readonly number[]; readonly op: number }
  | { readonly type: 'DENIED'; readonly ids: readonly number[]; readonly op: number; readonly error: ErrorRecord };

/** Whether the held token is fresh and covers the port. */
export function tokenCovers(
  context: Pick<ProxyTokenContext, 'mintedAt' | 'ports' | 'refreshAfterMs'>,
  port: number,
  at: number,
): boolean {
  return context.mintedAt !== null && context.ports.includes(port) && at - context.mintedAt <= context.refreshAfterMs;
}

/** Whether the held token still opens the port, though it may be due for a refresh. */
export function tokenStillOpens(
  context: Pick<ProxyTokenContext, 'mintedAt' | 'ports' | 'lifetimeMs'>,
  port: number,
  at: number,
): boolean {
  return context.mintedAt !== null && context.ports.includes(port) && at - context.mintedAt < context.lifetimeMs;
}

/** The scope of the next mint: what was held, the session's own port, and what is asked for. */
function widenedScope(context: ProxyTokenContext, waiting: readonly TokenRequest[]): readonly number[] {
  const ports = new Set([...context.ports, context.sessionPort, ...waiting.map((request) => request.port)]);
  return [...ports].sort((left, right) => left - right);
}

/** Drops the outcome's type from the event union where XState hands both over. */
function outcomeOf(event: unknown): MintOutcome {
  return (event as { output: MintOutcome }).output;
}

/** No token, and nothing known of one. */
export const nothingHeld = { heldOp: null, ports: [], mintedAt: null } as const;

/** The machine. Give it `mintToken`; listen for `GRANTED` and `DENIED`. */
export const proxyTokenMachine = setup({
  types: {} as {
    context: ProxyTokenContext;
    events: ProxyTokenEvent;
    emitted: ProxyTokenEmitted;
    input: { sessionPort: number; refreshAfterMs?: number; lifetimeMs?: number };
  },
  actors: {
    mintToken: fromPromise<MintOutcome, MintInput>(() => new Promise<MintOutcome>(() => undefined)),
  },
  guards: {
    covered: ({ context, event }) => event.type === 'NEED' && tokenCovers(context, event.port, event.at),
    staleOutcome: ({ context, event }) => outcomeOf(event).op !== context.op,
    mintedButOutdated: ({ context, event }) => outcomeOf(event).ok && context.outdated && context.waiting.length > 0,
    mintedAndForgotten: ({ context, event }) => outcomeOf(event).ok && context.outdated,
    mintedTooNarrow: ({ context, event }) =>
      outcomeOf(event).ok && context.waiting.some((request) => !context.minting.includes(request.port)),
    minted: ({ event }) => outcomeOf(event).ok,
    failedForSomeOnly: ({ context }) => context.waiting.some((request) => !context.minting.includes(request.port)),
    tokenHeld: ({ context }) => context.heldOp !== null,
    lastOneGivesUp: ({ context, event }) =>
      event.type === 'GIVE_UP' && context.waiting.every((request) => request.id === event.id),
  },
  actions: {
    grantOne: emit(({ context, event }) => ({
      type: 'GRANTED',
      ids: event.type === 'NEED' ? [event.id] : [],
      op: context.heldOp ?? 0,
    })),
    enqueueRequest: assign({
      waiting: ({ context, event }) =>
        event.type === 'NEED' ? [...context.waiting, { id: event.id, port: event.port }] : context.waiting,
    }),
    dropRequest: assign({
      waiting: ({ context, event }) =>
        event.type === 'GIVE_UP' ? context.waiting.filter((request) => request.id !== event.id) : context.waiting,
    }),
    beginMint: assign({
      op: ({ context }) => context.op + 1,
      minting: ({ context }) => widenedScope(context, context.waiting),
      outdated: false,
    }),
    countMint: assign({ mintCount: ({ context }) => context.mintCount + 1 }),
    holdToken: assign(({ context, event }) => {
      const outcome = outcomeOf(event);
      return outcome.ok ? { heldOp: outcome.op, ports: context.minting, mintedAt: outcome.askedAt } : {};
    }),
    grantCovered: enqueueActions(({ context, enqueue }) => {
      const granted = context.waiting.filter((request) => context.ports.includes(request.port));
      if (granted.length === 0) return;
      enqueue.assign({ waiting: context.waiting.filter((request) => !granted.includes(request)) });
      enqueue.emit({ type: 'GRANTED', ids: granted.map((request) => request.id), op: context.heldOp ?? 0 });
    }),
    answerFailure: enqueueActions(({ context, event, enqueue }) => {
      const outcome = outcomeOf(event);
      if (outcome.ok) return;
      const asked = context.waiting.filter((request) => context.minting.includes(request.port));
      // A refused identity is final; anything else leaves a token usable that has not expired.
      const usable = (request: TokenRequest) =>
        outcome.error.kind !== 'Credentials' && tokenStillOpens(context, request.port, outcome.at);
      const granted = asked.filter(usable).map((request) => request.id);
      const denied = asked.filter((request) => !usable(request)).map((request) => request.id);
      enqueue.assign({ waiting: context.waiting.filter((request) => !asked.includes(request)) });
      if (granted.length > 0) enqueue.emit({ type: 'GRANTED', ids: granted, op: context.heldOp ?? 0 });
      if (denied.length > 0) enqueue.emit({ type: 'DENIED', ids: denied, op: outcome.op, error: outcome.error });
    }),
    forgetToken: assign(nothingHeld),
    markOutdated: assign({ ...nothingHeld, outdated: true }),
  },
}).createMachine({
  id: 'proxyToken',
  description: 'The one token with which a session passes the endpoint proxy.',
  context: ({ input }) => ({
    sessionPort: input.sessionPort,
    refreshAfterMs: input.refreshAfterMs ?? defaultRefreshAfterMs,
    lifetimeMs: input.lifetimeMs ?? maxTokenLifetimeMs,
    ...nothingHeld,
    mintCount: 0,
    op: 0,
    minting: [],
    waiting: [],
    outdated: false,
  }),
  initial: 'Empty',
  states: {
    Empty: {
      description: 'No token is held.',
      on: {
        NEED: { target: 'Minting', actions: ['enqueueRequest', 'beginMint'] },
      },
    },
    Held: {
      description: 'A token is held; whether it is fresh and wide enough is judged per request.',
      on: {
        NEED: [
          { guard: 'covered', actions: 'grantOne' },
          { target: 'Minting', actions: ['enqueueRequest', 'beginMint'] },
        ],
        INVALIDATE: { target: 'Empty', actions: 'forgetToken' },
      },
    },
    Minting: {
      description: 'One mint is under way; whoever the held token does not serve waits for it.',
      invoke: {
        id: 'mint',
        src: 'mintToken',
        input: ({ context }) => ({ op: context.op, ports: context.minting }),
        onDone: [
          { guard: 'staleOutcome' },
          {
            guard: 'mintedButOutdated',
            target: 'Minting',
            reenter: true,
            actions: ['countMint', 'beginMint'],
          },
          { guard: 'mintedAndForgotten', target: 'Empty', actions: 'countMint' },
          {
            guard: 'mintedTooNarrow',
            target: 'Minting',
            reenter: true,
            actions: ['countMint', 'holdToken', 'grantCovered', 'beginMint'],
          },
          { guard: 'minted', target: 'Held', actions: ['countMint', 'holdToken', 'grantCovered'] },
          {
            guard: 'failedForSomeOnly',
            target: 'Minting',
            reenter: true,
            actions: ['answerFailure', 'beginMint'],
          },
          { guard: 'tokenHeld', target: 'Held', actions: 'answerFailure' },
          { target: 'Empty', actions: 'answerFailure' },
        ],
      },
      on: {
        NEED: [{ guard: 'covered', actions: 'grantOne' }, { actions: 'enqueueRequest' }],
        GIVE_UP: [
          { guard: and(['lastOneGivesUp', 'tokenHeld']), target: 'Held', actions: 'dropRequest' },
          { guard: 'lastOneGivesUp', target: 'Empty', actions: 'dropRequest' },
          { actions: 'dropRequest' },
        ],
        INVALIDATE: { actions: 'markOutdated' },
      },
    },
  },
});
