/**
 * An emulated AWS Lambda MicroVMs service on this machine: the control plane, the endpoint proxy, and VMs that really
 * run commands. Listens on 127.0.0.1 only.
 */
import type { Emulator } from './emulator.ts';
import type { EmulatorOptions } from './options.ts';

/**
 * Starts an emulator.
 *
 * @example
 * await using emulator = await startEmulator({ launchDelayMs: 300 });
 * const client = new LambdaMicrovmsClient({
 *   endpoint: emulator.endpoint,
 *   region: emulator.region,
 *   credentials: emulator.credentials,
 * });
 * await client.send(new RunMicrovmCommand({ imageIdentifier: emulator.imageArn }));
 *
 * @throws when the port is taken.
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  // Loaded only when it starts: importing this module costs next to nothing.
  const { start } = await import('./start.ts');
  return await start(options);
}

export { acceleratedClock } from './clocks.ts';
export type { ClockMode, MovableClock } from './clocks.ts';
export type { BuildFailures } from './build-failure-queue.ts';
export type { ChangeFeed, StateChange } from './change-feed.ts';
export type { EmulatedMicrovm, Emulator } from './emulator.ts';
export type { Fault, FaultKind, Faults, RandomFaults } from './faults.ts';
export { faultKinds } from './faults.ts';
export type { Guest, GuestFactory, GuestFaults, HookName } from './guest.ts';
export { createProcessGuests } from './guest/index.ts';
export type { ProcessGuests, ProcessGuestsOptions } from './guest/index.ts';
export type { DaemonGeneration, DaemonOptions, DaemonSettings } from './daemon/index.ts';
export type { BuildFailure } from './service/build-failures.ts';
export { defaultCredentials, defaultDelays, defaultFrontOptions, serviceQuotas } from './options.ts';
export type { EmulatorDelays, EmulatorLimits, EmulatorOptions, FrontOptions, UnverifiedOptions } from './options.ts';
export type { RecordedOperation, RecordedRequest, Recorder } from './recorder.ts';
