/** Operations on images, their versions and builds. */
import * as calls from './calls.ts';
import type { CallOptions } from './caller.ts';
import { isGone } from './classify.ts';
import { ControlPlaneClient } from './client.ts';
import { mintClientToken } from './client-token.ts';
import { VmchartError } from '../errors.ts';
import { toImage, toImageBuild, toImageVersion } from './decode.ts';
import { checkCreateImage } from './image-guards.ts';
import { checkLabel } from './encode.ts';
import type { CreateMicrovmImageRequest, MicrovmImage, MicrovmImageBuild, MicrovmImageVersion } from './wire.ts';

/** The image half of {@link ControlPlane}. */
export class ImageOperations extends ControlPlaneClient {
  /** `CreateMicrovmImage`, with a client token that is fresh in every call (TRAP-1). */
  async createMicrovmImage(request: CreateMicrovmImageRequest, options: CallOptions = {}): Promise<MicrovmImage> {
    checkCreateImage(request);
    const call = calls.createMicrovmImage(request, mintClientToken('create', request.name, this.ports.entropy));
    return this.fetch(call, (shapes) => shapes.image, toImage, options);
  }

  /** `GetMicrovmImage`; `null` when there is no such image. */
  async getMicrovmImage(image: string, options: CallOptions = {}): Promise<MicrovmImage | null> {
    try {
      return await this.fetch(calls.getMicrovmImage(image), (shapes) => shapes.image, toImage, options);
    } catch (error) {
      if (isGone(error)) return null;
      throw error;
    }
  }

  /** `ListMicrovmImages` to its last page. `nameFilter` matches substrings. */
  async listMicrovmImages(options: CallOptions & { readonly nameFilter?: string } = {}): Promise<MicrovmImage[]> {
    const { nameFilter, ...rest } = options;
    const filter = nameFilter === undefined ? {} : { nameFilter };
    const callAt = (cursor: calls.PageQuery) => calls.listMicrovmImages({ ...filter, ...cursor });
    return this.list(callAt, (shapes) => shapes.imagePage, toImage, rest);
  }

  /**
   * `DeleteMicrovmImage`: the delete goes on by itself. An image that is gone already is a success.
   *
   * @returns the state that was read back, such as `DELETING`
   * @throws VmchartError `Platform` with reason `delete-failed` when the state says that it failed
   */
  async deleteMicrovmImage(image: string, options: CallOptions = {}): Promise<string> {
    return this.#delete(calls.deleteMicrovmImage(image), options);
  }

  /** `ListMicrovmImageVersions` to its last page. */
  async listMicrovmImageVersions(image: string, options: CallOptions = {}): Promise<MicrovmImageVersion[]> {
    const callAt = (cursor: calls.PageQuery) => calls.listMicrovmImageVersions(image, cursor);
    return this.list(callAt, (shapes) => shapes.imageVersionPage, toImageVersion, options);
  }

  /** The first page of `ListMicrovmImageVersions` only: newest first. */
  async firstMicrovmImageVersions(image: string, options: CallOptions = {}): Promise<MicrovmImageVersion[]> {
    const call = calls.listMicrovmImageVersions(image, {});
    const convert = (page: { items: Parameters<typeof toImageVersion>[0][] }) => page.items.map(toImageVersion);
    return this.fetch(call, (shapes) => shapes.imageVersionPage, convert, options);
  }

  /** `GetMicrovmImageVersion`: the only place that tells an image's size and hook port. */
  async getMicrovmImageVersion(
    image: string,
    version: string,
    options: CallOptions = {},
  ): Promise<MicrovmImageVersion> {
    const call = calls.getMicrovmImageVersion(image, version);
    return this.fetch(call, (shapes) => shapes.imageVersion, toImageVersion, options);
  }

  /**
   * `UpdateMicrovmImageVersion`: allows new launches of a version, or stops them. Running VMs go on.
   *
   * @throws VmchartError `Platform` with reason `not-applied` when the readback says otherwise
   */
  async setMicrovmImageVersionStatus(
    image: string,
    version: string,
    status: 'ACTIVE' | 'INACTIVE',
    options: CallOptions = {},
  ): Promise<MicrovmImageVersion> {
    const call = calls.updateMicrovmImageVersion(image, version, status);
    const answer = await this.fetch(call, (shapes) => shapes.imageVersion, toImageVersion, options);
    if (answer.status === status) return answer;
    throw new VmchartError('Platform', `Version ${version} reads back as ${answer.status} instead of ${status}.`, {
      reason: 'not-applied',
    });
  }

  /** `DeleteMicrovmImageVersion`. The last version cannot be deleted alone. A version that is gone is a success. */
  async deleteMicrovmImageVersion(image: string, version: string, options: CallOptions = {}): Promise<string> {
    return this.#delete(calls.deleteMicrovmImageVersion(image, version), options);
  }

  async #delete(call: ReturnType<typeof calls.deleteMicrovmImage>, options: CallOptions): Promise<string> {
    let state: string;
    try {
      state = await this.fetch(
        call,
        (shapes) => shapes.deletion,
        (answer) => answer.state ?? 'DELETING',
        options,
      );
    } catch (error) {
      if (isGone(error)) return 'DELETED';
      throw error;
    }
    if (!state.includes('FAILED')) return state;
    throw new VmchartError('Platform', `${call.operation} reads back as ${state}.`, { reason: 'delete-failed' });
  }

  /** `ListMicrovmImageBuilds` to its last page: one build for each chipset generation. */
  async listMicrovmImageBuilds(
    image: string,
    version: string,
    options: CallOptions = {},
  ): Promise<MicrovmImageBuild[]> {
    const callAt = (cursor: calls.PageQuery) => calls.listMicrovmImageBuilds(image, version, cursor);
    return this.list(callAt, (shapes) => shapes.imageBuildPage, toImageBuild, options);
  }

  /** `GetMicrovmImageBuild`: the only place that tells snapshot sizes. */
  async getMicrovmImageBuild(
    image: string,
    version: string,
    buildId: string,
    options: CallOptions = {},
  ): Promise<MicrovmImageBuild> {
    const call = calls.getMicrovmImageBuild(image, version, buildId);
    return this.fetch(call, (shapes) => shapes.imageBuild, toImageBuild, options);
  }

  /** `ListManagedMicrovmImages` to its last page: the ARNs of base images. */
  async listManagedMicrovmImages(options: CallOptions = {}): Promise<string[]> {
    return this.list(
      (cursor) => calls.listManagedMicrovmImages(cursor),
      (shapes) => shapes.managedImagePage,
      (item) => item.imageArn,
      options,
    );
  }

  /** Asks for exactly one page of base images: the cheapest proof that region, rights and service agree. */
  async answersListing(options: CallOptions = {}): Promise<void> {
    await this.fetch(
      calls.listManagedMicrovmImages({}),
      (shapes) => shapes.managedImagePage,
      () => null,
      options,
    );
  }

  /**
   * `ListManagedMicrovmImageVersions` to its last page, newest first.
   *
   * @throws VmchartError `Precondition` for a base image that is not given by its ARN
   */
  async managedBaseVersions(
    baseImageArn: string,
    options: CallOptions = {},
  ): Promise<{ readonly version: string; readonly status: string | null }[]> {
    checkLabel('imageIdentifier', baseImageArn);
    if (!baseImageArn.startsWith('arn:')) {
      throw new VmchartError('Precondition', 'A managed base image is named by its whole ARN.', { reason: 'no-arn' });
    }
    return this.list(
      (cursor) => calls.listManagedMicrovmImageVersions(baseImageArn, cursor),
      (shapes) => shapes.managedImageVersionPage,
      (item) => ({ version: item.imageVersion, status: item.status ?? null }),
      options,
    );
  }
}
