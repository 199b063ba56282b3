/** Writing one file that appears only when it is whole. */
import { randomBytes } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { VmchartError } from '../../effects/errors.ts';
import { localFailure } from './local-failure.ts';
import { writeAll } from './write-all.ts';

/** A name beside the final one, so that the last step is a rename within one file system. */
export function besideName(path: string): string {
  return join(dirname(path), `.${basename(path).slice(0, 200)}.${randomBytes(6).toString('hex')}.part`);
}

/** Writes everything, then renames into place. A failure leaves what was there before. Returns the size in bytes. */
export async function saveFile(path: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  const what = `The file ${path} cannot be written`;
  const there = await stat(path).catch(() => null);
  if (there?.isDirectory()) {
    throw new VmchartError('InvalidArg', `${what}: it is a directory.`, { reason: 'local-not-a-file' });
  }
  const part = besideName(path);
  try {
    const file = await open(part, 'wx', there === null ? 0o666 : there.mode & 0o777);
    let sizeBytes: number;
    try {
      sizeBytes = await writeAll(file, content);
    } finally {
      await file.close();
    }
    await rename(part, path);
    return sizeBytes;
  } catch (error) {
    await rm(part, { force: true });
    throw localFailure(error, what);
  }
}
