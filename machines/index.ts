/** The pure statecharts and the plain data they carry. */
export { vmStates, parseVmState, commandTypes, errorKinds, wireKinds } from './records.ts';
export type {
  VmState,
  CommandType,
  RequirementId,
  Verdict,
  ErrorKind,
  WireKind,
  ErrorRecord,
  Cause,
  IdlePolicy,
  MicrovmDescription,
} from './records.ts';
export type { JournalRecord } from './sandbox-record.ts';
export { platformMachine, reportedState } from './platform.ts';
export type { PlatformSnapshot } from './platform.ts';
export { launchPlatform, platformStep } from './platform-step.ts';
export type { PlatformStep } from './platform-step.ts';
export { nextDeadline } from './platform-deadlines.ts';
export { defaultPlatformOptions } from './platform-types.ts';
export type {
  CallAnswer,
  PlatformContext,
  PlatformDeadlines,
  PlatformDelays,
  PlatformEffect,
  PlatformEvent,
  PlatformInput,
  PlatformOptions,
  PlatformTerms,
  RuntimeHook,
} from './platform-types.ts';
export { sandboxMachine } from './sandbox.ts';
export type { EffectInput } from './sandbox-setup.ts';
export { contextFrom, defaultPolicy } from './sandbox-context.ts';
export type {
  Call,
  LaunchIntent,
  QuietSubstate,
  SandboxContext,
  SandboxInput,
  SandboxPolicy,
  Waiting,
} from './sandbox-context.ts';
export { UntimedEventError, defaultWaitMs, reportType, sandboxEvents } from './sandbox-events.ts';
export type {
  Answered,
  CallKind,
  Outcome,
  ProxyTokenDropped,
  Report,
  ResumeCommand,
  RunCommand,
  SealedLaunch,
  SandboxCommand,
  SandboxEmitted,
  SandboxEvent,
  SandboxEvents,
  Settled,
  StaleOutcome,
  Stamps,
  SuspendCommand,
  TerminateCommand,
} from './sandbox-events.ts';
export { adopt, recordAfter, recordOf, restore } from './sandbox-record.ts';
export type { Adoption, ClockReading, KnownContext } from './sandbox-record.ts';
export { answerTo, initialSnapshot, specVariables, substateOf } from './sandbox-view.ts';
export type { SandboxSnapshot, SpecVariables } from './sandbox-view.ts';
export {
  defaultRefreshAfterMs,
  maxTokenLifetimeMs,
  proxyTokenMachine,
  tokenCovers,
  tokenStillOpens,
} from './proxy-token.ts';
export type {
  MintInput,
  MintOutcome,
  ProxyTokenContext,
  ProxyTokenEmitted,
  ProxyTokenEvent,
  TokenRequest,
} from './proxy-token.ts';
export { bootstrapMachine, execMachine, execPhase, nextExecDeadline } from './daemon.ts';
export type {
  AckRefusal,
  BootstrapAnswer,
  BootstrapContext,
  BootstrapEvent,
  ChildExit,
  ExecContext,
  ExecEffect,
  ExecEvent,
  ExecOutcome,
  ExecPhase,
  ExecSnapshot,
  ExecTerms,
} from './daemon.ts';
export { backoffMs, outputStreamMachine } from './output-stream.ts';
export type { OutputStreamContext, OutputStreamEvent, StreamPolicy } from './output-stream.ts';
export { failedPollRetryMs, keepAwakeMachine } from './keep-awake.ts';
export type { KeepAwakeContext, KeepAwakeEnd, KeepAwakeEvent, KeepAwakePolicy, PollOutcome } from './keep-awake.ts';
export { imageBuildMachine } from './image-build.ts';
export type { ImageBuildContext, ImageBuildEvent, ImageBuildInput } from './image-build.ts';
