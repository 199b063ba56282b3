/** From the labels of a call to an image, a version, a build, or the service's refusal. */
import { sameVersion } from '../service/image.ts';
import type { Build, Image, ImageVersion } from '../service/image.ts';
import type { Call } from './call.ts';
import { invalid, notFound, ServiceError } from './service-error.ts';

/** The image that the first label names. */
export function findImage({ region, labels, operation }: Call): Image {
  const arn = labels[0] ?? '';
  if (!arn.startsWith('arn:')) throw invalid(`Invalid ARN format: ${arn}`);
  refuseForeignArn(arn, region.accountId, operation);
  const image = region.images.get(arn);
  if (image === undefined) throw notFound(`MicroVMImage not found for MicroVMImageID: ${arn}`);
  return image;
}

/** An ARN with a slash, or of another account, names nothing that the caller may touch. */
export function refuseForeignArn(arn: string, accountId: string, operation: string): void {
  const denied = (capitalMessage: boolean) =>
    new ServiceError(
      'AccessDeniedException',
      `User: arn:aws:iam::${accountId}:user/emulated is not authorized to perform: lambda:${operation} on resource: ${arn}`,
      { capitalMessage },
    );
  if (/:microvm-image\//.test(arn)) throw denied(false);
  const owner = arn.split(':')[4] ?? '';
  if (owner !== accountId && owner !== 'aws') throw denied(true);
}

/** The version that the second label names; `1` and `1.0` are the same. */
export function findVersion(call: Call): { image: Image; version: ImageVersion } {
  const image = findImage(call);
  const named = call.labels[1] ?? '';
  const version = image.versions.find((candidate) => sameVersion(candidate.version, named));
  if (version === undefined) {
    throw notFound(`MicroVMImage not found for MicroVMImage: ${image.arn}, Version: ${named}`);
  }
  return { image, version };
}

/** The build that the third label names. */
export function findBuild(call: Call): { image: Image; version: ImageVersion; build: Build } {
  const { image, version } = findVersion(call);
  const buildId = call.labels[2] ?? '';
  const build = version.builds.find((candidate) => candidate.buildId === buildId);
  if (build === undefined) {
    throw notFound(`Build not found for MicroVMImage: ${image.arn}, Version: ${version.version}, BuildId: ${buildId}`);
  }
  return { image, version, build };
}
