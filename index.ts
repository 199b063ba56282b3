/**
 * vmchart: the life of an AWS Lambda MicroVM as an explicit statechart.
 *
 * @example
 * import { Sandbox, awsPorts } from 'vmchart';
 *
 * await using sandbox = new Sandbox(awsPorts({ region: 'us-east-1' }));
 * const session = await sandbox.run({ imageIdentifier: 'agentd' });
 * const { stdout } = await session.run('uname -a');
 */
export { Sandbox } from './effects/index.ts';
export type {
  AdoptRequest,
  LifecycleChange,
  LifecycleWaitOptions,
  RunRequest,
  SandboxOptions,
  SandboxRunOptions,
  Schedules,
  TeardownReport,
  TerminateOptions,
} from './effects/index.ts';
export { Session } from './effects/index.ts';
export type {
  Command,
  ExecResult,
  Health,
  RunOptions,
  RunResult,
  SessionOptions,
  StartOptions,
} from './effects/index.ts';
export { ControlPlane } from './effects/index.ts';
export { VmchartError, errorCodes, isRetryable, allWireKinds as wireKinds } from './effects/index.ts';
export { adaptiveSchedules, controlPlaneActors, leaked, referenceSchedules } from './effects/index.ts';
export { ensureRunning, useSandbox, withSandbox } from './effects/index.ts';
export { isBilling, isLive, isReachable, isResumable, isTerminal } from './effects/index.ts';
export type { Clock, Credentials, Entropy, Http, Journal, Ports, Secrets } from './effects/index.ts';
export {
  initialSnapshot,
  restore,
  sandboxEvents,
  sandboxMachine,
  specVariables,
  substateOf,
  vmStates,
} from './machines/index.ts';
export type {
  Cause,
  ErrorKind,
  ErrorRecord,
  JournalRecord,
  RequirementId,
  SandboxEvent,
  SandboxInput,
  SandboxPolicy,
  SpecVariables,
  VmState,
  WireKind,
} from './machines/index.ts';
export { awsPorts, manualClock, systemClock } from './adapters/index.ts';
export type { AwsPortsOptions, ManualClock } from './adapters/index.ts';
