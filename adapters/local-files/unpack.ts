/**
 * Unpacking an archive from a VM, which is not trusted.
 *
 * Everything goes into a new directory beside the target first, where nothing but this archive has put anything;
 * only when all of it has arrived and passed is it moved into place.
 */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { VmchartError } from '../../effects/errors.ts';
import { checkCap } from '../../effects/session/caps.ts';
import type { DirectoryReport, UnpackOptions } from '../../effects/index.ts';
import { localFailure } from './local-failure.ts';
import { moveInto } from './move-into.ts';
import { Unpacking } from './unpacking.ts';

/** Unpacks into a directory. A failure leaves it as it was. */
export async function unpack(
  target: string,
  archive: AsyncIterable<Uint8Array>,
  options: UnpackOptions,
): Promise<DirectoryReport> {
  const what = `The directory ${target} cannot be written`;
  checkCap('maxBytes', options.maxBytes);
  checkCap('maxMembers', options.maxMembers);
  let staging: string | null = null;
  try {
    staging = await makeStaging(resolve(target));
    const unpacking = new Unpacking(staging, options);
    await unpacking.run(archive);
    await moveInto(staging, resolve(target), unpacking.directoryModes);
    return unpacking.report();
  } catch (error) {
    throw localFailure(error, what);
  } finally {
    if (staging !== null) await removeTree(staging);
  }
}

/** On the target's own file system: inside it when it is there, else beside it. */
async function makeStaging(target: string): Promise<string> {
  const there = await stat(target).catch(() => null);
  if (there !== null && !there.isDirectory()) {
    throw new VmchartError('InvalidArg', `${target} is not a directory.`, { reason: 'local-not-found' });
  }
  if (there !== null) return await mkdtemp(join(target, '.unpacking-'));
  await mkdir(dirname(target), { recursive: true });
  return await mkdtemp(join(dirname(target), `.${basename(target).slice(0, 100)}.unpacking-`));
}

async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
}
