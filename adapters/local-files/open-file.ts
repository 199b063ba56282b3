/** Reading one file that is sent. */
import { open } from 'node:fs/promises';
import { VmchartError } from '../../effects/errors.ts';
import type { LocalFile } from '../../effects/index.ts';
import { localFailure } from './local-failure.ts';

const readBytes = 256 * 1024;

/** Measures the file, and reads it each time that it is sent. */
export async function openFile(path: string): Promise<LocalFile> {
  const what = `The file ${path} cannot be sent`;
  try {
    const file = await open(path);
    try {
      const stats = await file.stat();
      if (!stats.isFile())
        throw new VmchartError('InvalidArg', `${what}: it is no file.`, { reason: 'local-not-a-file' });
      return { sizeBytes: stats.size, mode: stats.mode & 0o777, read: () => readFile(path, stats.size) };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw localFailure(error, what);
  }
}

/** Reads exactly the size that was announced: the length has gone out before the bytes. */
async function* readFile(path: string, sizeBytes: number): AsyncGenerator<Uint8Array> {
  const file = await open(path);
  try {
    for (let from = 0; from < sizeBytes;) {
      const buffer = Buffer.allocUnsafe(Math.min(readBytes, sizeBytes - from));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
      if (bytesRead === 0) {
        throw new VmchartError('InvalidArg', `${path} became shorter while it was sent.`, { reason: 'local-changed' });
      }
      from += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
