/** The exit codes. The table is append-only; `docs/cli.md` prints it. */
import { codeOf } from '../../effects/errors.ts';
import type { ErrorKind } from '../../machines/records.ts';
import { errorKinds } from '../../machines/records.ts';

/** The classes that only the command line has. */
export type CommandLineKind = 'NameTaken' | 'Config' | 'Sync' | 'Violated';

/** Every class of failure that a command can end with. */
export type CliErrorKind = ErrorKind | CommandLineKind;

/** One row of the table. */
export interface ExitRow {
  readonly exitCode: number;
  readonly code: string;
  readonly kind: CliErrorKind;
  /** What it means and what to do, in a sentence. */
  readonly meaning: string;
}

const meanings: Readonly<Record<ErrorKind, string>> = {
  Unexpected: 'A fault of vmchart itself, or no randomness to be had from the system.',
  InvalidArg: 'An argument was refused before any call was made, or a command has no place in the present state.',
  Retryable: 'Something passing, such as a throttle or a broken connection: the same command may succeed later.',
  Credentials: 'The credentials or the token are wrong or missing; waiting does not help.',
  Protocol: 'The daemon in the VM rejected the request on its merits, such as a file that is not there.',
  BuildWedged: 'An image build was accepted and never scheduled.',
  LaunchDied: 'The VM ended before it was running; the reason that the service gave is in the message.',
  WindowClosed: 'The suspended window that the launch asked for has passed: the VM cannot be resumed.',
  Platform: 'The service refused or failed in a way that has no finer class, or output was lost, or a disk is full.',
  Timeout: 'A deadline of this side passed; the VM and its commands go on.',
  Interrupted: 'Stopped by a signal. What was launched was ended, and what could not be deleted is named.',
  Precondition: 'Something that has to be there first is missing, such as a VM of that name or an image.',
  ExecFailed: 'All went well, and the command in the VM ended with another status than 0.',
};

const commandLineRows: readonly ExitRow[] = [
  {
    exitCode: 14,
    code: 'ERR_NAME_TAKEN',
    kind: 'NameTaken',
    meaning: 'A VM of that name is already registered, or its record is unreadable and the name stays reserved.',
  },
  {
    exitCode: 15,
    code: 'ERR_CONFIG',
    kind: 'Config',
    meaning: 'A local file or folder of vmchart cannot be used: not writable, damaged, or open to others.',
  },
  {
    exitCode: 16,
    code: 'ERR_SYNC',
    kind: 'Sync',
    meaning: 'What is on disk and what was generated differ, such as a picture in the documents.',
  },
  {
    exitCode: 17,
    code: 'ERR_VIOLATED',
    kind: 'Violated',
    meaning:
      'A machine does not keep what it promises: a property is violated or untested, or a seeded fault went unnoticed.',
  },
];

/** The whole table; success is 0 and has no code. */
export const exitTable: readonly ExitRow[] = [
  ...errorKinds.map((kind, index) => ({ exitCode: index + 1, code: codeOf(kind), kind, meaning: meanings[kind] })),
  ...commandLineRows,
];

/** The row of a class. */
export function exitRowOf(kind: CliErrorKind): ExitRow {
  const row = exitTable.find((candidate) => candidate.kind === kind);
  if (row === undefined) throw new TypeError(`no exit code for ${kind}`);
  return row;
}
