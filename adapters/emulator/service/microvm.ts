/** One emulated VM: runs the platform machine on a clock and carries out what it asks for. */
import type { Clock } from '../../../effects/index.ts';
import { launchPlatform, nextDeadline, platformStep, reportedState } from '../../../machines/index.ts';
import type {
  CallAnswer,
  PlatformEffect,
  PlatformEvent,
  PlatformSnapshot,
  PlatformTerms,
  RuntimeHook,
  VmState,
} from '../../../machines/index.ts';
import type { StateChange } from '../change-feed.ts';
import type { Guest } from '../guest.ts';
import type { Work } from '../work.ts';

/** What a launch fixed, as reads of the VM answer it. */
export interface LaunchFacts {
  readonly microvmId: string;
  /** The bare host, as the service names endpoints. */
  readonly endpointHost: string;
  readonly imageArn: string;
  readonly imageVersion: string;
  readonly memoryMiB: number;
  readonly maximumDurationInSeconds: number;
  readonly executionRoleArn: string | null;
  readonly idlePolicy: {
    readonly maxIdleDurationSeconds: number;
    readonly suspendedDurationSeconds: number;
    readonly autoResumeEnabled: boolean;
  } | null;
  readonly ingressNetworkConnectors: readonly string[];
  readonly egressNetworkConnectors: readonly string[];
}

/** What a VM needs from its surroundings. */
export interface MicrovmHost {
  readonly clock: Clock;
  readonly work: Work;
  /** The inside of the VM, on its way. */
  readonly guest: Promise<Guest>;
  readonly terms: PlatformTerms;
  /** The hooks that the image enabled; the others count as passed. */
  readonly enabledHooks: ReadonlySet<RuntimeHook>;
  /** Null or absent where a launch had none and the emulator was told so. */
  readonly runHookPayload: string | null | undefined;
  readonly onChange: (change: StateChange) => void;
}

/** Something that a suspension breaks. */
export interface Breakable {
  destroy(): void;
}

/** A VM. Every call first lets happen what is due on the clock. */
export class Microvm {
  readonly facts: LaunchFacts;
  /** Where the endpoint listens, as reads answer it. Known before the launch is answered. */
  endpoint = '';
  /** Settles once the endpoint listens. */
  ready: Promise<void> = Promise.resolve();
  /** The monotonic reading of the last change of state. */
  changedAt: number;
  readonly startedAt: number;
  readonly startedWall: number;
  readonly #host: MicrovmHost;
  readonly #closing = new AbortController();
  readonly #connections = new Set<Breakable>();
  readonly #held: ((forward: boolean) => void)[] = [];
  #guest: Promise<Guest>;
  #snapshot: PlatformSnapshot;
  #terminatedAt: number | null = null;
  #lastBytesAt: number | null = null;
  #wakeAt = Infinity;
  #wake = new AbortController();

  constructor(facts: LaunchFacts, host: MicrovmHost) {
    this.facts = facts;
    this.#host = host;
    this.#guest = host.guest;
    this.startedAt = host.clock.now();
    this.startedWall = host.clock.wallNow();
    this.changedAt = this.startedAt;
    const { snapshot, effects } = launchPlatform({ terms: host.terms, at: this.startedAt });
    this.#snapshot = snapshot;
    this.#publish(null);
    for (const effect of effects) this.#perform(effect);
    host.guest.then(
      (guest) => guest.onExit((exitCode) => this.#send({ type: 'GUEST.EXITED', exitCode, at: host.clock.now() })),
      (error: unknown) => {
        const reason = `MicroVM could not be started: ${error instanceof Error ? error.message : String(error)}`;
        this.lose(reason);
      },
    );
    this.#arm();
  }

  /** What a read answers now. */
  get state(): VmState {
    this.catchUp();
    return reportedState(this.#snapshot);
  }

  get stateReason(): string | null {
    return this.#snapshot.context.stateReason;
  }

  /** Unix milliseconds; null while the VM lives. */
  get terminatedWall(): number | null {
    return this.#terminatedAt === null ? null : this.startedWall + (this.#terminatedAt - this.startedAt);
  }

  /** The inside of the VM. Rejects when it could not be made, and once the VM has ended. */
  get guest(): Promise<Guest> {
    return this.#guest;
  }

  /** The monotonic reading at which something will happen by itself; null when nothing will. */
  get nextDeadline(): number | null {
    return nextDeadline(this.#snapshot);
  }

  /** The machine's snapshot, for pages and tests. */
  get snapshot(): PlatformSnapshot {
    return this.#snapshot;
  }

  /** A caller's call. */
  call(type: 'SUSPEND' | 'RESUME' | 'TERMINATE'): CallAnswer {
    for (const effect of this.#send({ type, at: this.#host.clock.now() })) {
      if (effect.type === 'ANSWER') return effect.answer;
    }
    throw new TypeError(`There is no answer to ${type}: the emulator is closed.`);
  }

  /** A request with a good token came. Resolves once it may go on (true) or is refused (false). */
  async admit(): Promise<boolean> {
    for (const effect of this.#send({ type: 'TRAFFIC.REQUEST', at: this.#host.clock.now() })) {
      if (effect.type !== 'ADMIT') continue;
      if (effect.verdict !== 'hold') return effect.verdict === 'forward';
      return await new Promise<boolean>((resolve) => {
        this.#held.push(resolve);
      });
    }
    return false;
  }

  /** A request came that the proxy denies. */
  deny(): void {
    this.#send({ type: 'TRAFFIC.DENIED', at: this.#host.clock.now() });
  }

  /** Something outside the VM failed for good: the VM ends, with this reason. */
  lose(reason: string): void {
    this.#send({ type: 'GUEST.LOST', reason, at: this.#host.clock.now() });
  }

  /** Bytes crossed the endpoint. Only noted: a whole stream costs one event per idle deadline. */
  noteBytes(): void {
    this.#lastBytesAt = this.#host.clock.now();
  }

  /** Puts a connection under the VM's control; the returned function takes it out again. */
  track(connection: Breakable): () => void {
    this.#connections.add(connection);
    this.#countConnections();
    return () => {
      if (this.#connections.delete(connection)) this.#countConnections();
    };
  }

  /** Lets happen all that is due by now, each at its own time. */
  catchUp(): void {
    if (this.#closing.signal.aborted) return;
    const now = this.#host.clock.now();
    for (let due = this.nextDeadline; due !== null && due <= now; due = this.nextDeadline) {
      const bytesAt = this.#lastBytesAt;
      if (bytesAt !== null && bytesAt <= due) {
        // Bytes that came before this deadline move it, if it is the idle one.
        this.#lastBytesAt = null;
        this.#dispatch({ type: 'TRAFFIC.BYTES', at: bytesAt });
      } else {
        this.#dispatch({ type: 'TICK', at: due });
      }
    }
  }

  /** Stops the timers. What is inside the VM is ended by its factory. */
  close(): void {
    this.#closing.abort();
    this.#wake.abort();
    this.#breakConnections();
    for (const release of this.#held.splice(0)) release(false);
  }

  #send(event: PlatformEvent): readonly PlatformEffect[] {
    if (this.#closing.signal.aborted) return [];
    this.catchUp();
    // An event of its own says more than bytes before it.
    this.#lastBytesAt = null;
    const effects = this.#dispatch(event);
    this.#arm();
    return effects;
  }

  #dispatch(event: PlatformEvent): readonly PlatformEffect[] {
    const before = reportedState(this.#snapshot);
    const { snapshot, effects } = platformStep(this.#snapshot, event);
    this.#snapshot = snapshot;
    if (reportedState(snapshot) !== before) {
      if (snapshot.value === 'TERMINATED') this.#terminatedAt = event.at;
      this.#publish(before, event.at);
    }
    for (const effect of effects) this.#perform(effect);
    return effects;
  }

  #perform(effect: PlatformEffect): void {
    switch (effect.type) {
      case 'BREAK_CONNECTIONS':
        this.#breakConnections();
        break;
      case 'RELEASE':
        for (const release of this.#held.splice(0)) release(effect.verdict === 'forward');
        break;
      case 'CALL_HOOK':
        this.#inside(async (guest) => {
          const status = await this.#callHook(guest, effect.hook);
          this.#send({ type: 'GUEST.HOOK_ANSWERED', hook: effect.hook, status, at: this.#host.clock.now() });
        });
        break;
      case 'FREEZE':
        this.#inside(async (guest) => {
          await guest.freeze();
          this.#send({ type: 'GUEST.FROZEN', at: this.#host.clock.now() });
        });
        break;
      case 'THAW':
        this.#inside(async (guest) => {
          await guest.thaw();
          this.#send({ type: 'GUEST.THAWED', at: this.#host.clock.now() });
        });
        break;
      case 'DESTROY':
        this.#host.work.track(this.#destroy());
        break;
      case 'ANSWER':
      case 'ADMIT':
        break;
    }
  }

  async #callHook(guest: Guest, hook: RuntimeHook): Promise<number | null> {
    if (!this.#host.enabledHooks.has(hook)) return 200;
    const body = hook === 'run' ? { microvmId: this.facts.microvmId, runHookPayload: this.#host.runHookPayload } : null;
    try {
      return (await guest.hook(hook, body)).status;
    } catch {
      return null;
    }
  }

  async #destroy(): Promise<void> {
    try {
      await (await this.#guest).destroy();
    } catch {
      // A guest that never came to be, or that fails in its own end, holds nothing that the service could still free.
    }
    // Ended VMs stay listed for long; what was inside them need not stay in memory.
    this.#guest = Promise.reject(new Error('The MicroVM has ended.'));
    this.#guest.catch(() => {});
    this.#send({ type: 'GUEST.DESTROYED', at: this.#host.clock.now() });
  }

  /** Does something inside the VM; when that fails, the VM is lost. */
  #inside(act: (guest: Guest) => Promise<void>): void {
    const acted = this.#guest.then(act).catch((error: unknown) => {
      const reason = `MicroVM was lost: ${error instanceof Error ? error.message : String(error)}`;
      this.lose(reason);
    });
    this.#host.work.track(acted);
  }

  #breakConnections(): void {
    const broken = [...this.#connections];
    this.#connections.clear();
    for (const connection of broken) connection.destroy();
  }

  #countConnections(): void {
    if (!this.#host.terms.options.silentStreamCounts) return;
    this.#send({ type: 'TRAFFIC.CONNECTIONS', open: this.#connections.size, at: this.#host.clock.now() });
  }

  #publish(from: VmState | null, at = this.startedAt): void {
    const { cause, stateReason } = this.#snapshot.context;
    this.changedAt = at;
    this.#host.onChange({
      microvmId: this.facts.microvmId,
      from,
      to: reportedState(this.#snapshot),
      cause,
      stateReason,
      at,
      wallAt: this.startedWall + (at - this.startedAt),
    });
  }

  /** Sees to it that the VM wakes at its next deadline. A deadline that moved away is noticed on waking. */
  #arm(): void {
    const due = this.nextDeadline;
    if (due === null || due >= this.#wakeAt || this.#closing.signal.aborted) return;
    this.#wake.abort();
    this.#wake = new AbortController();
    this.#wakeAt = due;
    const { signal } = this.#wake;
    this.#host.clock.sleep(Math.max(0, due - this.#host.clock.now()), signal).then(
      () => {
        // A later deadline may have been replaced by an earlier one while this wake-up was on its way.
        if (signal.aborted) return;
        this.#wakeAt = Infinity;
        this.catchUp();
        this.#arm();
      },
      () => {},
    );
  }
}
