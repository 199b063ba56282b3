/** Ports, typed operations, errors and the facades. */
export {
  VmchartError,
  allWireKinds,
  codeOf,
  errorCodes,
  fromRecord,
  isRetryable,
  kindOf,
  toVmchartError,
} from './errors.ts';
export type { ErrorDetails } from './errors.ts';
export type {
  Clock,
  Credentials,
  CredentialsProvider,
  Entropy,
  Http,
  HttpBody,
  HttpRequest,
  HttpResponse,
  HttpStream,
  Journal,
  Ports,
  Secrets,
  Signer,
} from './ports.ts';
export { Session, defaultAgentPort, defaultRequestTimeoutMs } from './session/session.ts';
export type { SessionEgressPosture, SessionOptions } from './session/session.ts';
export { SessionBuilder } from './session/session-builder.ts';
export type { SessionPorts } from './session/session-builder.ts';
export type { TokenMinter } from './session/token-minter.ts';
export { ProxyAuth, proxyAuthHeader, proxyPortHeader, proxySubprotocol } from './session/proxy-auth.ts';
export type { ProxyAuthOptions } from './session/proxy-auth.ts';
export type { Bearer } from './session/transport.ts';
export { defaultReadyTimeoutMs } from './session/health.ts';
export type { HandlerOutcome, Health, HookObservation, IdentityStep, ReadyOptions } from './session/health.ts';
export type {
  ArchiveOptions,
  DownloadOptions,
  LineRange,
  Progress,
  TransferOptions,
  UploadBody,
  UploadOptions,
} from './session/files.ts';
export type { SyncDirOptions, SyncReport } from './session/sync-dir.ts';
export type { UploadOwnership } from './session/upload-owner.ts';
export type { DownloadDirOptions, UploadDirOptions } from './session/directories.ts';
export type {
  DirectoryReport,
  LocalDirectory,
  LocalFile,
  LocalFiles,
  MemberChoice,
  PackOptions,
  SkippedMember,
  UnpackOptions,
} from './session/local-files.ts';
export type { DeadlinePolicy } from './session/countdown.ts';
export { bounded } from './session/deadline.ts';
export type { Bounds } from './session/deadline.ts';
export { guestHeaders, guestOrigin, openGuest } from './session/guest-http.ts';
export type { GuestRequest } from './session/guest-http.ts';
export { KeepAwake, keepAwakePolicy } from './session/keep-awake.ts';
export type { KeepAwakeOptions, KeepAwakeReport } from './session/keep-awake.ts';
export type { ProcGroup } from './session/procs.ts';
export type { ExecEvent, ExitEvent, GapEvent, OutputEvent, OutputSide } from './session/exec-events.ts';
export { decodeExecEvent } from './session/exec-events.ts';
export { EventStreamParser, defaultFrameLimitBytes } from './session/event-stream.ts';
export type { EventFrame } from './session/event-stream.ts';
export { OutputStream, defaultIdleTimeoutMs } from './session/output-stream.ts';
export type { OutputFlow, StreamEnd, StreamOptions } from './session/output-stream.ts';
export { OutputText } from './session/output-text.ts';
export { SplitOutput } from './session/split-output.ts';
export type { GapPolicy, LoggedGap, SplitOptions } from './session/split-output.ts';
export type { CommandInput } from './session/exec-input.ts';
export type { Command, StartOptions } from './session/exec-command.ts';
export { execIdAt } from './session/exec-id.ts';
export { ExecHandle, ExecWaitTimeout, defaultExecWaitMs } from './session/exec-handle.ts';
export type { CallOptions, KillAnswer, StdinReceipt, WaitOptions } from './session/exec-handle.ts';
export type { ExecPhase, ExecResult } from './session/exec-result.ts';
export { posixExitCode, timedOutExitCode } from './session/run-result.ts';
export type { ClientDeadline, RunResult } from './session/run-result.ts';
export { completionPlan, defaultGraceMs, noDeadlineWaitMs } from './session/run-to-completion.ts';
export type { CompletionPlan, RunOptions } from './session/run-to-completion.ts';
export { ControlPlane } from './control-plane/control-plane.ts';
export type { ControlPlaneOptions, ListMicrovmsOptions, TerminateOutcome } from './control-plane/control-plane.ts';
export type { CallOptions as ControlPlaneCallOptions } from './control-plane/caller.ts';
export { controlPlaneChannel } from './control-plane/diagnostics.ts';
export type { ControlPlaneSend } from './control-plane/diagnostics.ts';
export { isGone } from './control-plane/classify.ts';
export { isDefinite } from './control-plane/definite.ts';
export { standardRetry } from './control-plane/retry.ts';
export type { RetryPolicy } from './control-plane/retry.ts';
export {
  checkRegion,
  controlPlaneUrl,
  isListedRegion,
  listedRegions,
  partitionOf,
  regionFromEnvironment,
} from './control-plane/regions.ts';
export {
  adaptiveExecSchedule,
  adaptiveImageSchedule,
  adaptiveSchedule,
  doublingSchedule,
  fixedSchedule,
  referenceDaemonSchedule,
  referenceExecSchedule,
  referenceImageSchedule,
  referenceSchedule,
} from './schedule.ts';
export type { Schedule } from './schedule.ts';
export { waitForState } from './control-plane/wait.ts';
export type { StateWait } from './control-plane/wait.ts';
export {
  defaultEgressPosture,
  egressPostureFor,
  isSealed,
  managedConnectorArn,
  parseEgressPosture,
} from './control-plane/connectors.ts';
export type { EgressPosture, ManagedConnector } from './control-plane/connectors.ts';
export { assembleLaunch, effectiveLaunchEnv, launchDefaults } from './control-plane/launch-request.ts';
export type { AssembledLaunch, LaunchLogging, LaunchParts, LaunchRequest } from './control-plane/launch-request.ts';
export { checkClientToken, checkLaunch } from './control-plane/launch-guards.ts';
export { runHookPayload, runHookPayloadCeiling } from './control-plane/payload.ts';
export type { PayloadIdentity, PayloadSecrets } from './control-plane/payload.ts';
export { mintClientToken } from './control-plane/client-token.ts';
export { assembleImage, defaultBaseImage, managedImageArn } from './control-plane/image-request.ts';
export type { ImageRequest } from './control-plane/image-request.ts';
export { defaultLogGroup } from './control-plane/images.ts';
export type { DeleteImageOptions } from './control-plane/images.ts';
export type { WaitForImageOptions } from './control-plane/wait-for-image.ts';
export { sweep } from './control-plane/reconcile.ts';
export type { LedgerVerdict, Reconciliation, SweepReport } from './control-plane/reconcile.ts';
export type { TerminateAllOptions, TerminateAllReport } from './control-plane/terminate-all.ts';
export { sizeClassFor, sizeClasses } from './control-plane/size-classes.ts';
export type { SizeClass } from './control-plane/size-classes.ts';
export type {
  CreateMicrovmImageRequest,
  MicrovmImage,
  MicrovmImageBuild,
  MicrovmImageVersion,
  MicrovmSummary,
  PortSpecification,
  RunMicrovmRequest,
  WireHooks,
  WireIdlePolicy,
  WireLogging,
} from './control-plane/wire.ts';
export { Sandbox } from './lifecycle/sandbox.ts';
export type { AdoptRequest } from './lifecycle/adoption.ts';
export type { RunOptions as SandboxRunOptions, SandboxOptions } from './lifecycle/sandbox.ts';
export type { WaitOptions as LifecycleWaitOptions } from './lifecycle/sandbox-observer.ts';
export type { RunRequest } from './lifecycle/launch-preparation.ts';
export { leaked } from './lifecycle/teardown.ts';
export type { TeardownReport, TerminateOptions } from './lifecycle/teardown.ts';
export { adaptiveSchedules, referenceSchedules } from './lifecycle/schedules.ts';
export type { Schedules } from './lifecycle/schedules.ts';
export { controlPlaneActors, journaled } from './lifecycle/actors.ts';
export type { ControlPlaneActorsOptions, SandboxActors } from './lifecycle/actors.ts';
export { sandboxEffects } from './lifecycle/effects.ts';
export type { Effect } from './lifecycle/effects.ts';
export type { LifecycleChange } from './lifecycle/changes.ts';
export type { TunnelIdentity } from './lifecycle/identity.ts';
export { mintAgentToken } from './lifecycle/sealed-secrets.ts';
export { isBilling, isLive, isReachable, isResumable, isTerminal } from './lifecycle/predicates.ts';
export type { Reachability } from './lifecycle/predicates.ts';
export { Detached } from './lifecycle/detached.ts';
export { ensureRunning, useSandbox, withSandbox } from './lifecycle/scopes.ts';
export type { ScopeOptions } from './lifecycle/scopes.ts';
export { suspendAll } from './control-plane/suspend-all.ts';
export type { SuspendAllReport } from './control-plane/suspend-all.ts';
