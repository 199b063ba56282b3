/** Where the command line remembers VMs between two calls: folders that nobody else may read. */
import { chmod, mkdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { CliError } from '../cli-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The folders of the local state. */
export interface StateDirectory {
  readonly root: string;
  /** One file a name: ids, never secrets. */
  readonly names: string;
  /** One file a name: the token of its VM. */
  readonly secrets: string;
}

/**
 * `VMCHART_HOME`, else `vmchart` under `XDG_STATE_HOME`, else the system's usual place. Nothing is made here.
 *
 * @throws CliError of kind `Config` for a place in `/proc` or `/sys`, where making a folder never ends or never works
 */
export function stateDirectory(environment: Environment): StateDirectory {
  const root = environment['VMCHART_HOME'] || join(stateHome(environment), 'vmchart');
  if (process.platform !== 'win32' && /^\/(proc|sys)(\/|$)/.test(resolve(root))) {
    throw new CliError('Config', `The local state cannot be kept in ${root}: that is no place for files.`, {
      suggestions: ['Point VMCHART_HOME at a folder of your own.'],
    });
  }
  return { root, names: join(root, 'names'), secrets: join(root, 'secrets') };
}

function stateHome(environment: Environment): string {
  if (environment['XDG_STATE_HOME']) return environment['XDG_STATE_HOME'];
  if (process.platform === 'win32' && environment['LOCALAPPDATA']) return environment['LOCALAPPDATA'];
  return join(environment['HOME'] || homedir(), '.local', 'state');
}

/**
 * Makes a folder with mode 0700, or checks that it has it.
 *
 * @throws CliError of kind `Config` when it cannot be made, or when others may look into it
 */
export async function privateFolder(path: string): Promise<void> {
  try {
    const made = await mkdir(path, { recursive: true, mode: 0o700 });
    // A generous umask cannot widen the mode, but a strict one can make it unusable.
    if (made !== undefined) await chmod(path, 0o700);
    await checkClosed(path, 'folder');
  } catch (error) {
    throw storeError(path, error);
  }
}

/** Bits of a mode that others must not have: any on what is inside, writing on the folder around it. */
const openTo = { folder: 0o077, file: 0o077, root: 0o022 } as const;

/**
 * Refuses what others can reach, so that nobody else reads a token or puts another record in place. What is not
 * there is not open. Windows has no such bits, and none are checked there.
 *
 * @throws CliError of kind `Config`, with the line that closes it
 */
export async function checkClosed(path: string, what: keyof typeof openTo): Promise<void> {
  if (process.platform === 'win32') return;
  let mode: number;
  try {
    ({ mode } = await stat(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return;
    throw storeError(path, error);
  }
  if ((mode & openTo[what]) === 0) return;
  throw new CliError('Config', `${path} is open to others (mode ${(mode & 0o777).toString(8)}).`, {
    suggestions: [`chmod ${what === 'file' ? '600' : '700'} ${path}`],
  });
}

/** Says in words what the file system said in letters. */
export function storeError(path: string, error: unknown): unknown {
  if (error instanceof CliError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined) return error;
  const why: Readonly<Record<string, string>> = {
    EACCES: 'permission is denied',
    EPERM: 'permission is denied',
    EROFS: 'the file system is read-only',
    ENOSPC: 'the disk is full',
    ENOTDIR: 'a part of its path is no folder',
    EEXIST: 'something else is there',
  };
  return new CliError('Config', `The local state at ${path} cannot be used: ${why[code] ?? code}.`, {
    suggestions: ['Point VMCHART_HOME at a folder of your own.'],
    cause: error,
  });
}
