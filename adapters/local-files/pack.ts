/** Packing a local directory while it is sent. */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Header, Pack } from 'tar-stream';
import { VmchartError } from '../../effects/errors.ts';
import type { LocalDirectory, PackOptions, SkippedMember } from '../../effects/index.ts';
import { digestsOf } from './digests.ts';
import { localFailure } from './local-failure.ts';
import { walk } from './walk.ts';
import type { Member } from './walk.ts';

type Entry = Partial<Header> & Pick<Header, 'name'>;
type Sink = ReturnType<Pack['entry']>;

const readBytes = 256 * 1024;

/** Looks through a directory, so that nothing is sent of one that the VM would refuse half-way. */
export async function openDirectory(root: string, options: PackOptions): Promise<LocalDirectory> {
  const skipped: SkippedMember[] = [];
  const counts = { files: 0, directories: 0, links: 0, bytes: 0 };
  try {
    for await (const member of walk(root, options, (left) => void skipped.push(left))) {
      if (member.kind === 'directory') counts.directories += 1;
      else if (member.kind === 'file') {
        counts.files += 1;
        counts.bytes += member.sizeBytes;
      } else if (member.safe) counts.links += 1;
      else if (options.unsafeLinks === 'skip') skipped.push({ path: member.path, reason: 'link' });
      else throw leadsOut(member.path, member.target);
    }
  } catch (error) {
    throw localFailure(error, `The directory ${root} cannot be sent`);
  }
  return {
    ...counts,
    skipped,
    pack: (takes) => packed(root, options, takes ?? null),
    digests: async (signal) => await digestsOf(root, options, signal),
  };
}

function leadsOut(path: string, target: string): VmchartError {
  return new VmchartError('InvalidArg', `The link ${path} leads out of the directory, to ${target}.`, {
    reason: 'unsafe-link',
    suggestions: ["Leave such links out with unsafeLinks: 'skip'."],
  });
}

/** Makes the archive as fast as it is taken, and no faster. */
async function* packed(
  root: string,
  options: PackOptions,
  takes: ((path: string) => boolean) | null,
): AsyncGenerator<Uint8Array> {
  const { pack } = await import('tar-stream');
  const archive = pack();
  const writing = write(archive, root, options, takes).then(
    () => archive.finalize(),
    (error: unknown) => archive.destroy(localFailure(error, `The directory ${root} could not be sent`)),
  );
  try {
    yield* archive as AsyncIterable<Uint8Array>;
    await writing;
  } finally {
    archive.destroy();
  }
}

async function write(
  archive: Pack,
  root: string,
  options: PackOptions,
  takes: ((path: string) => boolean) | null,
): Promise<void> {
  for await (const member of walk(root, options, () => undefined)) {
    if (archive.destroyed) return;
    if (takes !== null && (member.kind === 'directory' || !takes(member.path))) continue;
    if (member.kind === 'file') await writeFile(archive, root, member);
    else if (member.kind === 'directory')
      await writeEntry(archive, { ...common(member), type: 'directory', mode: permissions(member.mode) });
    else if (member.safe)
      await writeEntry(archive, { ...common(member), type: 'symlink', linkname: member.target, mode: 0o777 });
  }
}

async function writeFile(archive: Pack, root: string, member: Member & { kind: 'file' }): Promise<void> {
  const file = await open(join(root, member.path));
  try {
    // The size as it is now: what the first look saw may be old.
    const { size } = await file.stat();
    const header: Entry = { ...common(member), type: 'file', mode: permissions(member.mode), size };
    let entry: Sink | undefined;
    const finished = new Promise<void>((resolve, reject) => {
      entry = archive.entry(header, (error) => (error ? reject(error) : resolve()));
    });
    finished.catch(() => undefined);
    await pump(file, size, member.path, entry as unknown as Sink);
    await finished;
  } finally {
    await file.close();
  }
}

async function pump(file: FileHandle, size: number, path: string, entry: Sink): Promise<void> {
  for (let from = 0; from < size;) {
    const buffer = Buffer.allocUnsafe(Math.min(readBytes, size - from));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, from);
    if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`);
    from += bytesRead;
    if (entry.destroyed) return;
    if (!entry.write(buffer.subarray(0, bytesRead))) await drained(entry);
  }
  entry.end(null);
}

/** Resolves when there is room again, or when the archive was given up. */
async function drained(entry: Sink): Promise<void> {
  await new Promise<void>((resolve) => {
    const settle = () => {
      entry.off('drain', settle);
      entry.off('close', settle);
      resolve();
    };
    entry.on('drain', settle);
    entry.on('close', settle);
  });
}

async function writeEntry(archive: Pack, header: Entry): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    archive.entry(header, (error) => (error ? reject(error) : resolve()));
  });
}

/** A mode of zero would be taken for none at all; the bit of the type keeps it, and is not written. */
function permissions(mode: number): number {
  return mode | 0o100000;
}

function common({ path, mtime }: Member): Entry {
  // The header holds 32 bits of seconds.
  const seconds = Math.min(Math.max(0, mtime.getTime() / 1_000), 2 ** 31 - 1);
  return { name: path, mtime: new Date(seconds * 1_000), uid: 0, gid: 0 };
}
