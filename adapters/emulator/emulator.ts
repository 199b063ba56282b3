/** What `startEmulator` returns. */
import type { Clock, Credentials } from '../../effects/index.ts';
import type { Cause, VmState } from '../../machines/index.ts';
import type { BuildFailures } from './build-failure-queue.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { Faults } from './faults.ts';
import type { Recorder } from './recorder.ts';

/** One VM, as a page or a test wants to see it. */
export interface EmulatedMicrovm {
  readonly microvmId: string;
  readonly state: VmState;
  readonly cause: Cause;
  readonly stateReason: string | null;
  readonly region: string;
  readonly imageArn: string;
  readonly imageVersion: string;
  readonly endpoint: string;
  /** Unix milliseconds on the emulator's clock. */
  readonly startedAtMs: number;
  /** When the platform will act by itself next, in Unix milliseconds; null when it will not. */
  readonly nextDeadlineAtMs: number | null;
}

/** A running emulator. Close it, or hold it with `await using`: its VMs are real processes. */
export interface Emulator extends AsyncDisposable {
  /** The control plane, `http://127.0.0.1:<port>`. */
  readonly endpoint: string;
  readonly region: string;
  /** The identity that is accepted. */
  readonly credentials: Credentials;
  /** The image that is always there, in the emulator's region. */
  readonly imageArn: string;
  /** One line that says how isolated a VM is on this machine. */
  readonly notice: string;
  readonly clock: Clock;
  readonly faults: Faults;
  /** Makes the next image builds fail. */
  readonly builds: BuildFailures;
  readonly recorder: Recorder;
  /** Every change of state of every VM. */
  readonly events: ChangeFeed;
  /** What the admin routes under `/_emulator/` want in the header `x-emulator-token`. */
  readonly adminToken: string;
  /** All VMs of all regions, in the order of launch. */
  vms(): readonly EmulatedMicrovm[];
  /**
   * Moves a clock that is moved by hand, from deadline to deadline, waiting in between for what the platform does
   * inside the VMs. Throws a `TypeError` on any other clock.
   */
  advance(ms: number): Promise<void>;
  /** The variables that point the AWS command line and SDKs here. */
  environment(): Record<string, string>;
  /** Ends every VM and every connection. Safe to call more than once. */
  close(): Promise<void>;
}
