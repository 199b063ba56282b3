/** The process table of the host, from `/proc` where there is one, else from `ps`. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readProcesses } from './proc-table.ts';
import type { ProcessRow } from './proc-table.ts';

const hasProc = existsSync('/proc/self/stat');

/** Every process of the host that we may see. */
export function listProcesses(): ProcessRow[] {
  if (hasProc) return readProcesses();
  const text = execFileSync('ps', ['-A', '-o', 'pid=,state=,ppid=,pgid='], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  });
  return text
    .split('\n')
    .map((row) => row.trim().split(/\s+/))
    .filter((fields) => fields.length === 4)
    .map(([pid, state = '', parent, group]) => ({
      pid: Number(pid),
      state: state.slice(0, 1),
      parent: Number(parent),
      group: Number(group),
    }));
}

/** The processes of these groups and all that descend from them, whatever group those moved to. */
export function processFamily(leaders: ReadonlySet<number>, table = listProcesses()): ProcessRow[] {
  const family = new Map(
    table.filter((row) => leaders.has(row.group) || leaders.has(row.pid)).map((row) => [row.pid, row]),
  );
  for (let before = -1; before !== family.size;) {
    before = family.size;
    for (const row of table) if (family.has(row.parent)) family.set(row.pid, row);
  }
  return [...family.values()];
}
