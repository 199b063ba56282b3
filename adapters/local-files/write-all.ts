/** Writing bytes as they come, while more of them are on their way. */
import type { FileHandle } from 'node:fs/promises';

/** Pieces are written together from this size on, in bytes: a write for each would cost more than the bytes. */
const batchBytes = 1024 * 1024;

/** Writes pieces one after the other, from the start of a file. One write is under way while the next batch is read. */
export async function writeAll(file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<number> {
  let batch: Uint8Array[] = [];
  let waitingBytes = 0;
  let written = 0;
  let writing: Promise<void> = Promise.resolve();
  const flush = async () => {
    await writing;
    writing = writeBatch(file, batch, written);
    // Thrown at the next flush, which is sure to come.
    writing.catch(() => undefined);
    written += waitingBytes;
    batch = [];
    waitingBytes = 0;
  };
  try {
    for await (const piece of content) {
      batch.push(piece);
      waitingBytes += piece.length;
      if (waitingBytes >= batchBytes) await flush();
    }
    await flush();
  } finally {
    // Whoever closes the file must find nothing under way.
    await writing.catch(() => undefined);
  }
  await writing;
  return written;
}

async function writeBatch(file: FileHandle, batch: readonly Uint8Array[], position: number): Promise<void> {
  if (batch.length === 0) return;
  const total = batch.reduce((sum, piece) => sum + piece.length, 0);
  const { bytesWritten } = await file.writev([...batch], position);
  if (bytesWritten === total) return;
  // A system may take less than it was given; the rest is written piece by piece.
  const rest = Buffer.concat(batch).subarray(bytesWritten);
  for (let from = 0; from < rest.length;) {
    const more = await file.write(rest, from, rest.length - from, position + bytesWritten + from);
    from += more.bytesWritten;
  }
}
