/**
 * The life of one output stream: attached, cut, attached again at a byte offset, done (`client-behaviour.md` 4.11).
 *
 * The machine decides at each attach, cut, gap and end. Outputs between two such moments are only a cursor that
 * grows, so whoever runs it may report many of them by one `OUTPUT` with the last position.
 */
import { and, assign, setup } from 'xstate';
import type { ErrorRecord } from './records.ts';

/** How a stream behaves when it is disturbed. */
export interface StreamPolicy {
  /** Attach again after a cut. */
  readonly reconnect: boolean;
  /** Over the whole life of the stream; progress does not reset the count. */
  readonly maxReconnects: number;
  /** Bytes that are gone for good end the stream. */
  readonly errorOnGap: boolean;
}

/** What the machine remembers. */
export interface OutputStreamContext {
  readonly execId: string;
  readonly policy: StreamPolicy;
  /** The first byte that is still wanted: what a resume passes as `offset`. */
  readonly cursor: number;
  /** How many re-attaches there were, the coming one included. */
  readonly attempts: number;
  /** What to sleep before the next attach, in milliseconds. */
  readonly backoffMs: number;
  /** Why it failed. */
  readonly error: ErrorRecord | null;
}

/** Every event carries `at`, a monotonic reading in milliseconds. */
export type OutputStreamEvent =
  | { readonly type: 'ATTACHED'; readonly at: number }
  /** Delivered up to here (exclusive). */
  | { readonly type: 'OUTPUT'; readonly to: number; readonly at: number }
  /** The bytes `[from, to)` will not come. */
  | { readonly type: 'GAP'; readonly from: number; readonly to: number; readonly at: number }
  | { readonly type: 'EXIT'; readonly at: number }
  /** The body ended, and no `exit` had come. */
  | { readonly type: 'CUT'; readonly at: number }
  /** An attach or a read failed. */
  | { readonly type: 'FAILED'; readonly error: ErrorRecord; readonly at: number }
  /** The one who reads has had enough. */
  | { readonly type: 'STOP'; readonly at: number };

const backoffTableMs = [250, 500, 1_000, 2_000, 4_000] as const;

/** The sleep before the re-attach with this number (the first is 1), in milliseconds. */
export function backoffMs(attempt: number): number {
  return attempt <= 0 ? 0 : (backoffTableMs[attempt - 1] ?? 4_000);
}

function failure(kind: ErrorRecord['kind'], code: string, more: Partial<ErrorRecord>): ErrorRecord {
  return {
    kind,
    code,
    message: '',
    retryable: kind === 'Retryable',
    wireKind: null,
    reason: null,
    requirement: null,
    status: null,
    ...more,
  };
}

/** What a failure leads to, attached or not: another try where one is worth it and left, the end otherwise. */
const failures = [
  {
    guard: and(['worthRetrying', 'reconnects', 'attemptsLeft']),
    target: 'Reconnect',
    actions: 'countReconnect',
  },
  { guard: and(['worthRetrying', 'reconnects']), target: 'Done.Failed', actions: 'failExhausted' },
  { target: 'Done.Failed', actions: 'keepError' },
] as const;

/** The machine. */
export const outputStreamMachine = setup({
  types: {} as {
    context: OutputStreamContext;
    events: OutputStreamEvent;
    input: { execId: string; offset?: number; policy: StreamPolicy };
  },
  guards: {
    reconnects: ({ context }) => context.policy.reconnect,
    attemptsLeft: ({ context }) => context.attempts < context.policy.maxReconnects,
    worthRetrying: ({ event }) => event.type === 'FAILED' && event.error.retryable,
    gapIsFatal: ({ context }) => context.policy.errorOnGap,
  },
  actions: {
    advance: assign({
      cursor: ({ context, event }) =>
        event.type === 'OUTPUT' || event.type === 'GAP' ? Math.max(context.cursor, event.to) : context.cursor,
    }),
    countReconnect: assign({
      attempts: ({ context }) => context.attempts + 1,
      backoffMs: ({ context }) => backoffMs(context.attempts + 1),
    }),
    keepError: assign({ error: ({ context, event }) => (event.type === 'FAILED' ? event.error : context.error) }),
    failExhausted: assign({
      error: ({ context }) =>
        failure('Retryable', 'ERR_RETRYABLE', {
          reason: 'stream-cut',
          message: `The output stream of exec ${context.execId} was cut ${context.attempts + 1} times; last good offset ${context.cursor}.`,
        }),
    }),
    failOnGap: assign({
      error: ({ context, event }) =>
        event.type !== 'GAP'
          ? context.error
          : failure('Platform', 'ERR_PLATFORM', {
              wireKind: 'OutputGap',
              reason: 'output-gap',
              message: `The output bytes [${event.from}, ${event.to}) of exec ${context.execId} are gone; offset ${event.to} is the next that can be read.`,
            }),
    }),
  },
}).createMachine({
  id: 'outputStream',
  description: 'One reader of the output of one command.',
  context: ({ input }) => ({
    execId: input.execId,
    policy: input.policy,
    cursor: input.offset ?? 0,
    attempts: 0,
    backoffMs: 0,
    error: null,
  }),
  initial: 'Reconnect',
  states: {
    Reconnect: {
      description: 'Not attached: sleep the backoff, then attach at the cursor.',
      on: {
        ATTACHED: 'Attached',
        FAILED: failures,
        STOP: 'Done.Stopped',
      },
    },
    Attached: {
      description: 'Bytes arrive in order, from the cursor on.',
      on: {
        OUTPUT: { actions: 'advance' },
        GAP: [
          { guard: 'gapIsFatal', target: 'Done.Failed', actions: ['advance', 'failOnGap'] },
          { actions: 'advance' },
        ],
        EXIT: 'Done.Exited',
        CUT: [
          { guard: and(['reconnects', 'attemptsLeft']), target: 'Reconnect', actions: 'countReconnect' },
          { guard: 'reconnects', target: 'Done.Failed', actions: 'failExhausted' },
          { target: 'Done.Cut' },
        ],
        FAILED: failures,
        STOP: 'Done.Stopped',
      },
    },
    Done: {
      description: 'Nothing more will come.',
      initial: 'Exited',
      states: {
        Exited: { description: 'The command ended and said so: the only success.' },
        Stopped: { description: 'The reader had enough.' },
        Cut: { description: 'The body ended without an exit and nobody wanted to attach again.' },
        Failed: { description: 'An error ended it; the context has it.' },
      },
    },
  },
});
