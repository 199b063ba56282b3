/** The end of a sandbox: VM, then image, then the log group is named. Nothing here throws (`client-behaviour.md` 2.10). */
import type { VmState } from '../../machines/index.ts';
import { checkedDurationMs } from '../durations.ts';
import { toVmchartError } from '../errors.ts';
import { unknownOptions } from '../known-options.ts';

/** What a teardown should take along. */
export interface TerminateOptions {
  /** How long to wait for TERMINATED, in milliseconds; `true` is 300 s. By default acceptance is enough. */
  readonly waitForTerminated?: boolean | number;
  /** Delete the image that this sandbox built. Default `false`. */
  readonly deleteImage?: boolean;
  /** Name the log group that the service made; this library cannot delete log groups. Default `false`. */
  readonly deleteLogGroup?: boolean;
  /** Attempts to delete the image. Default 20. */
  readonly deleteAttempts?: number;
  /** Time between two attempts, in milliseconds. Default 15 s. */
  readonly deleteBackoffMs?: number;
  /** Ends the wait, never the intent. */
  readonly signal?: AbortSignal;
}

/** What a teardown did and could not do. */
export interface TeardownReport {
  terminateAccepted: boolean;
  /** Absent unless asked for. */
  imageDeleted?: boolean;
  lifecycle: VmState;
  /** Identifiers that still exist although they should be gone. */
  readonly undeleted: string[];
  /** What went wrong, in order. */
  readonly failures: string[];
}

/** Whether a teardown left something behind. */
export function leaked(report: TeardownReport): boolean {
  return report.undeleted.length > 0;
}

const terminateOptions: Readonly<Record<keyof TerminateOptions, true>> = {
  deleteAttempts: true,
  deleteBackoffMs: true,
  deleteImage: true,
  deleteLogGroup: true,
  signal: true,
  waitForTerminated: true,
};

/** Misspelt options of a teardown, which is carried out all the same: a VM that is left running is worse. */
export function unknownTerminateOptions(options: TerminateOptions): string[] {
  return unknownOptions(options, Object.keys(terminateOptions));
}

/** How long to wait for the end, or `null`. A number that makes no sense must not keep a VM alive: then nobody waits. */
export function endWaitMs({ waitForTerminated = false }: TerminateOptions, report: TeardownReport): number | null {
  if (typeof waitForTerminated === 'boolean') return waitForTerminated ? 300_000 : null;
  try {
    return checkedDurationMs('waitForTerminated', waitForTerminated);
  } catch (error) {
    report.failures.push(toVmchartError(error).message);
    return null;
  }
}
