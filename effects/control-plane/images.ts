/** What a person does with images beyond single operations: find, wait, understand, delete. */
import type { MicrovmImage } from './wire.ts';
import { checkedDurationMs, checkedCount } from '../durations.ts';
import { VmchartError, toVmchartError } from '../errors.ts';
import type { CallOptions } from './caller.ts';
import { isGone } from './classify.ts';
import { checkLabel } from './encode.ts';
import type { ImageOperations } from './image-operations.ts';

/**
 * The image of exactly this name. The service's filter matches substrings and is applied after a page is cut, so
 * every page is read (FC-010, FC-107).
 */
export async function findImageByName(
  plane: ImageOperations,
  name: string,
  options: CallOptions = {},
): Promise<MicrovmImage | null> {
  const candidates = await plane.listMicrovmImages({ ...options, nameFilter: name });
  return candidates.find((image) => image.name === name) ?? null;
}

/**
 * The ARN of an image: an ARN is answered as it is, with zero calls; a bare name costs one listing.
 *
 * @throws VmchartError `Precondition` with reason `no-such-image`
 */
export async function resolveImageArn(
  plane: ImageOperations,
  identifier: string,
  options: CallOptions = {},
): Promise<string> {
  checkLabel('imageIdentifier', identifier);
  if (identifier.startsWith('arn:')) return identifier;
  const image = await findImageByName(plane, identifier, options);
  if (image !== null) return image.imageArn;
  throw new VmchartError('Precondition', `There is no image named ${JSON.stringify(identifier)} in ${plane.region}.`, {
    reason: 'no-such-image',
    suggestions: ['Build it first, or check the region.'],
  });
}

/** The log group of an image's builds when none was configured. */
export function defaultLogGroup(imageName: string): string {
  return `/aws/lambda-microvms/${imageName}`;
}

/** Settings of {@link deleteImageFully}. */
export interface DeleteImageOptions extends CallOptions {
  /** At least one is made. 20 by default. */
  readonly attempts?: number;
  /** Slept between attempts, in milliseconds. 15 s by default; it does not grow. */
  readonly backoffMs?: number;
  /** Told what went wrong in each failed attempt. */
  readonly onFailure?: (error: VmchartError, attempt: number) => void;
}

/**
 * Deletes an image with all its versions. Throws for a number that makes no sense, and else never: an image that is still settling is tried again.
 *
 * @returns whether the image is deleted or being deleted
 */
export async function deleteImageFully(
  plane: ImageOperations,
  identifier: string,
  options: DeleteImageOptions = {},
): Promise<boolean> {
  const { attempts: _attempts, backoffMs: _backoffMs, onFailure, ...call } = options;
  const attempts = checkedCount('attempts', options.attempts ?? 20);
  const backoffMs = checkedDurationMs('backoffMs', options.backoffMs ?? 15_000);
  try {
    checkLabel('imageIdentifier', identifier);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await deleteOnce(plane, identifier, call);
        return true;
      } catch (error) {
        onFailure?.(toVmchartError(error), attempt);
      }
      if (attempt >= Math.max(1, attempts)) return false;
      await plane.ports.clock.sleep(backoffMs, call.signal);
    }
  } catch (error) {
    onFailure?.(toVmchartError(error), 0);
    return false;
  }
}

/** All versions but the first (the last one goes with the image), then the image. */
async function deleteOnce(plane: ImageOperations, identifier: string, call: CallOptions): Promise<void> {
  let versions: string[] = [];
  try {
    versions = (await plane.listMicrovmImageVersions(identifier, call)).map((version) => version.imageVersion);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  for (const version of versions.slice(1)) await plane.deleteMicrovmImageVersion(identifier, version, call);
  await plane.deleteMicrovmImage(identifier, call);
}
