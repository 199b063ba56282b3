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
export type { ProcGroup } from './session/procs.ts';
export type { Command, StartOptions } from './session/exec-command.ts';
export { execIdAt } from './session/exec-id.ts';
export { ExecHandle, ExecWaitTimeout, defaultExecWaitMs } from './session/exec-handle.ts';
export type { CallOptions, KillAnswer, StdinReceipt, WaitOptions } from './session/exec-handle.ts';
export type { ExecPhase, ExecResult } from './session/exec-result.ts';
export { posixExitCode, timedOutExitCode } from './session/run-result.ts';
export type { ClientDeadline, RunResult } from './session/run-result.ts';
export { completionPlan, defaultGraceMs, noDeadlineWaitMs } from './session/run-to-completion.ts';
export type { CompletionPlan, RunOptions } from './session/run-to-completion.ts';
export {
  adaptiveExecPolling,
  adaptiveReadyPolling,
  doublingPolling,
  fixedPolling,
  referenceExecPolling,
  referenceReadyPolling,
} from './session/poll-schedule.ts';
export type { PollSchedule } from './session/poll-schedule.ts';
