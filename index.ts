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
export { Sandbox } from './effects/lifecycle/sandbox.ts';
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
export { Session } from './effects/session/session.ts';
export type {
  Command,
  ExecResult,
  Health,
  RunOptions,
  RunResult,
  SessionOptions,
  StartOptions,
} from './effects/index.ts';
export { ControlPlane } from './effects/control-plane/control-plane.ts';
export { VmchartError, errorCodes, isRetryable, allWireKinds as wireKinds } from './effects/errors.ts';
export { controlPlaneActors } from './effects/lifecycle/actors.ts';
export { adaptiveSchedules, referenceSchedules } from './effects/lifecycle/schedules.ts';
export { leaked } from './effects/lifecycle/teardown.ts';
export { ensureRunning, useSandbox, withSandbox } from './effects/lifecycle/scopes.ts';
export { isBilling, isLive, isReachable, isResumable, isTerminal } from './effects/lifecycle/predicates.ts';
export type { Clock, Credentials, Entropy, Http, Journal, Ports, Secrets } from './effects/index.ts';
export { vmStates } from './machines/records.ts';
export { sandboxEvents } from './machines/sandbox-events.ts';
export { restore } from './machines/sandbox-record.ts';
export { initialSnapshot, specVariables, substateOf } from './machines/sandbox-view.ts';
export { sandboxMachine } from './machines/sandbox.ts';
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
export { awsPorts } from './adapters/aws-ports.ts';
export { manualClock, systemClock } from './adapters/clock.ts';
export type { AwsPortsOptions, ManualClock } from './adapters/index.ts';
