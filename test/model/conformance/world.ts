/**
 * The real client and an emulator, over HTTP, moved step by step: every request waits until it is let go, and time
 * stands still unless it is moved.
 */
import { createActor, type Actor } from 'xstate';
import { startEmulator, type EmulatedMicrovm, type Emulator } from '../../../adapters/emulator/index.ts';
import { awsPorts, gotHttp, memoryJournal, memorySecrets } from '../../../adapters/index.ts';
import { ControlPlane, controlPlaneActors, type Clock, type Ports } from '../../../effects/index.ts';
import {
  adopt,
  initialSnapshot,
  reportType,
  restore,
  sandboxMachine,
  type MicrovmDescription,
  type SandboxCommand,
  type SandboxEvent,
  type SandboxSnapshot,
  type VmState,
} from '../../../machines/index.ts';
import { restartLabel, type SandboxAction } from '../../../model/index.ts';
import { fakeGuests } from '../../emulator/fake-guest.ts';
import { route, type Plan, type PlatformState } from './drivable.ts';
import { Gate } from './gate.ts';

/** Longer than any wait of a command, so that nothing happens by itself before it is wanted. */
const delayMs = 400_000;
/** So long that neither the idle policy nor the lifetime acts within a path. */
const longSec = 28_800;

/** How many turns a step may take before it counts as one that never ends. */
const mostTurns = 500;

/** The client's clock: the emulator's, and who sleeps on it until when. */
class WatchedClock implements Clock {
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly sleeping = new Set<{ readonly until: number }>();

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  now(): number {
    return this.#clock.now();
  }

  wallNow(): number {
    return this.#clock.wallNow();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const sleeper = { until: this.#clock.now() + ms };
    this.sleeping.add(sleeper);
    this.#changed();
    try {
      await this.#clock.sleep(ms, signal);
    } finally {
      this.sleeping.delete(sleeper);
    }
  }
}

/** One life, driven along one path. */
class Life {
  readonly #emulator: Emulator;
  readonly #operator: ControlPlane;
  readonly #ports: Ports;
  readonly #gate: Gate;
  readonly #clock: WatchedClock;
  readonly #machine;
  readonly #name: string;
  readonly #before: number;
  #actor: Actor<typeof sandboxMachine>;
  #transitions = 0;
  #wake: (() => void) | null = null;

  private constructor(emulator: Emulator, operator: ControlPlane, ports: Omit<Ports, 'http' | 'clock'>, name: string) {
    const changed = () => this.#wake?.();
    this.#emulator = emulator;
    this.#operator = operator;
    this.#name = name;
    this.#before = emulator.vms().length;
    this.#clock = new WatchedClock(emulator.clock, changed);
    this.#gate = new Gate(operator.ports.http, changed);
    this.#ports = { ...ports, http: this.#gate, clock: this.#clock };
    this.#machine = sandboxMachine.provide({ actors: controlPlaneActors(this.#ports) });
    this.#actor = createActor(this.#machine, { input: this.#identity });
  }

  static async begin(
    emulator: Emulator,
    operator: ControlPlane,
    ports: Omit<Ports, 'http' | 'clock'>,
    name: string,
    platform: PlatformState,
  ): Promise<Life> {
    const life = new Life(emulator, operator, ports, name);
    await ports.secrets.put('token-1', 'a-token-for-the-daemon');
    if (platform === 'none') life.#start(initialSnapshot(life.#identity));
    else await life.#adopt(platform);
    return life;
  }

  get #identity() {
    return { sandboxId: this.#name, region: this.#emulator.region };
  }

  #start(snapshot: SandboxSnapshot): void {
    this.#actor = createActor(this.#machine, { snapshot, input: this.#identity });
    this.#actor.subscribe(() => {
      this.#transitions += 1;
      this.#wake?.();
    });
    this.#actor.start();
  }

  /** A VM that another client launched. */
  async #adopt(state: VmState): Promise<void> {
    const launched = await this.#operator.runMicrovm({
      imageIdentifier: this.#emulator.imageArn,
      maximumDurationInSeconds: longSec,
      idlePolicy: {
        maxIdleDurationSeconds: longSec,
        suspendedDurationSeconds: longSec,
        autoResumeEnabled: false,
      },
    });
    await this.bring(state);
    const description = await this.#operator.getMicrovm(launched.microvmId);
    const { microvmId, endpoint } = launched;
    this.#start(initialSnapshot(adopt({ ...this.#identity, microvmId, endpoint, state, description })));
  }

  get snapshot(): SandboxSnapshot {
    return this.#actor.getSnapshot();
  }

  /** The VMs that this path has made. */
  get vms(): readonly EmulatedMicrovm[] {
    return this.#emulator.vms().slice(this.#before);
  }

  get platform(): PlatformState {
    return this.vms[0]?.state ?? 'none';
  }

  /** Brings the platform's VM to a state by the shortest way, as another client or time would. */
  async bring(state: VmState): Promise<void> {
    const { platform } = this;
    const way = platform === 'none' ? null : route(platform, state);
    if (way === null) throw new Error(`The platform cannot get from ${platform} to ${state}.`);
    for (const next of way) await this.#hop(next);
  }

  async #hop(next: VmState): Promise<void> {
    const id = this.vms[0]?.microvmId ?? '';
    if (next === 'SUSPENDING') await this.#operator.suspendMicrovm(id);
    else if (next === 'TERMINATING') await this.#operator.terminateMicrovm(id);
    else {
      if (next === 'RUNNING' && this.platform === 'SUSPENDED') await this.#operator.resumeMicrovm(id);
      if (this.platform !== next) await this.#emulator.advance(delayMs);
    }
    if (this.platform !== next) throw new Error(`The platform is ${this.platform}, not ${next}.`);
  }

  /** Causes one step, and comes back when the client has taken it. */
  async perform(action: SandboxAction, plan: Plan): Promise<void> {
    if (plan.bring !== null) await this.bring(plan.bring);
    try {
      if (action.label === restartLabel) await this.#restart();
      else if (action.by === 'caller') this.#command(action.event as SandboxCommand);
      else if (action.by === 'platform') await this.#report(plan);
      else await this.#end(plan);
    } finally {
      this.#emulator.faults.clear();
    }
  }

  /** The process dies, what it had not sent with it, and the life is taken up from the journal. */
  async #restart(): Promise<void> {
    this.#actor.stop();
    const record = await this.#ports.journal.read(this.#name);
    if (record === null) throw new Error('Nothing was written to the journal.');
    this.#start(initialSnapshot(restore(record, { at: this.#clock.now(), wallMs: this.#clock.wallNow() })));
  }

  #command(command: SandboxCommand): void {
    const at = Number.isNaN(command.at) ? command.at : this.#clock.now();
    if (command.type !== 'RUN') {
      this.#actor.send({ ...command, at });
      return;
    }
    const { imageArn } = this.#emulator;
    this.#actor.send({
      ...command,
      at,
      // Each path is a world of its own, in which no token was used before.
      clientToken: `${this.#name}-${command.clientToken}`,
      request: {
        ...command.request,
        imageIdentifier: command.request.imageIdentifier === 'explored' ? imageArn : `${imageArn}-of-another`,
        suspendedSec: longSec,
        options: { maxIdleSec: longSec, suspendedSec: longSec, maxDurationSec: longSec },
      },
    });
  }

  /** One read by the host, as an observer makes it. */
  async #report(plan: Plan): Promise<void> {
    const askedAt = this.#clock.now();
    const { microvmId } = this.snapshot.context;
    if (plan.fault !== null) this.#emulator.faults.add({ kind: plan.fault, operation: 'GetMicrovm' });
    let description: MicrovmDescription | null = null;
    try {
      description = await this.#operator.getMicrovm(microvmId ?? '');
    } catch (error) {
      if ((error as { status?: number }).status !== 404) throw error;
    }
    const event: SandboxEvent = { type: reportType(description), at: this.#clock.now(), askedAt, description };
    this.#actor.send(event);
  }

  /** Lets the call in flight come to its end. */
  async #end({ fault, meanwhile, untilTimeout }: Plan): Promise<void> {
    const { faults } = this.#emulator;
    const before = this.#transitions;
    if (fault !== null) faults.add({ kind: fault, operation: '*', times: Number.POSITIVE_INFINITY });
    if (meanwhile !== null) {
      faults.add({ kind: 'lost-answer', operation: 'RunMicrovm' });
      await this.#until(() => this.#gate.waiting > 0);
      await this.#gate.passOne();
      await this.#until(() => this.#clock.sleeping.size > 0);
      await this.bring(meanwhile);
    }
    for (let turns = 0; this.#transitions === before; turns += 1) {
      if (turns > mostTurns) throw new Error('The call never ends.');
      await this.#until(() => this.#transitions > before || this.#gate.waiting > 0 || this.#clock.sleeping.size > 0);
      if (this.#transitions > before) break;
      if (this.#gate.waiting > 0) await this.#gate.passOne();
      else await this.#sleepOn(untilTimeout || fault !== null || meanwhile !== null);
    }
  }

  /** Moves time to where the client's next sleep ends. */
  async #sleepOn(expected: boolean): Promise<void> {
    if (!expected) throw new Error('The client waits for something else than this step brings.');
    const next = Math.min(...[...this.#clock.sleeping].map(({ until }) => until));
    await this.#emulator.advance(Math.max(0, next - this.#clock.now()));
  }

  /** Waits, on no clock, until something that the client does has made this true. */
  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  /** Ends the client, and whatever VM there is. */
  async close(): Promise<void> {
    this.#actor.stop();
    for (const { microvmId, state } of this.vms) {
      if (state !== 'TERMINATING' && state !== 'TERMINATED') await this.#operator.terminateMicrovm(microvmId);
    }
  }
}

/** An emulator in which life after life is driven. */
export class World implements AsyncDisposable {
  readonly #emulator: Emulator;
  readonly #operator: ControlPlane;
  #lives = 0;

  private constructor(emulator: Emulator) {
    const { endpoint, region, credentials, clock } = emulator;
    this.#emulator = emulator;
    this.#operator = new ControlPlane(
      awsPorts({
        endpointUrl: endpoint,
        region,
        credentials,
        clock,
        http: gotHttp({ environment: {} }),
        environment: {},
      }),
    );
  }

  static async open(): Promise<World> {
    const emulator = await startEmulator({
      guests: fakeGuests(),
      clock: 'manual',
      launchDelayMs: delayMs,
      suspendDelayMs: delayMs,
      resumeDelayMs: delayMs,
      terminateDelayMs: delayMs,
    });
    return new World(emulator);
  }

  /** A life at its start, beside a platform in this state. */
  async begin(platform: PlatformState): Promise<Life> {
    this.#lives += 1;
    const ports = { ...this.#operator.ports, journal: memoryJournal(), secrets: memorySecrets() };
    return await Life.begin(this.#emulator, this.#operator, ports, `path-${this.#lives}`, platform);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#operator.ports.http.close?.();
    await this.#emulator.close();
  }
}
