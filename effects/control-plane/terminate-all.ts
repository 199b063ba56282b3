/** Ending many VMs without tripping over the service's rate limit (FC-046). */
import { checkedCount, checkedDurationMs, checkedPositive } from '../durations.ts';
import type { VmchartError } from '../errors.ts';
import { toVmchartError } from '../errors.ts';
import type { ControlPlane } from './control-plane.ts';
import { backoffMs, standardRetry } from './retry.ts';

/** Settings of {@link terminateAll}. */
export interface TerminateAllOptions {
  /** The most sends in a second. 8 by default; the service was seen to take 10. */
  readonly perSecond?: number;
  /** Sends for one VM that may fail without being throttled. 6 by default. */
  readonly attempts?: number;
  /** When to give up on throttled sends, in milliseconds. Ten minutes by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What became of each VM. */
export interface TerminateAllReport {
  readonly accepted: readonly string[];
  readonly alreadyGone: readonly string[];
  /** VMs that may still be alive, and bill. */
  readonly unconfirmed: readonly { readonly microvmId: string; readonly error: VmchartError }[];
}

interface Job {
  readonly microvmId: string;
  failures: number;
  throttles: number;
  /** Not before this reading of the clock. */
  notBeforeMs: number;
}

const mostInFlight = 32;

/**
 * Terminates every VM of a list. Sends are spaced evenly, throttled ones come again until they are through, and
 * what is left unconfirmed is named. Never throws but for an abort, and for a number that makes no
 * sense, before anything is sent.
 */
export async function terminateAll(
  plane: ControlPlane,
  microvmIds: Iterable<string>,
  options: TerminateAllOptions = {},
): Promise<TerminateAllReport> {
  const { signal } = options;
  const perSecond = checkedPositive('perSecond', options.perSecond ?? 8);
  const attempts = checkedCount('attempts', options.attempts ?? 6);
  const timeoutMs = checkedDurationMs('timeoutMs', options.timeoutMs ?? 600_000);
  const { clock, entropy } = plane.ports;
  const spacingMs = 1_000 / perSecond;
  const deadlineMs = clock.now() + timeoutMs;
  const waiting: Job[] = [...new Set(microvmIds)].map((microvmId) => ({
    microvmId,
    failures: 0,
    throttles: 0,
    notBeforeMs: 0,
  }));
  const accepted: string[] = [];
  const alreadyGone: string[] = [];
  const unconfirmed: { microvmId: string; error: VmchartError }[] = [];
  const inFlight = new Set<Promise<void>>();

  /** Sends once; a job that may come again goes back into the queue. */
  const send = async (job: Job): Promise<void> => {
    try {
      const outcome = await plane.terminateMicrovm(job.microvmId, {
        signal,
        maxRetries: 0,
        resendAfterConflict: false,
      });
      (outcome === 'already-gone' ? alreadyGone : accepted).push(job.microvmId);
    } catch (thrown) {
      const error = toVmchartError(thrown);
      const throttled = error.reason === 'throttled';
      if (throttled) job.throttles += 1;
      else job.failures += 1;
      const mayPass = error.retryable || error.reason === 'conflict';
      const again = mayPass && job.failures < attempts && clock.now() < deadlineMs && signal?.aborted !== true;
      if (!again) {
        unconfirmed.push({ microvmId: job.microvmId, error });
        return;
      }
      const delayMs = Math.max(
        error.retryAfterMs ?? 0,
        backoffMs(job.failures + job.throttles, standardRetry, entropy),
      );
      job.notBeforeMs = clock.now() + Math.min(delayMs, standardRetry.maxMs);
      waiting.push(job);
    }
  };

  let nextSlotMs = clock.now();
  while (waiting.length > 0 || inFlight.size > 0) {
    const job = earliest(waiting);
    if (job === undefined || inFlight.size >= mostInFlight) {
      await Promise.race(inFlight);
      continue;
    }
    const atMs = Math.max(nextSlotMs, job.notBeforeMs);
    if (atMs > clock.now()) await clock.sleep(atMs - clock.now(), signal);
    nextSlotMs = Math.max(atMs, clock.now()) + spacingMs;
    waiting.splice(waiting.indexOf(job), 1);
    const sending = send(job).finally(() => inFlight.delete(sending));
    inFlight.add(sending);
  }
  return { accepted, alreadyGone, unconfirmed };
}

function earliest(jobs: readonly Job[]): Job | undefined {
  return jobs.reduce<Job | undefined>(
    (first, job) => (first === undefined || job.notBeforeMs < first.notBeforeMs ? job : first),
    undefined,
  );
}
