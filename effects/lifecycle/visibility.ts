/** The service is eventually consistent: right after a launch it may not see the VM that it launched. */
import type { SandboxContext } from '../../machines/index.ts';
import { isGone } from '../control-plane/classify.ts';
import type { Schedule } from '../schedule.ts';
import type { Clock } from '../ports.ts';

/** For so long after a launch a 404 is no end of the VM, as long as it was not seen RUNNING. */
export const invisibleAtFirstMs = 30_000;

/** What {@link untilVisible} works with. */
export interface VisibilityWait<T> {
  /** What is known of the VM when the first send goes out. */
  readonly context: Pick<SandboxContext, 'delivering' | 'acceptedAt'>;
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly signal?: AbortSignal | undefined;
  /** An answer that says the same as a 404. */
  readonly isMissing?: (result: T) => boolean;
}

/**
 * Sends again while the service may not see a VM yet that it has just launched. A 404 taken for the end of such a VM
 * would leave it running with nobody to end it.
 *
 * @returns the first answer that is no 404, or the last one
 * @throws whatever `send` throws; a 404 only once the VM must be visible
 */
export async function untilVisible<T>(send: () => Promise<T>, wait: VisibilityWait<T>): Promise<T> {
  const { context, clock, schedule, signal, isMissing = () => false } = wait;
  const startedAt = clock.now();
  // A restored life does not know when its launch was accepted; it may have been a moment ago.
  const until = context.delivering ? (context.acceptedAt ?? startedAt) + invisibleAtFirstMs : startedAt;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const result = await send();
      if (!isMissing(result) || clock.now() >= until) return result;
    } catch (error) {
      if (!isGone(error) || clock.now() >= until) throw error;
    }
    const now = clock.now();
    await clock.sleep(Math.min(schedule(attempt, now - startedAt), until - now), signal);
  }
}
