/** The operations on images (`control-plane-api.md` 8.9 to 8.13). */
import type { Image } from '../../service/image.ts';
import { deleteImage, hasLiveMicrovms, startVersion } from '../../service/image-lifecycle.ts';
import type { Region } from '../../service/region.ts';
import type { Answer, Call, Operations } from '../call.ts';
import { useClientToken } from '../client-tokens.ts';
import { makeConstraints } from '../constraints.ts';
import { findImage } from '../find-image.ts';
import { checkImageRequest, readImageRequest } from '../image-request.ts';
import { describeImage, describeStartedVersion, summarizeImage } from '../image-views.ts';
import { cutPage, queryValue } from '../pages.ts';
import { conflict, invalid, ServiceError } from '../service-error.ts';
import { readTags } from './tags.ts';

function checkBuildQuota({ context, region }: Call): void {
  const { concurrentBuilds } = context.options.limits;
  if (concurrentBuilds === null) return;
  let running = 0;
  for (const image of region.images.values()) {
    running += image.versions.filter(({ state }) => state === 'PENDING' || state === 'IN_PROGRESS').length;
  }
  if (running >= concurrentBuilds) {
    throw new ServiceError(
      'ServiceQuotaExceededException',
      'The maximum number of concurrent MicroVM image builds has been reached for this account.',
    );
  }
}

function checkQuota(limit: number | null, used: number, text: string): void {
  if (limit !== null && used >= limit) throw new ServiceError('ServiceQuotaExceededException', text);
}

function newImage(call: Call, region: Region, name: string, tags: Record<string, string>): Image {
  const createdWall = call.context.clock.wallNow();
  return {
    id: call.context.ids.uuid(),
    arn: region.imageArn(name),
    name,
    createdWall,
    updatedWall: createdWall,
    state: 'CREATING',
    tags,
    versions: [],
    versionsMade: 0,
  };
}

function createImage(call: Call): Answer {
  const { context, region, body } = call;
  const constraints = makeConstraints();
  const request = readImageRequest(constraints, body, region);
  const name = constraints.string(body, 'name', {
    required: true,
    min: 1,
    max: 64,
    pattern: { regex: /^[a-zA-Z0-9-_]+$/, shown: '[a-zA-Z0-9-_]+' },
  });
  const tags = readTags(constraints, body, 'tags');
  constraints.check();
  const configuration = checkImageRequest(request, region);
  const token = useClientToken(region, 'CreateMicrovmImage', '', body);
  const replayed = token.replayed === null ? undefined : region.images.get(token.replayed);
  const firstVersion = replayed?.versions[0];
  if (replayed !== undefined && firstVersion !== undefined) {
    return { status: 201, body: describeStartedVersion(replayed, firstVersion, 'with-tags') };
  }

  const arn = region.imageArn(name ?? '');
  if (region.images.has(arn)) {
    throw invalid(`A MicroVM image with the name '${name ?? ''}' already exists in this account`);
  }
  checkQuota(
    context.options.limits.images,
    region.images.size,
    'The maximum number of MicroVM images has been reached for this account.',
  );
  checkBuildQuota(call);
  const image = newImage(call, region, name ?? '', tags);
  region.images.set(arn, image);
  // A create that was deleted and is replayed hangs, where that is switched on.
  const wedged = token.replayed !== null && context.options.unverified.replayedImageTokenWedges;
  const planned = wedged ? { failure: 'wedged' as const, chipsetGeneration: null } : context.buildFailures.take();
  const version = startVersion(context, region, image, configuration, planned);
  token.remember(arn);
  return { status: 201, body: describeStartedVersion(image, version, 'with-tags') };
}

/** A change of an image while another one is under way is a 409. */
export function refuseWhileBusy(image: Image): void {
  if (image.state === 'UPDATING' || image.state === 'CREATING' || image.state === 'DELETING') {
    throw conflict(`MicroVM Image is already in state: ${image.state}`);
  }
}

function updateImage(call: Call): Answer {
  const { context, region, body } = call;
  const constraints = makeConstraints();
  const request = readImageRequest(constraints, body, region);
  constraints.check();
  const image = findImage(call);
  const configuration = checkImageRequest(request, region);
  const token = useClientToken(region, 'UpdateMicrovmImage', image.arn, body);
  const replayed = image.versions.find((version) => version.version === token.replayed);
  if (replayed !== undefined) return { body: describeStartedVersion(image, replayed, 'without-tags') };
  refuseWhileBusy(image);
  checkQuota(
    context.options.limits.versionsPerImage,
    image.versions.length,
    'The maximum number of versions has been reached for this MicroVM image.',
  );
  checkBuildQuota(call);
  image.state = 'UPDATING';
  const version = startVersion(context, region, image, configuration, context.buildFailures.take());
  token.remember(version.version);
  return { body: describeStartedVersion(image, version, 'without-tags') };
}

function getImage(call: Call): Answer {
  return { body: describeImage(findImage(call)) };
}

function listImages(call: Call): Answer {
  const nameFilter = queryValue(call, 'nameFilter');
  const fits = ({ name }: Image) => nameFilter === undefined || name.includes(nameFilter);
  const all = [...call.region.images.values()].reverse();
  const filterAfter = call.context.options.unverified.filterAfterPage;
  const page = cutPage(call, filterAfter ? all : all.filter(fits), {
    of: `images ${nameFilter ?? ''}`,
    keyOf: ({ arn }) => arn,
    keep: fits,
  });
  return { body: { items: page.items.map(summarizeImage), nextToken: page.nextToken } };
}

function deleteImageCall(call: Call): Answer {
  const { context, region, labels } = call;
  if (context.options.unverified.deleteOfMissing === 'ok' && !region.images.has(labels[0] ?? '')) {
    return { body: { imageIdentifier: labels[0] ?? '', state: 'DELETING' } };
  }
  const image = findImage(call);
  if (hasLiveMicrovms(region, image)) throw invalid('Cannot delete microvm image with running microvms.');
  if (image.state === 'CREATING' || image.state === 'UPDATING' || image.state === 'DELETING') {
    throw invalid(`Cannot delete MicroVM image in its current state: ${image.arn}`);
  }
  void deleteImage(context, region, image);
  return { body: { imageIdentifier: image.arn, state: image.state } };
}

/** The five. */
export const imageOperations: Operations = {
  CreateMicrovmImage: createImage,
  GetMicrovmImage: getImage,
  ListMicrovmImages: listImages,
  UpdateMicrovmImage: updateImage,
  DeleteMicrovmImage: deleteImageCall,
};
