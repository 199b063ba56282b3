/** How images, versions and builds look on the wire (`control-plane-api.md` 7.2, 7.3, 8.9 to 8.19). */
import { isLaunchable } from '../service/image.ts';
import type { Build, Image, ImageVersion } from '../service/image.ts';
import { timestamp } from './call.ts';

function latest(image: Image) {
  const failed = image.versions.filter((version) => version.state === 'FAILED');
  return {
    latestActiveImageVersion: image.versions.filter(isLaunchable).at(-1)?.version ?? null,
    latestFailedImageVersion: failed.at(-1)?.version ?? null,
  };
}

/** An item of ListMicrovmImages. */
export function summarizeImage(image: Image): object {
  return {
    id: image.id,
    imageArn: image.arn,
    name: image.name,
    state: image.state,
    createdAt: timestamp(image.createdWall),
    ...latest(image),
  };
}

/** What GetMicrovmImage answers. There is no reason in it, ever. */
export function describeImage(image: Image): object {
  return { ...summarizeImage(image), tags: image.tags, updatedAt: timestamp(image.updatedWall) };
}

/** What Create and Update answer: the image with the configuration of the version that they started. */
export function describeStartedVersion(
  image: Image,
  version: ImageVersion,
  tags: 'with-tags' | 'without-tags',
): object {
  return {
    ...summarizeImage(image),
    imageVersion: version.version,
    ...version.configuration,
    buildPhaseOverrides: null,
    roleConfiguration: null,
    updatedAt: timestamp(image.updatedWall),
    // Null in the first answer even when tags were sent.
    ...(tags === 'with-tags' ? { tags: null } : {}),
  };
}

/** `SUCCESSFUL#26073006`: the state and the hour of its last change. */
function timeBucket(version: ImageVersion): string {
  const hour = new Date(version.updatedWall).toISOString().slice(2, 13).replaceAll(/[-T]/g, '');
  return `${version.state}#${hour}`;
}

/** The one form of a version. */
export function describeVersion(image: Image, version: ImageVersion): object {
  return {
    imageArn: image.arn,
    imageVersion: version.version,
    ...version.configuration,
    state: version.state,
    status: version.status,
    createdAt: timestamp(version.createdWall),
    updatedAt: timestamp(version.updatedWall),
    stateReason: version.stateReason,
    tags: image.tags,
    versionStateTimeBucket: timeBucket(version),
  };
}

/** An item of the build list. */
export function summarizeBuild(image: Image, version: ImageVersion, build: Build): object {
  return {
    imageArn: image.arn,
    imageVersion: version.version,
    buildId: build.buildId,
    buildState: build.state,
    architecture: 'ARM_64',
    chipset: 'GRAVITON',
    chipsetGeneration: build.chipsetGeneration,
    createdAt: timestamp(build.createdWall),
    stateReason: build.stateReason,
    terminationReasonCode: null,
  };
}

/** What GetMicrovmImageBuild answers. */
export function describeBuild(image: Image, version: ImageVersion, build: Build): object {
  return { ...summarizeBuild(image, version, build), snapshotBuild: build.snapshotBuild };
}
