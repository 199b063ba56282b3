/** One process at a time, between processes that share nothing but a folder. */
import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError } from '../cli-error.ts';

/** How long to wait for another process, in milliseconds. What is done under a lock takes some milliseconds. */
const patienceMs = 10_000;
const lookEveryMs = 10;
/** A lock of this age is nobody's, even when its process id runs again by now. In milliseconds. */
const abandonedAfterMs = 60_000;

/**
 * Does the work while no other holder of the same lock file does any. A lock whose process has died is taken over.
 *
 * @throws CliError of kind `Config` when another process does not let go of it
 */
export async function underLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const mine = `${process.pid} ${randomUUID()}`;
  await take(path, mine);
  try {
    return await work();
  } finally {
    // Whoever was stopped for so long that the lock was taken over must not take away the next one's.
    if ((await contentOf(path)) === mine) await rm(path, { force: true });
  }
}

async function take(path: string, mine: string): Promise<void> {
  const until = performance.now() + patienceMs;
  for (;;) {
    try {
      const file = await open(path, 'wx', 0o600);
      try {
        await file.writeFile(mine);
      } finally {
        await file.close();
      }
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    await breakAbandoned(path);
    if (performance.now() > until) {
      throw new CliError('Config', `Another vmchart holds ${path} and does not let go of it.`, {
        suggestions: ['Try again when it has ended.', `If no other vmchart is running: rm ${path}`],
      });
    }
    await sleep(lookEveryMs);
  }
}

/** Moves an abandoned lock out of the way: of those who try at once, one succeeds. */
async function breakAbandoned(path: string): Promise<void> {
  const content = await contentOf(path);
  if (content === null || !(await abandoned(path, content))) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  // Between the look and the move somebody else may have broken it and taken it anew: then it goes back.
  if ((await contentOf(aside)) !== content) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

async function abandoned(path: string, content: string): Promise<boolean> {
  const pid = Number(content.split(' ', 1)[0]);
  if (Number.isSafeInteger(pid) && pid > 0 && !runs(pid)) return true;
  try {
    return Date.now() - (await stat(path)).mtimeMs > abandonedAfterMs;
  } catch {
    return false;
  }
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

async function contentOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return null;
  }
}
