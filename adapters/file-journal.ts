/** A journal on disk: one file a life, so that a process that dies at any instruction can find what it started. */
import { createHash } from 'node:crypto';
import { constants, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { VmchartError } from '../effects/errors.ts';
import type { Journal } from '../effects/index.ts';
import type { JournalRecord } from '../machines/index.ts';
import {
  flushDirectory,
  isDraft,
  privateDirectory,
  refuseLooseMode,
  replaceFile,
  storeFailure,
} from './private-files.ts';
import { whatIsWrongWith } from './record-shape.ts';

/** A record is a few kilobytes; what is larger than this, in bytes, was not written by a journal. */
const recordLimit = 1 << 20;

/** A draft that is older than this, in milliseconds, belongs to a process that died. */
const staleDraftMs = 3_600_000;

/** A file in the journal's directory that holds no record, and why. */
export interface UnreadableRecord {
  readonly path: string;
  readonly error: VmchartError;
}

/** A {@link Journal} in files. */
export interface FileJournal extends Journal {
  /** The files that `list()` leaves out. A VM may run behind each: look at them before they are deleted. */
  unreadable(): Promise<readonly UnreadableRecord[]>;
}

/**
 * Keeps each life in a JSON file of its own, mode 0600, in a directory of mode 0700 that is made when it is missing.
 * A write resolves when the record is on the disk: written beside the old one, flushed, renamed, flushed. A reader sees
 * the old record or the new one. Several processes may share a directory; of two that write the same life the last wins.
 *
 * One file that is torn, foreign or open to others never hides the rest: `list()` leaves it out, `unreadable()` names
 * it, and `read()` of that life throws. Every fault is a `VmchartError` `Precondition` with the reason `loose-mode`,
 * `corrupt-journal`, `unreadable-journal` or `unwritable-journal`.
 *
 * @param directory - a directory of its own; `fileSecrets` may keep its file beside it
 * @example
 * const ports = awsPorts({ region, journal: fileJournal('/var/lib/jobs/journal'), secrets: fileSecrets('/var/lib/jobs/secrets.json') });
 */
export function fileJournal(directory: string): FileJournal {
  /** The last write of each life, so that those of one process come in order. */
  const writing = new Map<string, Promise<void>>();
  let swept = false;

  const change = async (sandboxId: string, work: () => Promise<void>): Promise<void> => {
    const before = writing.get(sandboxId) ?? Promise.resolve();
    const mine = before.catch(() => {}).then(async () => guarded(directory, work));
    writing.set(sandboxId, mine);
    try {
      await mine;
    } finally {
      if (writing.get(sandboxId) === mine) writing.delete(sandboxId);
    }
  };

  const look = async (): Promise<{ records: JournalRecord[]; unreadable: UnreadableRecord[] }> => {
    const found = { records: [] as JournalRecord[], unreadable: [] as UnreadableRecord[] };
    for (const name of await filesOf(directory)) {
      const path = join(directory, name);
      try {
        const record = await readRecord(path);
        if (record === null) continue;
        if (fileName(record.sandboxId) !== name) corrupt(path, `it is of another life, ${record.sandboxId}`);
        found.records.push(record);
      } catch (error) {
        if (!VmchartError.is(error)) throw error;
        found.unreadable.push({ path, error });
      }
    }
    return found;
  };

  return {
    write: (record) =>
      change(record.sandboxId, async () => {
        await privateDirectory(directory, 'The journal');
        if (!swept) await sweep(directory);
        swept = true;
        await replaceFile(join(directory, fileName(record.sandboxId)), `${JSON.stringify(record)}\n`);
      }),
    async read(sandboxId) {
      if (!(await isThere(directory))) return null;
      const path = join(directory, fileName(sandboxId));
      const record = await readRecord(path);
      if (record !== null && record.sandboxId !== sandboxId)
        corrupt(path, `it is of another life, ${record.sandboxId}`);
      return record;
    },
    list: async () => (await look()).records,
    unreadable: async () => (await look()).unreadable,
    remove: (sandboxId) =>
      change(sandboxId, async () => {
        if (!(await isThere(directory))) return;
        await rm(join(directory, fileName(sandboxId)), { force: true });
        await flushDirectory(directory);
      }),
  };
}

/** A name that every file system takes and none confuses: as it is where it is plain, otherwise its digest. */
function fileName(sandboxId: string): string {
  const plain = /^[a-z0-9_-]{1,100}$/.test(sandboxId);
  return plain ? `life-${sandboxId}.json` : `sha256-${createHash('sha256').update(sandboxId).digest('hex')}.json`;
}

/** Checks the directory. `false` when nothing was ever written. */
async function isThere(directory: string): Promise<boolean> {
  try {
    refuseLooseMode((await stat(directory)).mode, directory, 'The journal', '700');
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    if (VmchartError.is(error)) throw error;
    return storeFailure(`The journal ${directory} cannot be read.`, 'unreadable-journal', error);
  }
}

async function filesOf(directory: string): Promise<string[]> {
  if (!(await isThere(directory))) return [];
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.json') && !name.startsWith('.')).sort();
  } catch (error) {
    return storeFailure(`The journal ${directory} cannot be read.`, 'unreadable-journal', error);
  }
}

/** The record in a file, `null` when there is none. Follows no link, waits at no pipe and reads no device. */
async function readRecord(path: string): Promise<JournalRecord | null> {
  let text: string;
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      const status = await file.stat();
      if (!status.isFile()) return corrupt(path, 'it is no regular file');
      refuseLooseMode(status.mode, path, 'The journal record', '600');
      if (status.size > recordLimit) return corrupt(path, `it has ${status.size} bytes`);
      text = await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return null;
    if (VmchartError.is(error)) throw error;
    return storeFailure(`The journal record ${path} cannot be read.`, 'unreadable-journal', error);
  }
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return corrupt(path, 'it is not whole');
  }
  const wrong = whatIsWrongWith(read);
  return wrong === null ? (read as JournalRecord) : corrupt(path, wrong);
}

function corrupt(path: string, why: string): never {
  throw new VmchartError('Precondition', `The journal record ${path} cannot be used: ${why}.`, {
    reason: 'corrupt-journal',
    suggestions: ['A VM may run that this record was of: compare with the list of the account before you delete it.'],
  });
}

/** Removes what died writers left. Best effort: a draft is in nobody's way. */
async function sweep(directory: string): Promise<void> {
  for (const name of (await readdir(directory)).filter(isDraft)) {
    const path = join(directory, name);
    const age = await stat(path).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > staleDraftMs) await rm(path, { force: true }).catch(() => {});
  }
}

async function guarded(directory: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (VmchartError.is(error)) throw error;
    storeFailure(`The journal ${directory} cannot be written.`, 'unwritable-journal', error);
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
