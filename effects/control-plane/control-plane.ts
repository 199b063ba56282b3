/** The client of the control plane: typed operations, one method each. */
import type { MicrovmDescription } from '../../machines/index.ts';
import { VmchartError } from '../errors.ts';
import type { Ports } from '../ports.ts';
import { checkTokenLifetime, checkTokenPorts, readAuthToken, tokenMinter } from './auth-token.ts';
import type { TokenMinter } from '../session/token-minter.ts';
import * as calls from './calls.ts';
import type { MicrovmFilter } from './calls.ts';
import type { CallOptions } from './caller.ts';
import { isGone } from './classify.ts';
import type { ControlPlaneOptions } from './client.ts';
import { mintClientToken } from './client-token.ts';
import { toDescription, toSummary } from './decode.ts';
import { ImageOperations } from './image-operations.ts';
import { deleteImageFully, findImageByName, resolveImageArn } from './images.ts';
import type { DeleteImageOptions } from './images.ts';
import { checkClientToken, checkLaunch } from './launch-guards.ts';
import { allItems, latestById } from './pages.ts';
import { QuotaCooldown } from './quota-cooldown.ts';
import { reconcile } from './reconcile.ts';
import type { Reconciliation } from './reconcile.ts';
import { terminateAll } from './terminate-all.ts';
import type { TerminateAllOptions, TerminateAllReport } from './terminate-all.ts';
import type { WaitForImageOptions } from './wait-for-image.ts';
import type { MicrovmImage, MicrovmSummary, PortSpecification, RunMicrovmRequest } from './wire.ts';

export type { ControlPlaneOptions } from './client.ts';

/** What a listing of VMs may be narrowed to. */
export interface ListMicrovmsOptions extends MicrovmFilter, CallOptions {
  /** TERMINATED VMs stay listed for about a day; they are left out unless asked for. */
  readonly includeTerminated?: boolean;
}

/** How a terminate ended: carried out, under way already, or nothing left to end. */
export type TerminateOutcome = 'accepted' | 'already-terminating' | 'already-gone';

/**
 * Typed operations on MicroVMs and their images, by id. It guards arguments, signs, retries and decodes;
 * it knows nothing of the lifecycle: a caller that uses it directly owns the order of things.
 *
 * Every method takes a signal, rejects with a `VmchartError`, and sends nothing when it refuses an argument.
 *
 * @example
 * const plane = new ControlPlane(awsPorts({ region: 'us-east-1' }));
 * const vm = await plane.runMicrovm({ imageIdentifier: imageArn });
 * await plane.terminateMicrovm(vm.microvmId);
 */
export class ControlPlane extends ImageOperations {
  readonly #cooldown: QuotaCooldown;

  /** @throws VmchartError `InvalidArg` with reason `unsupported-region` for a region that is not on the list */
  constructor(ports: Ports, options: ControlPlaneOptions = {}) {
    super(ports, options);
    this.#cooldown = new QuotaCooldown(ports.clock, options.quotaCooldownMs ?? 0);
  }

  /**
   * `RunMicrovm`. All sends of one call carry one client token and the same bytes, so a lost answer cannot
   * make a second VM.
   *
   * @param options - `clientToken` replays one launch: same token, same request, same VM
   * @returns the VM, in whatever state it is: a replay may find it suspended
   */
  async runMicrovm(
    request: RunMicrovmRequest,
    options: CallOptions & { readonly clientToken?: string | undefined } = {},
  ): Promise<MicrovmDescription> {
    const kept = options.clientToken ?? request.clientToken;
    if (kept !== undefined) checkClientToken(kept);
    checkLaunch(request);
    this.#cooldown.check();
    const clientToken = kept ?? mintClientToken('run', request.imageIdentifier, this.ports.entropy);
    const call = calls.runMicrovm({ ...request, clientToken });
    return this.#cooldown.watch(this.fetch(call, (shapes) => shapes.microvm, toDescription, options));
  }

  /** `GetMicrovm`. A read wakes nothing and may lag behind by a moment. */
  async getMicrovm(microvmId: string, options: CallOptions = {}): Promise<MicrovmDescription> {
    return this.fetch(calls.getMicrovm(microvmId), (shapes) => shapes.microvm, toDescription, options);
  }

  /** `ListMicrovms` page by page, as answered: TERMINATED VMs and repetitions included. */
  microvmPages(
    filter: MicrovmFilter = {},
    options: CallOptions = {},
  ): AsyncGenerator<readonly MicrovmSummary[], void, undefined> {
    const callAt = (cursor: calls.PageQuery) => calls.listMicrovms({ ...filter, ...cursor });
    return this.pages(callAt, (shapes) => shapes.microvmPage, toSummary, options);
  }

  /** `ListMicrovms` to its last page; a VM on two pages keeps its first place and its last reading. */
  async listMicrovms(options: ListMicrovmsOptions = {}): Promise<MicrovmSummary[]> {
    const { includeTerminated = false, imageIdentifier, imageVersion, ...rest } = options;
    const filter: MicrovmFilter = {
      ...(imageIdentifier === undefined ? {} : { imageIdentifier }),
      ...(imageVersion === undefined ? {} : { imageVersion }),
    };
    const found = latestById(await allItems(this.microvmPages(filter, rest)), (vm) => vm.microvmId);
    return includeTerminated ? found : found.filter((vm) => vm.state !== 'TERMINATED');
  }

  /** `SuspendMicrovm`: accepted means that it began. */
  async suspendMicrovm(microvmId: string, options: CallOptions = {}): Promise<void> {
    await this.perform(calls.suspendMicrovm(microvmId), options);
    this.#cooldown.end();
  }

  /** `ResumeMicrovm`: accepted means that it began. Carries no payload. */
  async resumeMicrovm(microvmId: string, options: CallOptions = {}): Promise<void> {
    await this.perform(calls.resumeMicrovm(microvmId), options);
  }

  /**
   * `TerminateMicrovm`. A VM that is gone already is a success. After a conflict the state is read: when the VM
   * is ending that is a success too, otherwise the call is sent once more (FC-050).
   *
   * Right after a launch the service may not see the VM yet, and `already-gone` is then not its end: whoever ends what
   * was just launched waits for a first read, as `Sandbox` does.
   *
   * @param options - `resendAfterConflict: false` leaves sending once more to the caller
   */
  async terminateMicrovm(
    microvmId: string,
    options: CallOptions & { readonly resendAfterConflict?: boolean } = {},
  ): Promise<TerminateOutcome> {
    const call = calls.terminateMicrovm(microvmId);
    for (let again = options.resendAfterConflict ?? true; ; again = false) {
      try {
        await this.perform(call, options);
        this.#cooldown.end();
        return 'accepted';
      } catch (error) {
        if (isGone(error)) return 'already-gone';
        if (!VmchartError.is(error) || error.reason !== 'conflict') throw error;
        if (await this.#isEnding(microvmId, options)) return 'already-terminating';
        if (!again) throw error;
      }
    }
  }

  async #isEnding(microvmId: string, options: CallOptions): Promise<boolean> {
    try {
      const { state } = await this.getMicrovm(microvmId, options);
      return state === 'TERMINATING' || state === 'TERMINATED';
    } catch (error) {
      if (isGone(error)) return true;
      throw error;
    }
  }

  /**
   * `CreateMicrovmAuthToken`: a token for the endpoint proxy.
   *
   * @param ports - the ports that it opens; at least one
   * @param expirationMin - 1 to 60 minutes
   * @returns header names and values. Secret.
   */
  async createMicrovmAuthToken(
    microvmId: string,
    ports: readonly (number | PortSpecification)[],
    expirationMin = 60,
    options: CallOptions = {},
  ): Promise<Record<string, string>> {
    checkTokenLifetime(expirationMin);
    const call = calls.createMicrovmAuthToken(microvmId, checkTokenPorts(ports), expirationMin);
    return readAuthToken(call.operation, await this.exchange(call, options));
  }

  /** `CreateMicrovmShellAuthToken`: a token for a shell only. The VM needs the shell connector. Secret. */
  async createMicrovmShellAuthToken(
    microvmId: string,
    expirationMin = 60,
    options: CallOptions = {},
  ): Promise<Record<string, string>> {
    checkTokenLifetime(expirationMin);
    const call = calls.createMicrovmShellAuthToken(microvmId, expirationMin);
    return readAuthToken(call.operation, await this.exchange(call, options));
  }

  /** A minter of proxy tokens for one VM, with the errors that a session expects. */
  minterFor(microvmId: string): TokenMinter {
    return tokenMinter((ports, signal) => this.createMicrovmAuthToken(microvmId, ports, 60, { signal }));
  }

  /** The image of exactly this name, or `null`. */
  async findImageByName(name: string, options: CallOptions = {}): Promise<MicrovmImage | null> {
    return findImageByName(this, name, options);
  }

  /** The ARN of an image given by ARN (zero calls) or bare name (one listing). */
  async resolveImageArn(identifier: string, options: CallOptions = {}): Promise<string> {
    return resolveImageArn(this, identifier, options);
  }

  /** Waits until an image can be launched; says why when it cannot. */
  async waitForImage(image: string, options: WaitForImageOptions = {}): Promise<MicrovmImage> {
    const { waitForImage } = await import('./wait-for-image.ts');
    return waitForImage(this, image, options);
  }

  /** Deletes an image with all its versions. Never throws. */
  async deleteImageFully(image: string, options: DeleteImageOptions = {}): Promise<boolean> {
    return deleteImageFully(this, image, options);
  }

  /** Terminates many VMs at a pace that the service takes; names what may be left. */
  async terminateAll(microvmIds: Iterable<string>, options: TerminateAllOptions = {}): Promise<TerminateAllReport> {
    return terminateAll(this, microvmIds, options);
  }

  /** Holds a ledger of VM ids against the account's whole list. Reports only. */
  async reconcile(ledger: Iterable<string>, options: MicrovmFilter & CallOptions = {}): Promise<Reconciliation> {
    return reconcile(this, ledger, options);
  }
}
