/** What the platform does by itself, learnt by asking; and the changes that follow, told as they happen. */
import type { MicrovmDescription, Report, SandboxEvents, SandboxSnapshot, VmState } from '../../machines/index.ts';
import { isGone } from '../control-plane/classify.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { canReach } from '../control-plane/wait.ts';
import { checkedDurationMs, checkedIntervalMs } from '../durations.ts';
import { VmchartError, toVmchartError } from '../errors.ts';
import { ChangeStream, changeBetween } from './changes.ts';
import type { LifecycleChange } from './changes.ts';
import { isTerminal } from './predicates.ts';
import { SandboxReadings } from './sandbox-readings.ts';
import type { Schedules } from './schedules.ts';
import { untilVisible } from './visibility.ts';

/** Options of a command's wait. */
export interface WaitOptions {
  /** Ends the caller's wait, never the intent. */
  readonly signal?: AbortSignal | undefined;
  /** How long the lifecycle wait may take, in milliseconds. Default 300 s. */
  readonly timeoutMs?: number;
}

/** The observing half of {@link Sandbox}. */
export abstract class SandboxObserver extends SandboxReadings {
  /** The control-plane client of this sandbox, for what has no lifecycle. */
  abstract readonly plane: ControlPlane;
  protected abstract readonly events: SandboxEvents;
  protected abstract readonly schedules: Schedules;
  readonly #streams = new Set<ChangeStream>();
  #lastLifecycle: VmState | null = null;

  /** Asks the service where the VM is and tells the machine. Wakes nothing. */
  async refresh(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<VmState> {
    const { microvmId } = this.context;
    if (microvmId === null) return this.lifecycle;
    const { description, askedAt } = await this.#ask(microvmId, options.signal);
    this.actor.send(this.events.observed(description, askedAt));
    return this.lifecycle;
  }

  /** The service's word, and when it was asked; `null` for a VM that it does not know any more. */
  async #ask(
    microvmId: string,
    signal: AbortSignal | undefined,
  ): Promise<{ description: MicrovmDescription | null; askedAt: number }> {
    const { clock, context } = this;
    let askedAt = clock.now();
    const read = () => {
      askedAt = clock.now();
      return this.plane.getMicrovm(microvmId, { signal });
    };
    try {
      const description = await untilVisible(read, { context, clock, schedule: this.schedules.state, signal });
      return { description, askedAt };
    } catch (error) {
      if (isGone(error)) return { description: null, askedAt };
      throw error;
    }
  }

  /** Hands a report from elsewhere (a listing, an event) to the machine. */
  observe(report: Report): void {
    this.actor.send(report);
  }

  /** Changes of state as they happen, from now on, without asking the service. */
  changes(): AsyncIterableIterator<LifecycleChange> {
    const stream = new ChangeStream(() => this.#streams.delete(stream));
    this.#streams.add(stream);
    if (this.isTerminal) stream.done();
    return stream;
  }

  /**
   * Asks the service every so often and yields changes of state, one item per change.
   *
   * Ends at TERMINATED, and when the signal aborts. A failed read is tolerated until the next one.
   *
   * @throws VmchartError `InvalidArg` for less than a millisecond
   */
  async *watch(options: { readonly everyMs: number; readonly signal?: AbortSignal }): AsyncGenerator<LifecycleChange> {
    const { signal } = options;
    const everyMs = checkedIntervalMs('everyMs', options.everyMs);
    const { clock } = this;
    const stop = new AbortController();
    const until = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
    const stream = this.changes();
    const polling = (async () => {
      while (!this.isTerminal) {
        await this.refresh({ signal: until }).catch((error: unknown) => {
          if (!toVmchartError(error).retryable) throw error;
        });
        if (!this.isTerminal) await clock.sleep(everyMs, until);
      }
      (stream as ChangeStream).done();
    })().catch((error: unknown) => (stream as ChangeStream).done(until.aborted ? null : error));
    try {
      yield* stream;
    } finally {
      stop.abort();
      await polling;
    }
  }

  /**
   * Waits, asking the service, until the VM is in one of the states.
   *
   * @throws VmchartError `InvalidArg` for a state that cannot come any more, `LaunchDied` when the VM ends instead,
   * `Timeout` after `timeoutMs` (default 300 s)
   */
  async waitFor(states: VmState | readonly VmState[], options: WaitOptions = {}): Promise<VmState> {
    const wanted: readonly VmState[] = typeof states === 'string' ? [states] : states;
    const { clock } = this;
    const { signal } = options;
    const timeoutMs = checkedDurationMs('timeoutMs', options.timeoutMs ?? 300_000);
    const schedule = this.schedules.state;
    const startedAt = clock.now();
    for (let attempt = 1; ; attempt += 1) {
      if (wanted.includes(this.lifecycle)) return this.lifecycle;
      this.#refuseImpossible(wanted, attempt > 1);
      await this.refresh({ signal });
      if (wanted.includes(this.lifecycle)) return this.lifecycle;
      this.#refuseImpossible(wanted, true);
      const elapsedMs = clock.now() - startedAt;
      if (elapsedMs >= timeoutMs) {
        throw new VmchartError(
          'Timeout',
          `${wanted.join(' or ')} was not seen within ${Math.round(elapsedMs / 1000)} s; last seen: ${this.reported ?? this.lifecycle}. Nothing was cancelled`,
          { reason: 'state-wait', microvmId: this.microvmId },
        );
      }
      await clock.sleep(Math.min(schedule(attempt, elapsedMs), timeoutMs - elapsedMs), signal);
    }
  }

  #refuseImpossible(wanted: readonly VmState[], asked: boolean): void {
    if (this.microvmId === null && !wanted.includes('PENDING')) {
      throw new VmchartError('Precondition', 'there is no VM to wait for', { reason: 'no-vm' });
    }
    if (canReach(this.lifecycle, wanted)) return;
    const kind = asked ? 'LaunchDied' : 'InvalidArg';
    throw new VmchartError(
      kind,
      `${wanted.join(' or ')} cannot come any more: the VM is ${this.lifecycle} (${this.stateReason ?? 'no stateReason'})`,
      { reason: 'impossible-state', microvmId: this.microvmId },
    );
  }

  /** Tells the streams of a change, one item each. */
  protected tellChange(snapshot: SandboxSnapshot): LifecycleChange | null {
    const change = changeBetween(this.#lastLifecycle ?? 'PENDING', snapshot);
    this.#lastLifecycle = snapshot.context.lifecycle;
    if (change === null) return null;
    for (const stream of this.#streams) {
      stream.push(change);
      if (isTerminal(change.to)) stream.done();
    }
    return change;
  }

  /** Where the life is when the telling begins. */
  protected beginTelling(): void {
    this.#lastLifecycle = this.lifecycle;
  }
}
