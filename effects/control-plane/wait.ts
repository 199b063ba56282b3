/** Waiting for a state: one algorithm for VMs and images (`client-behaviour.md` 3.3; FC-118, FC-119). */
import type { VmState } from '../../machines/index.ts';
import { parseVmState } from '../../machines/records.ts';
import { checkedDurationMs } from '../durations.ts';
import { VmchartError } from '../errors.ts';
import type { Clock, Entropy } from '../ports.ts';
import type { CallOptions } from './caller.ts';
import { isGone } from './classify.ts';
import { backoffMs, standardRetry } from './retry.ts';
import { adaptiveSchedule } from '../schedule.ts';
import type { Schedule } from '../schedule.ts';

/** What a wait looks at, looks for, and how long. */
export interface StateWait<T> {
  /** Reads once. It is given its own time limit and told not to retry: the wait does that. */
  readonly get: (options: CallOptions) => Promise<T>;
  /** The state in a reading; its `state` member by default. */
  readonly stateOf?: (reading: T) => string;
  readonly wanted: readonly string[];
  /** States that end the wait with an error, such as the dead ones of a launch. */
  readonly failOn?: readonly string[];
  /** The error of such an end; {@link launchDied} by default. */
  readonly failWith?: (reading: T, state: string) => VmchartError;
  /**
   * Looks at a reading that ends nothing yet. Resolving to `true` reads again at once, past the deadline check:
   * a wait that resumes a suspended VM uses it.
   */
  readonly onReading?: (reading: T, state: string) => Promise<boolean> | boolean;
  readonly timeoutMs: number;
  readonly schedule?: Schedule;
  readonly clock: Clock;
  /** Spreads the delays after failed reads; without it they are not spread. */
  readonly entropy?: Entropy;
  readonly signal?: AbortSignal | undefined;
  readonly microvmId?: string | undefined;
  /** What is waited for, for messages. */
  readonly what?: string;
  /** Whether a failed read may pass by itself; `Retryable` errors by default. */
  readonly tolerate?: (error: VmchartError) => boolean;
  /**
   * How long a 404 counts as "not visible yet", in milliseconds, as long as nothing was seen. 0 by default:
   * reads right after a launch need it, because they are eventually consistent.
   */
  readonly notFoundGraceMs?: number;
}

const longestReadMs = 10_000;
const shortestReadMs = 1_000;
const unreadableLimit = 3;

/** Where the platform can go from each state, by any number of steps (`platform-behaviour.md` 5.1). */
const later: Readonly<Record<VmState, readonly VmState[]>> = {
  PENDING: ['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED'],
  RUNNING: ['RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED'],
  SUSPENDING: ['RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED'],
  SUSPENDED: ['RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED'],
  TERMINATING: ['TERMINATING', 'TERMINATED'],
  TERMINATED: ['TERMINATED'],
};

/** Whether a VM in one state can ever come to one of the others. A state that nobody knows may lead anywhere. */
export function canReach(from: string, wanted: readonly string[]): boolean {
  const known = parseVmState(from);
  return known === null || wanted.some((state) => (later[known] as readonly string[]).includes(state));
}

/** The error of a VM that ended instead of coming to life. Its reason is the only evidence that is left. */
function launchDied(
  vm: { readonly microvmId: string; readonly stateReason: string | null },
  state: string,
  wanted: readonly string[],
): VmchartError {
  return new VmchartError(
    'LaunchDied',
    `${vm.microvmId} is ${state} while waiting for ${wanted.join(' or ')}: ${vm.stateReason ?? 'no stateReason'}. ` +
      'A lifecycle hook most likely failed, and this is the only remaining evidence.',
    { reason: 'launch-died', microvmId: vm.microvmId },
  );
}

interface WaitState {
  last: string | null;
  lastError: VmchartError | null;
  unreadable: number;
  failures: number;
  everSeen: boolean;
}

function isUnreadable(error: VmchartError): boolean {
  return error.reason === 'invalid-response' || error.reason === 'unexpected-response';
}

/**
 * Reads until the state is one that is wanted: at once, and then by the schedule. Reads that fail for a passing
 * reason are read again until the time is up; an answer that cannot be read is an error the third time in a row.
 *
 * @returns the reading that was wanted
 * @throws VmchartError `Timeout` (nothing is cancelled), the error of `failOn`, `Platform` with reason
 *   `unreachable-state` when the wanted state cannot come any more, or a read's own error
 */
export async function waitForState<T>(wait: StateWait<T>): Promise<T> {
  const { clock, wanted, failOn = [], schedule = adaptiveSchedule, signal } = wait;
  const stateOf = wait.stateOf ?? ((reading: T) => (reading as { readonly state: string }).state);
  const timeoutMs = checkedDurationMs('timeoutMs', wait.timeoutMs);
  if (wanted.length === 0) throw new VmchartError('InvalidArg', 'A wait needs a state to wait for.');
  const startedMs = clock.now();
  const progress: WaitState = { last: null, lastError: null, unreadable: 0, failures: 0, everSeen: false };

  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    const remainingMs = timeoutMs - (clock.now() - startedMs);
    const reading = await read(wait, progress, remainingMs, startedMs);
    if (reading !== null) {
      const state = stateOf(reading.value);
      progress.last = state;
      if (wanted.includes(state)) return reading.value;
      if (failOn.includes(state)) throw failure(wait, reading.value, state);
      if (!canReach(state, wanted)) throw unreachable(wait, reading.value, state);
      if ((await wait.onReading?.(reading.value, state)) === true) continue;
    }
    const elapsedMs = clock.now() - startedMs;
    if (elapsedMs >= timeoutMs) throw timedOut(wait, progress, elapsedMs);
    const nextMs = Math.max(schedule(attempt, elapsedMs), delayAfterFailure(wait, progress));
    await clock.sleep(Math.min(nextMs, timeoutMs - elapsedMs), signal);
  }
}

/** One read: its value, `null` when it failed in a way that may pass, or its error. */
async function read<T>(
  wait: StateWait<T>,
  progress: WaitState,
  remainingMs: number,
  startedMs: number,
): Promise<{ readonly value: T } | null> {
  const { signal, clock } = wait;
  const tolerate = wait.tolerate ?? ((error: VmchartError) => error.retryable);
  try {
    const timeoutMs = Math.max(shortestReadMs, Math.min(longestReadMs, remainingMs));
    const value = await wait.get({ signal, timeoutMs, maxRetries: 0 });
    Object.assign(progress, { lastError: null, unreadable: 0, failures: 0, everSeen: true });
    return { value };
  } catch (error) {
    if (!VmchartError.is(error)) throw error;
    progress.lastError = error;
    progress.failures += 1;
    const notVisibleYet = isGone(error) && !progress.everSeen && clock.now() - startedMs < (wait.notFoundGraceMs ?? 0);
    progress.unreadable = isUnreadable(error) ? progress.unreadable + 1 : 0;
    const mayPass = isUnreadable(error) ? progress.unreadable < unreadableLimit : notVisibleYet || tolerate(error);
    if (mayPass) return null;
    throw error;
  }
}

/** After failed reads: what the service asked for, or a growing delay of our own; both capped. */
function delayAfterFailure<T>(wait: StateWait<T>, { lastError, failures }: WaitState): number {
  if (lastError === null || !lastError.retryable) return 0;
  const asked = Math.min(lastError.retryAfterMs ?? 0, standardRetry.retryAfterCapMs);
  const entropy = wait.entropy ?? { fill: (bytes: Uint8Array) => void bytes.fill(0) };
  return Math.max(asked, Math.min(backoffMs(failures, standardRetry, entropy), longestReadMs));
}

function failure<T>(wait: StateWait<T>, reading: T, state: string): VmchartError {
  if (wait.failWith !== undefined) return wait.failWith(reading, state);
  const { microvmId, stateReason } = reading as { readonly microvmId?: string; readonly stateReason?: string | null };
  return launchDied(
    { microvmId: microvmId ?? wait.microvmId ?? 'The MicroVM', stateReason: stateReason ?? null },
    state,
    wait.wanted,
  );
}

function subject<T>(wait: StateWait<T>): string {
  return wait.what ?? `${wait.microvmId ?? 'the MicroVM'} to be ${wait.wanted.join(' or ')}`;
}

function unreachable<T>(wait: StateWait<T>, reading: T, state: string): VmchartError {
  const reason = (reading as { readonly stateReason?: string | null }).stateReason;
  return new VmchartError(
    'Platform',
    `Waited for ${subject(wait)}, but it is ${state}, and from there that cannot come` +
      `${reason ? `: ${reason}` : ''}.`,
    { reason: 'unreachable-state', microvmId: wait.microvmId ?? null },
  );
}

function timedOut<T>(wait: StateWait<T>, { last, lastError }: WaitState, elapsedMs: number): VmchartError {
  return new VmchartError(
    'Timeout',
    `Waited ${Math.round(elapsedMs / 1_000)} s for ${subject(wait)}; last seen: ${last ?? 'nothing'}` +
      `${lastError === null ? '' : ` (last error: ${lastError.message})`}. Nothing was cancelled.`,
    { reason: 'wait-timeout', microvmId: wait.microvmId ?? null, ...(lastError === null ? {} : { cause: lastError }) },
  );
}
