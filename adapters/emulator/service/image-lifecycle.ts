/** What happens to images over time: builds, deletions (`platform-behaviour.md` 4.2 to 4.7). */
import type { EmulatorContext } from '../context.ts';
import { failureReason, snapshotOf } from './build-failures.ts';
import type { PlannedFailure } from './build-failures.ts';
import type { Build, Image, ImageConfiguration, ImageVersion } from './image.ts';
import type { Region } from './region.ts';

/** How long a wedged image held its name when it was seen live. */
const wedgedForMs = 15 * 3_600_000;

/** Sleeps on the emulator's clock; false when the emulator closed meanwhile. */
async function passed(context: EmulatorContext, ms: number): Promise<boolean> {
  try {
    await context.clock.sleep(ms, context.closing);
    return true;
  } catch {
    return false;
  }
}

function memoryOf(version: ImageVersion): number {
  return version.configuration.resources[0]?.minimumMemoryInMiB ?? 2048;
}

function finish(build: Build, version: ImageVersion, planned: PlannedFailure | null): void {
  const fails =
    planned !== null && (planned.chipsetGeneration === null || planned.chipsetGeneration === build.chipsetGeneration);
  const failure = fails ? planned.failure : null;
  build.snapshotBuild = snapshotOf(failure, memoryOf(version));
  build.state = failure === null ? 'SUCCESSFUL' : 'FAILED';
  if (failure !== null && failure !== 'wedged') {
    build.stateReason = failureReason(failure, version.configuration.hooks);
  }
}

/** Runs both builds of a version, from PENDING over IN_PROGRESS to their end. */
async function runBuilds(
  context: EmulatorContext,
  region: Region,
  image: Image,
  version: ImageVersion,
  planned: PlannedFailure | null,
): Promise<void> {
  const { buildDelayMs } = context.options.delays;
  const first = image.state === 'CREATING';
  if (planned?.failure === 'wedged') {
    if (await passed(context, wedgedForMs)) region.images.delete(image.arn);
    return;
  }
  if (!(await passed(context, buildDelayMs))) return;
  version.state = 'IN_PROGRESS';
  for (const build of version.builds) build.state = 'IN_PROGRESS';
  if (!(await passed(context, buildDelayMs))) return;
  for (const build of version.builds) finish(build, version, planned);
  const succeeded = version.builds.every((build) => build.state === 'SUCCESSFUL');
  version.state = succeeded ? 'SUCCESSFUL' : 'FAILED';
  version.status = succeeded ? 'ACTIVE' : 'INACTIVE';
  version.updatedWall = context.clock.wallNow();
  image.updatedWall = version.updatedWall;
  if (first) image.state = succeeded ? 'CREATED' : 'CREATE_FAILED';
  else image.state = succeeded ? 'UPDATED' : 'UPDATE_FAILED';
}

/** Adds the next version to an image and starts its builds. */
export function startVersion(
  context: EmulatorContext,
  region: Region,
  image: Image,
  configuration: ImageConfiguration,
  planned: PlannedFailure | null,
): ImageVersion {
  const createdWall = context.clock.wallNow();
  image.versionsMade += 1;
  const version: ImageVersion = {
    version: `${image.versionsMade}.0`,
    configuration,
    createdWall,
    updatedWall: createdWall,
    state: 'PENDING',
    status: 'INACTIVE',
    stateReason: null,
    builds: ['4', '3'].map((chipsetGeneration) => ({
      buildId: context.ids.uuid(),
      chipsetGeneration,
      createdWall,
      state: 'PENDING',
      stateReason: null,
      snapshotBuild: null,
    })),
  };
  image.versions.push(version);
  image.updatedWall = createdWall;
  void runBuilds(context, region, image, version, planned);
  return version;
}

/** Deletes one version; the image is UPDATING meanwhile. */
export async function deleteVersion(context: EmulatorContext, image: Image, version: ImageVersion): Promise<void> {
  image.state = 'UPDATING';
  version.state = 'DELETING';
  if (!(await passed(context, context.options.delays.versionDeleteDelayMs))) return;
  image.versions = image.versions.filter((other) => other !== version);
  image.state = 'UPDATED';
  image.updatedWall = context.clock.wallNow();
}

/** Deletes an image with its versions; the name stays taken until it is gone. */
export async function deleteImage(context: EmulatorContext, region: Region, image: Image): Promise<void> {
  image.state = 'DELETING';
  if (await passed(context, context.options.delays.imageDeleteDelayMs)) region.images.delete(image.arn);
}

/** Whether a VM of the image, or of one version of it, is not yet TERMINATED. */
export function hasLiveMicrovms(region: Region, image: Image, version?: ImageVersion): boolean {
  for (const microvm of region.microvms.values()) {
    const { imageArn, imageVersion } = microvm.facts;
    if (imageArn !== image.arn || (version !== undefined && imageVersion !== version.version)) continue;
    if (microvm.state !== 'TERMINATED') return true;
  }
  return false;
}
