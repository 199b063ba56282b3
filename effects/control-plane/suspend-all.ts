/** Suspending a fleet without waking any of it (FC-032). */
import { toVmchartError } from '../errors.ts';
import type { CallOptions } from './caller.ts';
import { isGone } from './classify.ts';
import type { ControlPlane } from './control-plane.ts';

/** How many VMs were found how, and which could not be suspended. */
export interface SuspendAllReport {
  suspended: number;
  alreadySuspended: number;
  /** TERMINATING or TERMINATED. */
  terminal: number;
  /** Not known to the service any more. */
  gone: number;
  readonly failed: { readonly microvmId: string; readonly message: string }[];
}

/** Asks where each VM is and suspends those that run. A VM that sleeps is never resumed for it. */
export async function suspendAll(
  plane: ControlPlane,
  microvmIds: readonly string[],
  options: CallOptions = {},
): Promise<SuspendAllReport> {
  const report: SuspendAllReport = { suspended: 0, alreadySuspended: 0, terminal: 0, gone: 0, failed: [] };
  for (const microvmId of microvmIds) {
    try {
      const { state } = await plane.getMicrovm(microvmId, options);
      if (state === 'SUSPENDED' || state === 'SUSPENDING') report.alreadySuspended += 1;
      else if (state === 'TERMINATING' || state === 'TERMINATED') report.terminal += 1;
      else {
        await plane.suspendMicrovm(microvmId, options);
        report.suspended += 1;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (isGone(error)) report.gone += 1;
      else report.failed.push({ microvmId, message: toVmchartError(error).message });
    }
  }
  return report;
}
