/** The image that a sandbox built for itself: made, used by its launch, and taken along by its teardown when asked. */
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { defaultLogGroup } from '../control-plane/images.ts';
import type { Schedule } from '../schedule.ts';
import type { CreateMicrovmImageRequest, MicrovmImage } from '../control-plane/wire.ts';
import type { TeardownReport, TerminateOptions } from './teardown.ts';

/** At most one image, with where its log goes. */
export class OwnImage {
  readonly #plane: ControlPlane;
  #image: MicrovmImage | null = null;
  #logGroup: string | null = null;
  #deleted = false;

  constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  /** The image, once it was built. */
  get built(): MicrovmImage | null {
    return this.#image;
  }

  /** A teardown has deleted it. */
  get isDeleted(): boolean {
    return this.#deleted;
  }

  /** Creates the image and waits until it can be launched. */
  async build(
    request: CreateMicrovmImageRequest,
    options: { readonly schedule: Schedule; readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<MicrovmImage> {
    const created = await this.#plane.createMicrovmImage(request, { signal: options.signal });
    const ready = await this.#plane.waitForImage(created.imageArn, options);
    const { logging } = request;
    this.#image = ready;
    this.#deleted = false;
    this.#logGroup = logging !== undefined && 'cloudWatch' in logging ? (logging.cloudWatch.logGroup ?? null) : null;
    return ready;
  }

  /** The image's part of a teardown (`client-behaviour.md` 2.10, steps 5 and 6). Never throws. */
  async tearDown(options: TerminateOptions, report: TeardownReport): Promise<void> {
    const image = this.#image;
    if (options.deleteImage === true) {
      const attempts = Math.max(1, options.deleteAttempts ?? 20);
      const backoffMs = options.deleteBackoffMs ?? 15_000;
      const { signal } = options;
      this.#deleted =
        image !== null && (await this.#plane.deleteImageFully(image.imageArn, { attempts, backoffMs, signal }));
      report.imageDeleted = this.#deleted;
      if (image !== null && !this.#deleted) {
        report.failures.push(`the image ${image.imageArn} could not be deleted in ${attempts} attempt(s)`);
        report.undeleted.push(image.imageArn);
      }
    }
    if (options.deleteLogGroup === true && image !== null) {
      // Last on purpose: the service can make a group again that is deleted before its image.
      const group = this.#logGroup ?? defaultLogGroup(image.name);
      report.failures.push(
        `the log group ${group} was made by the service, belongs to no stack, is left behind by \`terraform destroy\`, ` +
          'and has to be deleted by hand',
      );
      report.undeleted.push(group);
    }
  }
}
