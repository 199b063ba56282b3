/** Keeps a VM awake in the background, by the machine in `machines/keep-awake.ts`. */
import { createActor, fromPromise } from 'xstate';
import type { KeepAwakeEnd, KeepAwakePolicy, PollOutcome } from '../../machines/index.ts';
import { keepAwakeMachine } from '../../machines/keep-awake.ts';
import { VmchartError, fromRecord, toVmchartError } from '../errors.ts';
import { checkedDurationMs } from './deadline.ts';
import { readHealth } from './health.ts';
import type { Transport } from './transport.ts';

/** What a keep-awake is told. */
export interface KeepAwakeOptions {
  /** The launch's idle window, in milliseconds. At least, and by default, 60 s. */
  readonly idleWindowMs?: number;
  /** Time between polls: at least 1 s, at most half the idle window. Default: a third of it, at most 20 s. */
  readonly intervalMs?: number;
  /** End once nothing runs in the VM. Default `false`. */
  readonly whileBusy?: boolean;
  /** End after this time. Default: no limit. */
  readonly maxDurationMs?: number;
  /** How many retryable failures in a row are waited through. Default 3. */
  readonly toleratedErrors?: number;
  /** Asked before every poll: a VM that does not run gets no request, since that could wake it. */
  readonly isRunning?: (() => boolean) | undefined;
  /** Called when it ended as `idle`, unless the VM was resumed since: then the idleness is of the past (FC-034). */
  readonly onIdle?: (report: KeepAwakeReport) => void | Promise<void>;
  /** Stops it. */
  readonly signal?: AbortSignal | undefined;
}

/** What a keep-awake did. */
export interface KeepAwakeReport {
  readonly end: KeepAwakeEnd;
  /** Polls that were answered. */
  readonly polls: number;
  /** What the last answer said; `null` without one. */
  readonly lastBusy: boolean | null;
  readonly elapsedMs: number;
  /** Which resume of the session it belongs to. */
  readonly generation: number;
}

const shortestIdleWindowMs = 60_000;
const shortestIntervalMs = 1_000;
const longestDefaultIntervalMs = 20_000;

const endOfState: Readonly<Record<string, KeepAwakeEnd>> = {
  Stopped: 'stopped',
  Idle: 'idle',
  Elapsed: 'elapsed',
  NotRunning: 'not-running',
};

/** Works out a policy. @throws VmchartError `InvalidArg` before any poll. */
export function keepAwakePolicy(options: KeepAwakeOptions): KeepAwakePolicy {
  const idleWindowMs = checkedDurationMs('idleWindowMs', options.idleWindowMs ?? shortestIdleWindowMs);
  const defaultIntervalMs = Math.min(idleWindowMs / 3, longestDefaultIntervalMs);
  const intervalMs = checkedDurationMs('intervalMs', options.intervalMs ?? defaultIntervalMs);
  const refuse = (message: string): never => {
    throw new VmchartError('InvalidArg', message, { reason: 'keep-awake-policy' });
  };
  if (idleWindowMs < shortestIdleWindowMs) refuse('An idle window is at least 60 s.');
  if (intervalMs < shortestIntervalMs) refuse('The interval of a keep-awake is at least 1 s.');
  if (intervalMs > idleWindowMs / 2) {
    refuse(`An interval of ${intervalMs / 1000} s is more than half the idle window of ${idleWindowMs / 1000} s.`);
  }
  const maxDurationMs =
    options.maxDurationMs === undefined ? null : checkedDurationMs('maxDurationMs', options.maxDurationMs);
  if (maxDurationMs === 0) refuse('maxDurationMs must be above zero.');
  const toleratedErrors = options.toleratedErrors ?? 3;
  if (!Number.isInteger(toleratedErrors) || toleratedErrors < 0)
    refuse('toleratedErrors is a whole number, zero or more.');
  return { intervalMs, whileBusy: options.whileBusy ?? false, maxDurationMs, toleratedErrors };
}

/**
 * A keep-awake at work. Stop it with {@link KeepAwake.requestStop}, or let `using` do it.
 *
 * @example
 * using awake = session.keepAwake({ whileBusy: true });
 * await longWork();
 */
export class KeepAwake implements Disposable {
  /** How it ended. Rejects when polls failed for good. Leaving it alone is fine. */
  readonly finished: Promise<KeepAwakeReport>;
  readonly #stop: () => void;

  constructor(transport: Transport, options: KeepAwakeOptions = {}) {
    const { clock, generation } = transport;
    const startedAt = clock.now();
    const failures: VmchartError[] = [];
    const pollHealth = fromPromise<PollOutcome>(async ({ signal }) => {
      if (options.isRunning?.() === false) return { at: clock.now(), ok: true, running: false };
      try {
        const { busy } = await readHealth(transport, signal);
        return { at: clock.now(), ok: true, running: true, busy };
      } catch (error) {
        failures.push(toVmchartError(error));
        return { at: clock.now(), ok: false, error: toVmchartError(error).toRecord() };
      }
    });
    const sleep = fromPromise<{ readonly at: number }, { readonly ms: number }>(async ({ input, signal }) => {
      await clock.sleep(input.ms, signal).catch(() => undefined);
      return { at: clock.now() };
    });
    const actor = createActor(keepAwakeMachine.provide({ actors: { pollHealth, sleep } }), {
      input: { policy: keepAwakePolicy(options), startedAt },
    });
    this.#stop = () => actor.send({ type: 'STOP', at: clock.now() });
    const ended = new Promise<KeepAwakeReport>((resolve, reject) => {
      const subscription = actor.subscribe(({ value, context }) => {
        if (typeof value === 'string') return;
        subscription.unsubscribe();
        options.signal?.removeEventListener('abort', this.#stop);
        if (context.error !== null) {
          reject(failures.at(-1) ?? fromRecord(context.error));
          return;
        }
        resolve({
          end: endOfState[value.Done] ?? 'stopped',
          polls: context.polls,
          lastBusy: context.lastBusy,
          elapsedMs: (context.endedAt ?? startedAt) - startedAt,
          generation,
        });
      });
    });
    this.finished = ended.then(async (report) => {
      if (report.end === 'idle' && generation === transport.generation) await options.onIdle?.(report);
      return report;
    });
    this.finished.catch(() => undefined);
    if (options.signal?.aborted) {
      // Started and stopped in one breath, so that not even the first poll is sent.
      actor.start();
      this.#stop();
      return;
    }
    options.signal?.addEventListener('abort', this.#stop, { once: true });
    actor.start();
  }

  /** Ends it, with the report `stopped`. Safe to call more than once. */
  requestStop(): void {
    this.#stop();
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}
