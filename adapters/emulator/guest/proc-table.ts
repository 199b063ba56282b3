/** Reading process tables in `/proc`, the host's or a VM's. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** One row of a process table. */
export interface ProcessRow {
  readonly pid: number;
  /** The kernel's letter: `R`, `S`, `D`, `T`, `t`, `Z`, `X`, `I`. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
}

/** The row of one process, or `null` when it is gone. */
export function readProcess(pid: number, proc = '/proc'): ProcessRow | null {
  let text: string;
  try {
    text = readFileSync(join(proc, String(pid), 'stat'), 'latin1');
  } catch {
    return null;
  }
  // The program's name may hold anything, spaces and brackets too: the fields start after the last bracket.
  const [state = '', parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { pid, state, parent: Number(parent), group: Number(group) };
}

/** Every process of a table. Empty when the table is gone or not for us to read. */
export function readProcesses(proc = '/proc'): ProcessRow[] {
  let names: string[];
  try {
    names = readdirSync(proc);
  } catch {
    return [];
  }
  return names
    .filter((name) => /^[1-9][0-9]*$/.test(name))
    .map((name) => readProcess(Number(name), proc))
    .filter((row) => row !== null);
}

/** Whether a process still does something: a zombie does not. */
export function isAlive(row: ProcessRow | null): boolean {
  return row !== null && row.state !== 'Z' && row.state !== 'X';
}

/** Whether a process is stopped. */
export function isStopped(row: ProcessRow | null): boolean {
  return row !== null && (row.state === 'T' || row.state === 't');
}

/**
 * Whether a process that was sent SIGSTOP runs no more. One in an uninterruptible sleep counts: a parent that waits
 * for its stopped `vfork` child stays in it, and any other stops before it returns to its program.
 */
export function isFrozen(row: ProcessRow | null): boolean {
  return isStopped(row) || row?.state === 'D';
}

/** The one child of a process that has one, or `null`. */
export function onlyChild(pid: number): number | null {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ');
    return child === undefined || child === '' ? null : Number(child);
  } catch {
    // A kernel without that file: look through all.
    return readProcesses().find((row) => row.parent === pid)?.pid ?? null;
  }
}
