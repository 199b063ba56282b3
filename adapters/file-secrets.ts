/** Secrets in one file that nobody else may read. */
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { VmchartError } from '../effects/errors.ts';
import type { Secrets } from '../effects/index.ts';

function fail(message: string, reason: string, cause?: unknown): never {
  throw new VmchartError('Precondition', message, { reason, cause });
}

/** Refuses what others could read or change. Windows has no such bits, and none are checked there. */
async function checkMode(path: string, what: string): Promise<void> {
  const { mode } = await stat(path);
  if (process.platform === 'win32' || (mode & 0o077) === 0) return;
  fail(
    `${what} ${path} can be reached by others (mode ${(mode & 0o777).toString(8)}); it must be ${what === 'The secrets file' ? '600' : '700'}.`,
    'loose-mode',
  );
}

async function readAll(path: string): Promise<Map<string, string>> {
  let text: string;
  try {
    await checkMode(path, 'The secrets file');
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    if (VmchartError.is(error)) throw error;
    return fail(`The secrets file ${path} cannot be read.`, 'unreadable-secrets', error);
  }
  try {
    const values: unknown = JSON.parse(text);
    if (typeof values === 'object' && values !== null && !Array.isArray(values)) {
      const entries = Object.entries(values);
      if (entries.every(([, value]) => typeof value === 'string')) return new Map(entries as [string, string][]);
    }
  } catch {
    // The parser quotes what it read, which is secret.
  }
  return fail(`The secrets file ${path} does not hold a map of texts.`, 'corrupt-secrets');
}

/**
 * Secrets in one file of mode 0600, replaced as a whole: written beside it, flushed, renamed. Its directory is
 * made with mode 0700 when it is missing. Looser modes are refused.
 *
 * One process at a time: the writes of one holder are in order, those of two are not.
 */
export function fileSecrets(path: string): Secrets {
  let queue: Promise<unknown> = Promise.resolve();

  /** Runs after what was asked before, whether that went well or not. */
  const inOrder = async <T>(work: () => Promise<T>): Promise<T> => {
    const mine = queue.then(work, work);
    queue = mine.catch(() => {});
    return mine;
  };

  const change = async (edit: (values: Map<string, string>) => boolean) =>
    inOrder(async () => {
      const directory = dirname(path);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await checkMode(directory, 'The directory of secrets');
      const values = await readAll(path);
      if (edit(values)) await replace(path, `${JSON.stringify(Object.fromEntries(values))}\n`);
    });

  return {
    async put(ref, value) {
      await change((values) => values.get(ref) !== value && values.set(ref, value) === values);
    },
    async get(ref) {
      return inOrder(async () => (await readAll(path)).get(ref) ?? null);
    },
    async remove(ref) {
      await change((values) => values.delete(ref));
    },
  };
}

/** Writes so that a reader sees the old text or the new one, never a part. */
async function replace(path: string, text: string): Promise<void> {
  const draft = join(dirname(path), `.${randomUUID()}.tmp`);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    // The process's mask can only have narrowed the mode; this makes it exact.
    await chmod(draft, 0o600);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    return fail(`The secrets file ${path} cannot be written.`, 'unwritable-secrets', error);
  }
}
