/** What can be read of a sandbox at any time, without a call. */
import { recordOf } from '../../machines/sandbox-record.ts';
import { substateOf } from '../../machines/sandbox-view.ts';
import type { Cause, JournalRecord, MicrovmDescription, SandboxContext, VmState } from '../../machines/index.ts';
import type { Clock } from '../ports.ts';
import type { SandboxActor } from './command-desk.ts';
import { isBilling, isLive, isReachable, isResumable, isTerminal } from './predicates.ts';
import type { Reachability } from './predicates.ts';

/** The variables of one life, read from its machine. All readable, none writable. */
export abstract class SandboxReadings {
  /** The actor itself, for whoever wants to inspect it or draw it. */
  abstract readonly actor: SandboxActor;
  protected abstract readonly clock: Clock;

  protected get context(): SandboxContext {
    return this.actor.getSnapshot().context;
  }

  /** The spec's `vm_state`. */
  get lifecycle(): VmState {
    return this.context.lifecycle;
  }

  /** The substate with our own call in flight, such as `RUNNING.suspending`. */
  get substate(): string {
    return substateOf(this.actor.getSnapshot());
  }

  get tokenInstalled(): boolean {
    return this.context.tokenInstalled;
  }

  get wasTerminated(): boolean {
    return this.context.wasTerminated;
  }

  get bootstrapCount(): number {
    return this.context.bootstrapCount;
  }

  get microvmId(): string | null {
    return this.context.microvmId;
  }

  get endpoint(): string | null {
    return this.context.endpoint;
  }

  /** What the service said last. */
  get microvm(): MicrovmDescription | null {
    return this.context.microvm;
  }

  /** The window of the launch, in milliseconds. */
  get suspendedWindowMs(): number | null {
    return this.context.suspendedWindowMs;
  }

  /** Until when a suspended VM can be resumed, as a reading of the sandbox's clock: an estimate (FC-022). */
  get resumableUntil(): number | null {
    const { suspendedAt, suspendedWindowMs } = this.context;
    return suspendedAt === null || suspendedWindowMs === null ? null : suspendedAt + suspendedWindowMs;
  }

  /** Why the state changed last. */
  get cause(): Cause | null {
    return this.context.cause;
  }

  get stateReason(): string | null {
    return this.context.stateReason;
  }

  /** A state that the service named last and nobody knows; the lifecycle then is the last known one. */
  get reported(): string | null {
    return this.context.reported;
  }

  get isLive(): boolean {
    return isLive(this.lifecycle);
  }

  get isBilling(): boolean {
    return this.microvmId !== null && isBilling(this.lifecycle);
  }

  get isReachable(): Reachability {
    const autoResume = this.microvm?.idlePolicy?.autoResume ?? false;
    return this.microvmId === null ? false : isReachable(this.lifecycle, autoResume);
  }

  get isResumable(): boolean {
    return isResumable(this.lifecycle);
  }

  get isTerminal(): boolean {
    return isTerminal(this.lifecycle);
  }

  /** The record that a journal would hold now. */
  record(): JournalRecord {
    return recordOf(this.context, this.clock.wallNow() - this.clock.now(), this.substate);
  }
}
