/** The daemon inside the VM as statecharts: its one-shot bootstrap and its exec records. */
export { bootstrapMachine } from './daemon-bootstrap.ts';
export type { BootstrapAnswer, BootstrapContext, BootstrapEvent } from './daemon-bootstrap.ts';
export { execMachine, execPhase, nextExecDeadline } from './daemon-exec.ts';
export type { ExecSnapshot } from './daemon-exec.ts';
export type {
  AckRefusal,
  ChildExit,
  ExecContext,
  ExecEffect,
  ExecEvent,
  ExecOutcome,
  ExecPhase,
  ExecTerms,
} from './daemon-exec-types.ts';
