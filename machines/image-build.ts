/**
 * The wait for an image build, as a statechart (`client-behaviour.md` 3.7, TRAP-2).
 *
 * An image that is not ready for a long time is looked into once: when none of its builds was ever scheduled, it was
 * made by a client token that was used before, and waiting on would never end. Time is data: each reading carries `at`.
 */
import { assign, setup } from 'xstate';

/** What starts the wait. */
export interface ImageBuildInput {
  /** A monotonic reading in milliseconds. */
  readonly startedAt: number;
  /** After how long, in milliseconds, the builds are looked at; strictly after. */
  readonly stallAfterMs: number;
}

/** What the wait remembers. */
export interface ImageBuildContext extends ImageBuildInput {
  /** The builds were looked at; it is done once. */
  readonly probed: boolean;
  /** The image's state as the service wrote it last. */
  readonly state: string | null;
}

/** What was read. */
export type ImageBuildEvent =
  /** `GetMicrovmImage` answered. */
  | { readonly type: 'IMAGE_READ'; readonly at: number; readonly state: string }
  /** The states of all builds of the newest version; empty when they could not be read. */
  | { readonly type: 'BUILDS_READ'; readonly at: number; readonly states: readonly string[] };

/** States in which an image can be launched; the last two were seen from doubles of the service. */
const readyStates: readonly string[] = ['CREATED', 'UPDATED', 'ACTIVE', 'AVAILABLE'];

function stateIn(event: ImageBuildEvent): string {
  return event.type === 'IMAGE_READ' ? event.state : '';
}

/** The wait for one build, from the create to an image that can be launched, or to the reason why there is none. */
export const imageBuildMachine = setup({
  types: {} as { context: ImageBuildContext; events: ImageBuildEvent; input: ImageBuildInput },
  guards: {
    isReady: ({ event }) => readyStates.includes(stateIn(event)),
    hasFailed: ({ event }) => stateIn(event).includes('FAILED'),
    isLeaving: ({ event }) => stateIn(event).startsWith('DELET'),
    isStalled: ({ context, event }) => !context.probed && event.at - context.startedAt > context.stallAfterMs,
    neverScheduled: ({ event }) =>
      event.type === 'BUILDS_READ' && event.states.length > 0 && event.states.every((state) => state === 'PENDING'),
  },
  actions: {
    noteState: assign(({ event }) => (event.type === 'IMAGE_READ' ? { state: event.state } : {})),
    noteProbe: assign({ probed: true }),
  },
}).createMachine({
  id: 'image-build',
  description: 'The wait until an image can be launched.',
  context: ({ input }) => ({ ...input, probed: false, state: null }),
  initial: 'BUILDING',
  states: {
    BUILDING: {
      description: 'Accepted, and not ready yet.',
      initial: 'watching',
      states: {
        watching: {
          description: 'Reads the image now and then.',
          on: {
            IMAGE_READ: [
              { guard: 'isReady', target: '#image-build.READY', actions: 'noteState' },
              { guard: 'hasFailed', target: '#image-build.FAILED', actions: 'noteState' },
              { guard: 'isLeaving', target: '#image-build.LEAVING', actions: 'noteState' },
              { guard: 'isStalled', target: 'probing', actions: ['noteState', 'noteProbe'] },
              { actions: 'noteState' },
            ],
          },
        },
        probing: {
          description: 'Takes long: looks at the builds, once.',
          on: {
            BUILDS_READ: [{ guard: 'neverScheduled', target: '#image-build.WEDGED' }, { target: 'watching' }],
          },
        },
      },
    },
    READY: { description: 'It can be launched.' },
    FAILED: { description: 'A build failed; its versions and builds may say why.' },
    LEAVING: { description: 'Somebody deletes it, so it will not be ready.' },
    WEDGED: { description: 'A replayed create: nothing will ever be built, and the image cannot be deleted yet.' },
  },
});
