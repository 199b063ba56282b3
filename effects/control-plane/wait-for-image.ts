/** Waiting for an image build, and seeing one that never started (TRAP-2, `client-behaviour.md` 3.7). */
import { VmchartError } from '../errors.ts';
import { diagnoseFailedBuild } from './build-diagnosis.ts';
import type { CallOptions } from './caller.ts';
import { checkLabel } from './encode.ts';
import type { ImageOperations } from './image-operations.ts';
import { adaptiveImageSchedule } from './schedule.ts';
import type { Schedule } from './schedule.ts';
import { waitForState } from './wait.ts';
import type { MicrovmImage } from './wire.ts';

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

/** States in which an image can be launched; the last two were seen from doubles of the service. */
const readyStates = ['CREATED', 'UPDATED', 'ACTIVE', 'AVAILABLE'];

/** Whether an image in this state can be launched. */
function isImageReady(state: string): boolean {
  return readyStates.includes(state);
}

/** Whether an image in this state has failed. */
function isImageFailed(state: string): boolean {
  return state.includes('FAILED');
}

/**
 * Whether all builds of the newest version still wait for their turn. What cannot be read says nothing.
 */
async function neverScheduled(plane: ImageOperations, image: string, options: CallOptions): Promise<string[] | null> {
  try {
    const [newest] = await plane.firstMicrovmImageVersions(image, options);
    if (newest === undefined) return null;
    const builds = await plane.listMicrovmImageBuilds(image, newest.imageVersion, options);
    const waiting = builds.length > 0 && builds.every((build) => build.buildState === 'PENDING');
    return waiting ? builds.map((build) => `${build.buildId} ${build.buildState}`) : null;
  } catch (error) {
    options.signal?.throwIfAborted();
    if (VmchartError.is(error)) return null;
    throw error;
  }
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
  let probed = false;

  const settled = await waitForState<MicrovmImage>({
    what: `image ${image} to be built`,
    get: async (call) => {
      const found = await plane.getMicrovmImage(image, call);
      if (found !== null) return found;
      throw new VmchartError('Platform', `Image ${image} does not exist.`, { reason: 'not-found', status: 404 });
    },
    stateOf: ({ state }) => (isImageFailed(state) || state.startsWith('DELET') ? 'settled' : state),
    wanted: [...readyStates, 'settled'],
    onReading: async () => {
      const elapsedMs = clock.now() - startedMs;
      if (probed || elapsedMs <= stallAfterMs) return false;
      probed = true;
      const builds = await neverScheduled(plane, image, { signal });
      if (builds !== null) throw wedged(image, builds, elapsedMs);
      return false;
    },
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    schedule: options.schedule ?? adaptiveImageSchedule,
    notFoundGraceMs,
    clock,
    entropy,
    signal,
  });
  if (isImageReady(settled.state)) return settled;
  if (isImageFailed(settled.state)) {
    throw await diagnoseFailedBuild(plane, settled, { signal, logGroup: options.logGroup });
  }
  throw new VmchartError('Platform', `Image ${settled.name} is ${settled.state}, so it will not be ready.`, {
    reason: 'unreachable-state',
  });
}

function wedged(image: string, builds: readonly string[], elapsedMs: number): VmchartError {
  return new VmchartError(
    'BuildWedged',
    `After ${Math.round(elapsedMs / 1_000)} s no build of ${image} was scheduled (${builds.join(', ')}). ` +
      'That is the signature of a create whose clientToken was used before: it replays the old create and builds nothing.',
    { reason: 'replayed-token', suggestions: ['Create the image under another name; this one cannot be deleted yet.'] },
  );
}
