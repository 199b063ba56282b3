/** Small things that every isolation does with the children of the emulator. */
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { ChildExit } from '../../../machines/index.ts';
import { isAlive } from './proc-table.ts';
import type { ProcessRow } from './proc-table.ts';

/** How a child ended; both members `null` when it never started. Never rejects. */
export function exitOf(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, signal) =>
      resolve({ exitCode, signal: signal === null ? null : constants.signals[signal] }),
    );
    child.once('error', () => resolve({ exitCode: null, signal: null }));
  });
}

/**
 * Signals a process group by its leader's number on the host. `false`: no such group, or not ours.
 *
 * @param group - the same group as `table` numbers it. It is looked up first: once a group is gone, the host may give
 *   its number to somebody else's.
 */
export function signalGroup(
  leader: number,
  signal: NodeJS.Signals,
  group: number,
  table: readonly ProcessRow[],
): boolean {
  if (!table.some((row) => row.group === group)) return false;
  try {
    process.kill(-leader, signal);
    return true;
  } catch {
    return false;
  }
}

/** The living members of a group, ascending. */
export function groupMembers(group: number, table: readonly ProcessRow[]): number[] {
  return table
    .filter((row) => row.group === group && isAlive(row))
    .map((row) => row.pid)
    .sort((a, b) => a - b);
}
