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
