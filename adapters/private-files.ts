/** Files that nobody else may read, replaced as a whole: what the stores on disk are made of. */
import { chmod, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { VmchartError } from '../effects/errors.ts';

/** The endings of a draft's name: a process that dies in the middle of a write leaves one behind. */
const draftName = /^\.[0-9a-f-]{36}\.tmp$/;

/** Whether a name is that of a draft, which is no store's file. */
export function isDraft(name: string): boolean {
  return draftName.test(name);
}

/** Fails in the words of a store. */
export function storeFailure(message: string, reason: string, cause?: unknown): never {
  throw new VmchartError('Precondition', message, { reason, cause });
}

/**
 * Refuses a mode that lets others read or change. Windows has no such bits, and none are checked there.
 *
 * @param wanted - the mode it must have at most, as it is typed: `600` or `700`
 * @throws VmchartError `Precondition` with the reason `loose-mode`
 */
export function refuseLooseMode(mode: number, path: string, what: string, wanted: '600' | '700'): void {
  if (process.platform === 'win32' || (mode & 0o077) === 0) return;
  storeFailure(
    `${what} ${path} can be reached by others (mode ${(mode & 0o777).toString(8)}); it must be ${wanted}.`,
    'loose-mode',
  );
}

/**
 * Makes a directory of mode 0700 when it is missing, and refuses one that others can reach.
 *
 * @throws VmchartError `Precondition` with the reason `loose-mode`; the system's error when it cannot be made
 */
export async function privateDirectory(directory: string, what: string): Promise<void> {
  const made = await mkdir(directory, { recursive: true, mode: 0o700 });
  // A strict mask can have made it unusable; none can have widened it.
  if (made !== undefined) await chmod(directory, 0o700);
  refuseLooseMode((await stat(directory)).mode, directory, what, '700');
}

/**
 * Replaces a file so that a reader sees the old text or the new one, never a part: written beside it with mode 0600,
 * flushed, renamed, and the rename flushed too.
 *
 * @throws the system's error; nothing is changed then
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  const draft = join(directory, `.${randomUUID()}.tmp`);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      // The process's mask can only have narrowed the mode; this makes it exact.
      await file.chmod(0o600);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await flushDirectory(directory);
}

/** Makes a rename or a removal outlast a power cut, where a directory can be flushed at all. */
export async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
