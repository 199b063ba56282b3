/** Users, groups and shells of a VM, read from its own files for each request (`agentd-protocol.md` 7.4 and 7.5). */
import { join } from 'node:path';
import { isExecutable } from '../guest/launch-check.ts';
import type { VmFiles } from '../guest/vm-files.ts';
import { problem } from './replies.ts';

/** A row of the passwd file. */
interface UserRow {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** Whom a child runs as, and the environment that comes with it. */
export interface Identity {
  readonly uid: number | null;
  readonly gid: number | null;
  readonly env: Readonly<Record<string, string>>;
}

const isId = (text: string | undefined): text is string => text !== undefined && /^[0-9]{1,10}$/.test(text);
const maxId = 0xffff_ffff;

/** The rows of an account file: comments, NIS markers and malformed rows are skipped. */
function rows(files: VmFiles, path: string, fields: number): string[][] {
  const text = files.readSmall(path)?.toString('utf8') ?? '';
  return text
    .split('\n')
    .map((row) => row.split(':'))
    .filter((row) => row.length === fields && !/^([#+-]|$)/.test(row[0] ?? ''));
}

function users(files: VmFiles): UserRow[] {
  return rows(files, '/etc/passwd', 7)
    .filter(([, , uid, gid]) => isId(uid) && isId(gid))
    .map(([name = '', , uid, gid, , home = '']) => ({ name, uid: Number(uid), gid: Number(gid), home }));
}

const identityEnv = (row: UserRow | undefined): Record<string, string> =>
  row === undefined ? {} : { HOME: row.home, USER: row.name, LOGNAME: row.name };

/** The user, by name first, then by number. Throws `unknown_user`. */
function resolveUser(files: VmFiles, user: string | number): Identity {
  const table = users(files);
  const named = typeof user === 'string' ? table.find((row) => row.name === user) : undefined;
  if (named !== undefined) return { uid: named.uid, gid: named.gid, env: identityEnv(named) };
  if (typeof user === 'string' && (!isId(user) || Number(user) > maxId)) {
    throw problem(400, 'unknown_user', `no user ${JSON.stringify(user)}`);
  }
  const uid = Number(user);
  return { uid, gid: null, env: identityEnv(table.find((row) => row.uid === uid)) };
}

/** The group, by name first, then by number. Throws `unknown_group`. */
function resolveGroup(files: VmFiles, group: string | number): number {
  if (typeof group === 'number') return group;
  const named = rows(files, '/etc/group', 4).find(([name, , gid]) => name === group && isId(gid));
  if (named !== undefined) return Number(named[2]);
  if (isId(group) && Number(group) <= maxId) return Number(group);
  throw problem(400, 'unknown_group', `no group ${JSON.stringify(group)}`);
}

/** Whom a request asks for: the user's primary group counts only when the user was given by name. */
export function resolveIdentity(files: VmFiles, user: string | number | null, group: string | number | null): Identity {
  const identity = user === null ? { uid: null, gid: null, env: {} } : resolveUser(files, user);
  return group === null ? identity : { ...identity, gid: resolveGroup(files, group) };
}

/** The first executable of that name in absolute directories of a search path, or `null`. */
export function findOnPath(files: VmFiles, name: string, searchPath: string): string | null {
  for (const place of searchPath.split(':')) {
    if (!place.startsWith('/')) continue;
    const path = join(place, name);
    if (isExecutable(files, path) === true) return path;
  }
  return null;
}

/**
 * The shell that a request names. Throws `unknown_shell`.
 *
 * @param searchPaths - the child's `PATH`, then the image's
 */
export function resolveShell(files: VmFiles, shell: string, searchPaths: readonly (string | undefined)[]): string {
  const unknown = problem(400, 'unknown_shell', `no shell ${JSON.stringify(shell)}`);
  if (shell.includes('/')) {
    if (!shell.startsWith('/') || isExecutable(files, shell) !== true) throw unknown;
    return shell;
  }
  for (const searchPath of [...searchPaths, '/bin', '/usr/bin']) {
    const found = searchPath === undefined ? null : findOnPath(files, shell, searchPath);
    if (found !== null) return found;
  }
  throw unknown;
}
