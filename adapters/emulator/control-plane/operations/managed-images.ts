/** The managed base image (`control-plane-api.md` 8.20 and 8.21): one image, two versions. */
import type { Answer, Call, Operations } from '../call.ts';
import { timestamp } from '../call.ts';
import { managedVersions } from '../image-request.ts';
import { cutPage } from '../pages.ts';
import { invalid, notFound } from '../service-error.ts';

/** When each version appeared, in Unix milliseconds. */
const createdWall: Readonly<Record<string, number>> = {
  '1': Date.UTC(2026, 6, 21),
  '0': Date.UTC(2026, 5, 17),
};

function listManagedImages(call: Call): Answer {
  const item = {
    imageArn: call.region.managedImageArn,
    createdAt: timestamp(createdWall['0'] ?? 0),
    updatedAt: timestamp(createdWall['1'] ?? 0),
  };
  const page = cutPage(call, [item], { of: 'managed images', keyOf: ({ imageArn }) => imageArn });
  return { body: page };
}

function listManagedVersions(call: Call): Answer {
  const arn = call.labels[0] ?? '';
  if (!arn.startsWith('arn:')) throw invalid(`Invalid ARN format: ${arn}`);
  if (arn !== call.region.managedImageArn) throw notFound(`MicroVMImage not found for MicroVMImageID: ${arn}`);
  const items = managedVersions.map((imageVersion) => ({
    imageArn: arn,
    imageVersion,
    status: 'AVAILABLE',
    createdAt: timestamp(createdWall[imageVersion] ?? 0),
    updatedAt: timestamp(createdWall[imageVersion] ?? 0),
  }));
  return { body: cutPage(call, items, { of: 'managed versions', keyOf: ({ imageVersion }) => imageVersion }) };
}

/** The two. */
export const managedImageOperations: Operations = {
  ListManagedMicrovmImages: listManagedImages,
  ListManagedMicrovmImageVersions: listManagedVersions,
};
