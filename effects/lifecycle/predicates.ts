/** What a state means to somebody who pays for it or wants to reach it (FC-025). States are never collapsed. */
import type { VmState } from '../../machines/index.ts';

/** Whether the VM can be reached through its endpoint: `on-demand` when traffic wakes it. */
export type Reachability = boolean | 'on-demand';

/** Whether compute is billed. A suspended VM pays for storage only. */
export function isBilling(state: VmState): boolean {
  return state === 'PENDING' || state === 'RUNNING' || state === 'SUSPENDING';
}

/** Whether a request can get through. */
export function isReachable(state: VmState, autoResume: boolean): Reachability {
  if (state === 'RUNNING') return true;
  return state === 'SUSPENDED' && autoResume ? 'on-demand' : false;
}

/** Whether a resume can bring it back. */
export function isResumable(state: VmState): boolean {
  return state === 'SUSPENDED';
}

/** Whether it has ended for good. */
export function isTerminal(state: VmState): boolean {
  return state === 'TERMINATED';
}

/** Whether it still exists as something to lose: the first four of the six states. */
export function isLive(state: VmState): boolean {
  return state !== 'TERMINATING' && state !== 'TERMINATED';
}
