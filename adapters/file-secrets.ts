/** Secrets in one file that nobody else may read. */
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { VmchartError } from '../effects/errors.ts';
import type { Secrets } from '../effects/index.ts';
import { privateDirectory, refuseLooseMode, replaceFile, storeFailure } from './private-files.ts';

async function readAll(path: string): Promise<Map<string, string>> {
  let text: string;
  try {
    refuseLooseMode((await stat(path)).mode, path, 'The secrets file', '600');
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    if (VmchartError.is(error)) throw error;
    return storeFailure(`The secrets file ${path} cannot be read.`, 'unreadable-secrets', error);
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
  return storeFailure(`The secrets file ${path} does not hold a map of texts.`, 'corrupt-secrets');
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
      await privateDirectory(dirname(path), 'The directory of secrets');
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

async function replace(path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, text);
  } catch (error) {
    storeFailure(`The secrets file ${path} cannot be written.`, 'unwritable-secrets', error);
  }
}
