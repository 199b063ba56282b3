/** How builds fail, and what is left to read of it (`platform-behaviour.md` 4.3). */
import type { HooksConfig, SnapshotBuild } from './image.ts';

/** What can go wrong in a build; `wedged` never ends: the image hangs in CREATING, its builds in PENDING. */
export const buildFailures = [
  'container',
  'ready-timeout',
  'ready-4xx',
  'ready-5xx',
  'validate-timeout',
  'wedged',
] as const;

/** One way in which a build fails. */
export type BuildFailure = (typeof buildFailures)[number];

/** A build that is to fail. */
export interface PlannedFailure {
  readonly failure: BuildFailure;
  /** Only the build for this generation fails; the other one succeeds, yet the version fails. */
  readonly chipsetGeneration: string | null;
}

/** Seconds as an ISO-8601 duration, such as `PT5M`. */
export function isoDuration(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  const text = `${hours > 0 ? `${hours}H` : ''}${minutes > 0 ? `${minutes}M` : ''}${rest > 0 ? `${rest}S` : ''}`;
  return `PT${text === '' ? '0S' : text}`;
}

function timeoutSec(hooks: HooksConfig | null, hook: 'ready' | 'validate'): number {
  const seconds = hooks?.microvmImageHooks?.[`${hook}TimeoutInSeconds`];
  if (typeof seconds === 'number') return seconds;
  // The sources disagree about these two defaults (`platform-behaviour.md` 8.3).
  return hook === 'ready' ? 60 : 30;
}

/** The sentence that the build list shows. */
export function failureReason(failure: Exclude<BuildFailure, 'wedged'>, hooks: HooksConfig | null): string {
  switch (failure) {
    case 'container':
      return 'The container image build failed.';
    case 'ready-timeout':
      return `Ready hook invocation timed out after ${isoDuration(timeoutSec(hooks, 'ready'))}`;
    case 'ready-4xx':
      return 'Ready hook check failed: the application returned a client error (HTTP 4xx) response';
    case 'ready-5xx':
      return 'Ready hook check failed: the application returned a server error (HTTP 5xx) response';
    case 'validate-timeout':
      return `Validate hook invocation timed out after ${isoDuration(timeoutSec(hooks, 'validate'))}`;
  }
}

/** What a build got as far as measuring: all of it, the code alone when a hook failed, nothing without a container. */
export function snapshotOf(failure: BuildFailure | null, memoryMiB: number): SnapshotBuild | null {
  if (failure === 'container' || failure === 'wedged') return null;
  const code = { codeInstallSizeInBytes: 48_234_496 };
  if (failure !== null) return code;
  return {
    // About what was measured at 512 to 8192 MiB: 446 to 1145 MB.
    memorySnapshotSizeInBytes: 400_000_000 + memoryMiB * 91_000,
    ...code,
    diskSnapshotSizeInBytes: 210_763_776,
  };
}
