/** Why a build failed: the image itself has no reason, its versions and builds may (`client-behaviour.md` 3.8). */
import { VmchartError } from '../errors.ts';
import type { CallOptions } from './caller.ts';
import type { ImageOperations } from './image-operations.ts';
import { defaultLogGroup } from './images.ts';
import type { MicrovmImage, MicrovmImageBuild, MicrovmImageVersion } from './wire.ts';

/** Runs a reading that only improves a message: a failure of it is nothing to report. */
async function orElse<T>(reading: Promise<T>, otherwise: T): Promise<T> {
  return reading.catch(() => otherwise);
}

/** The version to look into: the one named as failed, else the first that is listed. */
async function failedVersion(
  plane: ImageOperations,
  image: MicrovmImage,
  options: CallOptions,
): Promise<MicrovmImageVersion | null> {
  const versions = await orElse(plane.listMicrovmImageVersions(image.imageArn, options), []);
  const named = versions.find((version) => version.imageVersion === image.latestFailedImageVersion);
  return named ?? versions[0] ?? null;
}

/** A build's reason with what is left of its snapshots; the listing's line when the build cannot be read. */
async function buildReason(
  plane: ImageOperations,
  image: MicrovmImage,
  version: string,
  listed: MicrovmImageBuild,
  options: CallOptions,
): Promise<string> {
  const build = await orElse(plane.getMicrovmImageBuild(image.imageArn, version, listed.buildId, options), listed);
  const generation = build.chipsetGeneration ?? listed.chipsetGeneration;
  return `build ${build.buildId}${generation === null ? '' : ` (generation ${generation})`}: ${build.stateReason ?? listed.stateReason}`;
}

/**
 * Makes the error of a failed image, with every reason that the service states. Best effort: it never turns into
 * a listing's error.
 *
 * @param logGroup - the configured log group, when the caller knows it
 */
export async function diagnoseFailedBuild(
  plane: ImageOperations,
  image: MicrovmImage,
  options: CallOptions & { readonly logGroup?: string | undefined } = {},
): Promise<VmchartError> {
  const { logGroup = defaultLogGroup(image.name), ...call } = options;
  const reasons: string[] = [];
  const version = await failedVersion(plane, image, call);
  if (version !== null) {
    if (version.stateReason !== null) reasons.push(`version ${version.imageVersion}: ${version.stateReason}`);
    const builds = await orElse(plane.listMicrovmImageBuilds(image.imageArn, version.imageVersion, call), []);
    for (const build of builds) {
      if (build.stateReason === null || build.buildState === 'PENDING') continue;
      reasons.push(await buildReason(plane, image, version.imageVersion, build, call));
    }
  }
  call.signal?.throwIfAborted();
  const stated =
    reasons.length > 0
      ? `${reasons.join('; ')}. The build's log is in ${logGroup}.`
      : `the service stated no reason. The build role must be allowed to write logs under ` +
        `/aws/lambda-microvms/* (not /aws/lambda/microvms/*); look into ${logGroup}.`;
  return new VmchartError('Platform', `Image ${image.name} is ${image.state}: ${stated}`, { reason: 'build-failed' });
}
