/** The facade over one MicroVM's life: the machine decides, this gives it a voice. */
import { createActor } from 'xstate';
import type { InspectionEvent, Observer } from 'xstate';
import { sandboxEvents } from '../../machines/sandbox-events.ts';
import { restore } from '../../machines/sandbox-record.ts';
import { initialSnapshot, substateOf } from '../../machines/sandbox-view.ts';
import type {
  JournalRecord,
  SandboxEvents,
  SandboxInput,
  SandboxPolicy,
  SandboxSnapshot,
} from '../../machines/index.ts';
import type { EgressPosture } from '../control-plane/connectors.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import type { ControlPlaneOptions } from '../control-plane/control-plane.ts';
import type { CreateMicrovmImageRequest, MicrovmImage } from '../control-plane/wire.ts';
import { checkedDurationMs } from '../durations.ts';
import { VmchartError, toVmchartError } from '../errors.ts';
import type { Clock, Ports } from '../ports.ts';
import { printed } from '../printed.ts';
import { defaultAgentPort } from '../session/session.ts';
import type { Session } from '../session/session.ts';
import { adoptionInput } from './adoption.ts';
import type { AdoptRequest } from './adoption.ts';
import { abandonmentWarning, watchForAbandonment } from './abandonment.ts';
import type { Abandonment } from './abandonment.ts';
import { CommandDesk } from './command-desk.ts';
import type { SandboxActor } from './command-desk.ts';
import { Detached, detachedError } from './detached.ts';
import { forgetLife, forgetSecrets } from './forgetting.ts';
import { hostedMachine } from './hosted-machine.ts';
import type { TunnelIdentity } from './identity.ts';
import { Inside } from './inside.ts';
import type { RunRequest } from './launch-preparation.ts';
import { Launching } from './launching.ts';
import { OwnImage } from './own-image.ts';
import { isLive } from './predicates.ts';
import { SandboxObserver } from './sandbox-observer.ts';
import type { WaitOptions } from './sandbox-observer.ts';
import { adaptiveSchedules } from './schedules.ts';
import type { Schedules } from './schedules.ts';
import { secretRefs } from './sealed-secrets.ts';
import { endWaitMs, unknownTerminateOptions } from './teardown.ts';
import type { TeardownReport, TerminateOptions } from './teardown.ts';

/** How a sandbox may behave. */
export interface SandboxOptions extends ControlPlaneOptions {
  /** The name of this life in the journal and in secret references. Random when absent. */
  readonly sandboxId?: string;
  readonly policy?: Partial<SandboxPolicy>;
  /** How often waits look. Adaptive by default; `referenceSchedules` are the fixed ones. */
  readonly schedules?: Schedules;
  /** XState's inspection: what is in it is free of secrets. */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void);
  /** The daemon's port. Default 9000. */
  readonly port?: number;
}

/** Options of {@link Sandbox.run}. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** What an abort means for the VM: it is left as it is, or it is terminated. Default `keep`. */
  readonly onAbort?: 'keep' | 'terminate';
  /**
   * What a passed deadline means for the VM: it is kept, and can be waited for or adopted by the id in the error, or
   * it is terminated. Default `keep` (FC-005).
   */
  readonly onTimeout?: 'keep' | 'terminate';
}

/**
 * One MicroVM's whole life: launch, suspend, resume, terminate, and its inside through {@link Session}.
 *
 * Every command has an answer in every state; one that may not be carried out is refused with a typed
 * error and zero calls. Nothing is torn down by itself: call `terminate`, or use `await using`.
 *
 * @example
 * await using sandbox = new Sandbox(ports);
 * const session = await sandbox.run({ imageIdentifier: 'agentd' });
 * console.log((await session.run('echo hello')).stdout);
 */
export class Sandbox extends SandboxObserver implements AsyncDisposable {
  readonly id: string;
  readonly plane: ControlPlane;
  readonly actor: SandboxActor;
  protected readonly clock: Clock;
  protected readonly events: SandboxEvents;
  protected readonly schedules: Schedules;
  readonly #ports: Ports;
  readonly #options: SandboxOptions;
  readonly #desk: CommandDesk;
  readonly #abandonment: Abandonment;
  readonly #inside: Inside;
  readonly #image: OwnImage;
  readonly #launching: Launching;
  /** The secrets of an ended life being removed. Never rejects: resolves to what went wrong, or `null`. */
  #forgetting: Promise<VmchartError | null> = Promise.resolve(null);
  #tornDown = false;
  #detached = false;

  /** A life that begins. Makes no call. */
  constructor(ports: Ports, options: SandboxOptions = {}) {
    super();
    const input = inputs.get(options) ?? {
      sandboxId: options.sandboxId ?? freshId(),
      region: ports.region,
      ...(options.policy && { policy: options.policy }),
    };
    this.id = input.sandboxId;
    this.#ports = ports;
    this.#options = options;
    this.clock = ports.clock;
    this.schedules = options.schedules ?? adaptiveSchedules;
    const { plane, machine } = hostedMachine(ports, this.schedules, options);
    this.plane = plane;
    this.#inside = new Inside(ports, plane, options.port);
    this.#image = new OwnImage(plane);
    this.actor = createActor(machine, {
      input,
      snapshot: initialSnapshot(input),
      ...inspection(options),
    });
    let commands = 0;
    this.events = sandboxEvents({ now: () => ports.clock.now(), nextId: () => `${this.id}#${(commands += 1)}` });
    this.#desk = new CommandDesk(this.actor);
    this.#launching = new Launching({
      sandboxId: this.id,
      ports,
      plane,
      actor: this.actor,
      events: this.events,
      desk: this.#desk,
      inside: this.#inside,
      builtImage: () => this.#image.built?.imageArn ?? null,
    });
    this.beginTelling();
    this.#abandonment = {
      microvmId: this.context.microvmId,
      lifecycle: this.context.lifecycle,
      substate: this.substate,
      clientToken: this.context.launch?.clientToken ?? null,
      released: input.resume !== undefined,
      warn: ports.warn ?? (() => {}),
    };
    watchForAbandonment(this, this.#abandonment);
    follow(new WeakRef(this), this.actor);
    this.actor.start();
  }

  /**
   * Takes over a VM that somebody else launched, after one `GetMicrovm`. Delivers nothing to it.
   *
   * @throws VmchartError `InvalidArg` for an empty token or another endpoint, `Platform` for a state nobody knows
   */
  static async adopt(ports: Ports, request: AdoptRequest, options: SandboxOptions = {}): Promise<Sandbox> {
    const sandboxId = options.sandboxId ?? freshId();
    const input = await adoptionInput(new ControlPlane(ports, options), request, sandboxId);
    const { agentToken: ref } = secretRefs(sandboxId, 'adopted');
    await ports.secrets.put(ref, request.agentToken);
    const sandbox = Sandbox.#startFrom(input, ports, options);
    await sandbox.#inside.learnToken(ref);
    if (sandbox.isLive) sandbox.#openSession();
    return sandbox;
  }

  /**
   * Goes on with a life from its journal record. Makes one read, so that the state is the service's.
   *
   * @throws VmchartError `InvalidArg` when the record is of another region than the ports
   */
  static async restore(
    ports: Ports,
    record: JournalRecord,
    options: SandboxOptions & { readonly signal?: AbortSignal } = {},
  ): Promise<Sandbox> {
    if (record.region !== ports.region) {
      throw new VmchartError(
        'InvalidArg',
        `the record of ${record.sandboxId} is of ${record.region}, the ports are of ${ports.region}`,
        { reason: 'region-mismatch' },
      );
    }
    const now = { at: ports.clock.now(), wallMs: ports.clock.wallNow() };
    const sandbox = Sandbox.#startFrom(restore(record, now), ports, options);
    const refs = record.known.launch?.request;
    await sandbox.#inside.learnToken(refs?.agentTokenRef ?? secretRefs(record.sandboxId, 'adopted').agentToken);
    if (sandbox.microvmId !== null) {
      await sandbox.refresh({ signal: options.signal });
      if (isLive(sandbox.lifecycle) && sandbox.#inside.agentToken !== null) sandbox.#openSession();
    }
    // A process may have died between the end that it saw and this.
    if (sandbox.lifecycle === 'TERMINATED') sandbox.#forgetSecrets();
    await sandbox.#forgetting;
    return sandbox;
  }

  static #startFrom(input: SandboxInput, ports: Ports, options: SandboxOptions): Sandbox {
    const marked = { ...options };
    inputs.set(marked, { ...input, ...(options.policy && { policy: options.policy }) });
    return new Sandbox(ports, marked);
  }

  // What can be read beside the machine's variables. Nothing of it can be written.

  /** An image was built, or a launch was accepted; `false` again once a teardown has deleted the image. */
  get imageExists(): boolean {
    return !this.#image.isDeleted && (this.context.imageExists || this.#image.built !== null);
  }

  /** The inside of the VM, once it was reached. */
  get session(): Session | null {
    return this.#inside.session;
  }

  /** The image that this sandbox built. */
  get image(): MicrovmImage | null {
    return this.#image.built;
  }

  /** The image that the launch named, resolved. */
  get launchImageArn(): string | null {
    return this.#launching.imageArn;
  }

  get egressPosture(): EgressPosture {
    return this.#inside.posture;
  }

  /** The identity of verified tunnels, when the launch delivered one. Secret. */
  get tunnelIdentity(): TunnelIdentity | null {
    return this.#inside.identity;
  }

  /** A teardown was asked for. */
  get isTornDown(): boolean {
    return this.#tornDown;
  }

  // Commands.

  /**
   * Launches the VM and waits until its daemon takes commands.
   *
   * After a lost answer (`reason: 'launch-unresolved'`) the identical request repeats the same intent,
   * and nothing else is accepted.
   *
   * @throws VmchartError `InvalidArg` with zero calls for what is refused locally; `LaunchDied`; `Timeout`
   */
  async run(request: RunRequest = {}, options: RunOptions = {}): Promise<Session> {
    const { signal, onAbort = 'keep', onTimeout = 'keep' } = options;
    this.#refuseDetached('RUN');
    signal?.throwIfAborted();
    try {
      await this.#launching.launch(request, signal);
      if (request.wait === false) return this.#openSession();
      return await this.#reachDaemon(request.daemonTimeoutMs, signal);
    } catch (error) {
      const timedOut = VmchartError.is(error) && error.kind === 'Timeout';
      const end = (signal?.aborted === true && onAbort === 'terminate') || (timedOut && onTimeout === 'terminate');
      if (end) this.#tellOfWhatIsLeft(await this.terminate());
      throw error;
    }
  }

  /**
   * Repeats a launch whose answer was lost, here or in a process that died: the same intent, and so the same VM.
   *
   * @throws VmchartError `Precondition` unless the launch is unresolved
   */
  async retryLaunch(options: WaitOptions = {}): Promise<Session> {
    const { launch } = this.context;
    if (this.substate !== 'PENDING.unresolved' || launch === null) {
      throw new VmchartError('Precondition', 'there is no launch whose answer was lost', {
        reason: 'nothing-unresolved',
      });
    }
    await this.#launching.carryOut(launch, options.signal);
    return this.#reachDaemon(undefined, options.signal);
  }

  async #reachDaemon(timeoutMs: number | undefined, signal: AbortSignal | undefined): Promise<Session> {
    const session = this.#openSession();
    await session.waitUntilReady({
      poll: this.schedules.daemon,
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    return this.#stillRunning(session);
  }

  /** A launch or resume that lost against a terminate must not hand out a session (2.15). */
  #stillRunning(session: Session): Session {
    if (this.#tornDown || this.wasTerminated) {
      throw new VmchartError('Interrupted', 'the VM was asked to terminate meanwhile', {
        reason: 'terminated',
        microvmId: this.microvmId,
      });
    }
    return session;
  }

  #openSession(): Session {
    const { microvmId, endpoint } = this.context;
    return this.#inside.open({ microvmId, endpoint, isQuietlyRunning: () => this.substate === 'RUNNING.idle' });
  }

  /**
   * Waits until an adopted, restored or `wait: false` VM runs and its daemon takes commands.
   *
   * @throws VmchartError `Precondition` without a VM, `InvalidArg` from any state but PENDING and RUNNING
   */
  async waitUntilReady(options: WaitOptions = {}): Promise<Session> {
    this.#refuseDetached('waitUntilReady');
    if (this.microvmId === null) {
      throw new VmchartError('Precondition', 'there is no VM to wait for', { reason: 'no-vm' });
    }
    if (this.lifecycle !== 'PENDING' && this.lifecycle !== 'RUNNING') {
      throw new VmchartError('InvalidArg', `a ${this.lifecycle} VM does not become ready by waiting`, {
        reason: 'state',
      });
    }
    if (this.lifecycle === 'PENDING') await this.waitFor('RUNNING', options);
    return this.#reachDaemon(undefined, options.signal);
  }

  /** Suspends the VM and waits until it is. A VM that ends meanwhile is a success too: read `lifecycle`. */
  async suspend(options: WaitOptions = {}): Promise<void> {
    this.#refuseDetached('SUSPEND');
    await this.#desk.carryOut(this.events.suspend(timeoutOf(options)), options.signal);
  }

  /** Resumes the VM and waits until it runs. Nothing is delivered again; the proxy token is dropped. */
  async resume(options: WaitOptions = {}): Promise<Session> {
    this.#refuseDetached('RESUME');
    await this.#desk.carryOut(this.events.resume(timeoutOf(options)), options.signal);
    return this.#stillRunning(this.#openSession());
  }

  /**
   * Ends the VM, and what else is asked for. Never throws: the report says what is left.
   *
   * Returns when the service has accepted, at TERMINATING: from then on the VM never runs again. With
   * `waitForTerminated` it returns when the end was seen, and the secrets of this life are removed by then.
   */
  async terminate(options: TerminateOptions = {}): Promise<TeardownReport> {
    const report: TeardownReport = { terminateAccepted: false, lifecycle: this.lifecycle, undeleted: [], failures: [] };
    if (this.#detached) {
      report.failures.push('this handle was detached: its VM belongs to whoever holds the record');
      return report;
    }
    report.failures.push(...unknownTerminateOptions(options));
    this.#launching.stop();
    const hadVm = this.microvmId !== null || this.context.launch !== null;
    this.#tornDown = hadVm || this.#tornDown;
    this.#inside.close();
    if (hadVm) await this.#terminateVm(options, report);
    await this.#image.tearDown(options, report).catch((error: unknown) => {
      report.failures.push(toVmchartError(error).message);
    });
    const unforgotten = await this.#forgetting;
    if (unforgotten !== null) report.failures.push(unforgotten.message);
    report.lifecycle = this.lifecycle;
    return report;
  }

  async #terminateVm(options: TerminateOptions, report: TeardownReport): Promise<void> {
    const { signal } = options;
    const timeoutMs = endWaitMs(options, report);
    try {
      await this.#desk.carryOut(this.events.terminate({ timeoutMs }), signal);
      report.terminateAccepted = this.microvmId !== null;
    } catch (thrown) {
      const error = toVmchartError(thrown);
      report.failures.push(error.message);
      report.terminateAccepted = this.substate === 'TERMINATING.accepted' || this.lifecycle === 'TERMINATED';
      if (!report.terminateAccepted) {
        report.undeleted.push(this.microvmId ?? `launch intent ${this.context.launch?.clientToken ?? ''}`);
      }
    }
    // Whoever drops the handle now is still told of a VM that lives on.
    this.#abandonment.released = report.undeleted.length === 0;
  }

  /** Builds an image and waits until it can be launched. {@link run} without an image then uses it. */
  async buildImage(
    request: CreateMicrovmImageRequest,
    options: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
  ): Promise<MicrovmImage> {
    return this.#image.build(request, { schedule: this.schedules.image, ...options });
  }

  /**
   * Gives the VM away: the record is all that another process needs to adopt it, and this handle does nothing any more.
   * Makes no call.
   *
   * @throws VmchartError `Precondition` when there is no live VM of this handle to give away
   */
  detach(): Detached {
    this.#refuseDetached('detach');
    const { agentToken } = this.#inside;
    const { microvmId, endpoint } = this.context;
    if (microvmId === null || endpoint === null || agentToken === null || this.#tornDown || !this.isLive) {
      throw new VmchartError('Precondition', 'there is no live VM of this sandbox to detach', { reason: 'no-vm' });
    }
    this.#detached = true;
    this.#abandonment.released = true;
    this.#inside.close(detachedError('the session'));
    this.actor.stop();
    return new Detached(microvmId, endpoint, this.#ports.region, this.#options.port ?? defaultAgentPort, agentToken);
  }

  /**
   * Removes the journal record of a life that has ended or made nothing, and what is left of its secrets. Until then
   * the record stays, as a proof that the VM is gone.
   *
   * @throws VmchartError `Precondition` (`reason: 'not-ended'`) before the end was seen; what the stores throw
   */
  async forget(): Promise<void> {
    this.#refuseDetached('forget');
    await this.#forgetting;
    await forgetLife(this.#ports, this.context);
  }

  /** Nothing opens an ended VM any more, so that what would is removed. */
  #forgetSecrets(): void {
    this.#forgetting = forgetSecrets(this.#ports.secrets, this.context).then(
      () => null,
      (cause: unknown) => {
        const message = `the secrets of ${this.id}, whose VM has ended, could not be removed: ${toVmchartError(cause).message}`;
        this.#ports.warn?.(message);
        return new VmchartError('Precondition', message, { reason: 'secrets-left', cause });
      },
    );
  }

  #refuseDetached(what: string): void {
    if (this.#detached) throw detachedError(what);
  }

  // What follows the machine.

  /** @internal Called for every snapshot of the machine. */
  follow(snapshot: SandboxSnapshot): void {
    this.#abandonment.microvmId = snapshot.context.microvmId;
    this.#abandonment.substate = substateOf(snapshot);
    this.#abandonment.clientToken = snapshot.context.launch?.clientToken ?? null;
    this.#abandonment.lifecycle = snapshot.context.lifecycle;
    const change = this.tellChange(snapshot);
    if (change !== null) this.#inside.heed(change.to);
    if (change !== null && !isLive(change.to)) this.#inside.close();
    if (change?.to === 'TERMINATED') this.#forgetSecrets();
  }

  /** @internal STATE-8: the proxy token of before the suspend is not used again. */
  dropProxyToken(): void {
    this.#inside.rebind(this.context.endpoint);
  }

  /** Ends the VM, so that `await using` leaves nothing behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#launching.stop();
    const accepted = this.substate === 'TERMINATING.accepted' || this.substate === 'TERMINATING.watching';
    const ended = accepted || this.isTerminal;
    // One that is under way is waited for, and one that failed is tried once more: stopping the machine would end both.
    if (!this.#detached && !ended && this.context.launch !== null) this.#tellOfWhatIsLeft(await this.terminate());
    this.actor.stop();
  }

  /** Warns of a VM that could not be ended where nobody gets the report. */
  #tellOfWhatIsLeft({ undeleted, failures }: TeardownReport): void {
    if (undeleted.length === 0) return;
    this.#abandonment.warn(
      `${undeleted.join(', ')} may live on, and bills until its maximumDurationInSeconds: ${failures.join('; ')}`,
    );
    this.#abandonment.released = true;
  }

  /** What a dropped handle would warn of now, or `null`. */
  get abandonmentWarning(): string | null {
    return abandonmentWarning(this.#abandonment);
  }

  toJSON(): Record<string, unknown> {
    const { id, microvmId, lifecycle, substate, cause, reported } = this;
    return { id, region: this.#ports.region, microvmId, lifecycle, substate, cause, reported };
  }

  [printed](): string {
    return `Sandbox { id: '${this.id}', microvmId: ${this.microvmId ?? 'none'}, lifecycle: ${this.lifecycle} }`;
  }
}

/** Inputs of lives that go on, handed to the constructor without being part of its public options. */
const inputs = new WeakMap<SandboxOptions, SandboxInput>();

/** The machine keeps running without its handle; the handle must not be kept alive by the machine. */
function follow(handle: WeakRef<Sandbox>, actor: SandboxActor): void {
  actor.subscribe((snapshot) => handle.deref()?.follow(snapshot));
  actor.on('PROXY_TOKEN_DROPPED', () => handle.deref()?.dropProxyToken());
}

/** XState's types take no explicit `undefined` here. */
function inspection({ inspect: observer }: SandboxOptions): { inspect?: (event: InspectionEvent) => void } {
  if (observer === undefined) return {};
  return { inspect: typeof observer === 'function' ? observer : (event) => observer.next?.(event) };
}

function freshId(): string {
  return `sbx-${crypto.randomUUID()}`;
}

function timeoutOf({ timeoutMs }: WaitOptions): { timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs: checkedDurationMs('timeoutMs', timeoutMs) };
}
