/** Waiting for an image build, and seeing one that never started (TRAP-2, `client-behaviour.md` 3.7). */
import { initialTransition, transition } from 'xstate';
import { imageBuildMachine } from '../../machines/image-build.ts';
import type { ImageBuildEvent } from '../../machines/index.ts';
import { VmchartError } from '../errors.ts';
import { diagnoseFailedBuild } from './build-diagnosis.ts';
import type { CallOptions } from './caller.ts';
import { checkLabel } from './encode.ts';
import type { ImageOperations } from './image-operations.ts';
import { adaptiveImageSchedule } from '../schedule.ts';
import type { Schedule } from '../schedule.ts';
import { waitForState } from './wait.ts';
import type { MicrovmImage, MicrovmImageBuild } from './wire.ts';

/** Settings of {@link waitForImage}. */
export interface WaitForImageOptions {
  /** 45 minutes by default. */
  readonly timeoutMs?: number;
  readonly schedule?: Schedule;
  /** After how long the builds are looked at once, in milliseconds. 240 s by default. */
  readonly stallAfterMs?: number;
  /** The configured log group, for the message of a failed build. */
  readonly logGroup?: string;
  readonly signal?: AbortSignal;
}

const defaultTimeoutMs = 45 * 60_000;
const defaultStallAfterMs = 240_000;
/** A read right after the create may not see the image yet. */
const notFoundGraceMs = 30_000;

/** The builds of the newest version. What cannot be read says nothing. */
async function readBuilds(plane: ImageOperations, image: string, options: CallOptions): Promise<MicrovmImageBuild[]> {
  try {
    const [newest] = await plane.firstMicrovmImageVersions(image, options);
    return newest === undefined ? [] : await plane.listMicrovmImageBuilds(image, newest.imageVersion, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (VmchartError.is(error)) return [];
    throw error;
  }
}

/** Runs the statechart of the wait by hand: what is read goes in, where the build stands comes out. */
function trackBuild(startedAt: number, stallAfterMs: number) {
  let [snapshot] = initialTransition(imageBuildMachine, { startedAt, stallAfterMs });
  return {
    hear(event: ImageBuildEvent): void {
      [snapshot] = transition(imageBuildMachine, snapshot, event);
    },
    stands: (state: Parameters<typeof snapshot.matches>[0]) => snapshot.matches(state),
  };
}

/**
 * Waits until an image can be launched.
 *
 * @throws VmchartError `Platform` with reason `build-failed` and the service's reasons, `BuildWedged` for a create
 *   that was replayed and never scheduled, `Timeout` when time is up
 */
export async function waitForImage(
  plane: ImageOperations,
  image: string,
  options: WaitForImageOptions = {},
): Promise<MicrovmImage> {
  checkLabel('imageIdentifier', image);
  const { clock, entropy } = plane.ports;
  const { stallAfterMs = defaultStallAfterMs, signal } = options;
  const startedMs = clock.now();
  const build = trackBuild(startedMs, stallAfterMs);

  const settled = await waitForState<MicrovmImage>({
    what: `image ${image} to be built`,
    get: async (call) => {
      const found = await plane.getMicrovmImage(image, call);
      if (found === null) {
        throw new VmchartError('Platform', `Image ${image} does not exist.`, { reason: 'not-found', status: 404 });
      }
      build.hear({ type: 'IMAGE_READ', at: clock.now(), state: found.state });
      return found;
    },
    stateOf: ({ state }) => (build.stands('BUILDING') ? state : 'settled'),
    wanted: ['settled'],
    onReading: async () => {
      if (!build.stands({ BUILDING: 'probing' })) return false;
      const builds = await readBuilds(plane, image, { signal });
      build.hear({ type: 'BUILDS_READ', at: clock.now(), states: builds.map(({ buildState }) => buildState) });
      if (build.stands('WEDGED')) throw wedged(image, builds, clock.now() - startedMs);
      return false;
    },
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    schedule: options.schedule ?? adaptiveImageSchedule,
    notFoundGraceMs,
    clock,
    entropy,
    signal,
  });
  if (build.stands('READY')) return settled;
  if (build.stands('FAILED')) throw await diagnoseFailedBuild(plane, settled, { signal, logGroup: options.logGroup });
  throw new VmchartError('Platform', `Image ${settled.name} is ${settled.state}, so it will not be ready.`, {
    reason: 'unreachable-state',
  });
}

function wedged(image: string, builds: readonly MicrovmImageBuild[], elapsedMs: number): VmchartError {
  const waiting = builds.map(({ buildId, buildState }) => `${buildId} ${buildState}`).join(', ');
  return new VmchartError(
    'BuildWedged',
    `After ${Math.round(elapsedMs / 1_000)} s no build of ${image} was scheduled (${waiting}). ` +
      'That is the signature of a create whose clientToken was used before: it replays the old create and builds nothing.',
    { reason: 'replayed-token', suggestions: ['Create the image under another name; this one cannot be deleted yet.'] },
  );
}
