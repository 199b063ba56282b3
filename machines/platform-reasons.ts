/** The service's sentences for `stateReason` (`platform-behaviour.md` 5.3). */
import type { RuntimeHook } from './platform-types.ts';

const hookNames: Readonly<Record<RuntimeHook, string>> = {
  run: 'Run',
  suspend: 'Suspend',
  resume: 'Resume',
  terminate: 'Terminate',
};

const advice = 'Please check your hook endpoint and application logs for more details.';

/** A clean end that the caller asked for. */
export const endedByCaller = 'Success.';

/** The end of the maximum duration, and as far as seen of the suspended window too. */
export const endedByLifetime = 'MicroVM exceeded maximum lifetime.';

/** The main process ended by itself. */
export function endedByExit(exitCode: number | null): string {
  return `Container Stopped with Exit Code: ${exitCode ?? 'unknown'}`;
}

/** A hook answered with something else than 200. The wording without any answer is *unverified*. */
export function endedByHook(hook: RuntimeHook, status: number | null): string {
  return status === null
    ? `${hookNames[hook]} lifecycle hook could not be reached. ${advice}`
    : `${hookNames[hook]} lifecycle hook returned HTTP status ${status}. ${advice}`;
}

/** A hook did not answer in time. The wording is *unverified*. */
export function endedByHookTimeout(hook: RuntimeHook): string {
  return `${hookNames[hook]} lifecycle hook timed out. ${advice}`;
}
