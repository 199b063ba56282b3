/** Packing a directory of a VM into an archive while its programs go on. Links are packed as links. */
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { pack } from 'tar-stream';
import type { Header, Pack } from 'tar-stream';
import { drained } from './drained.ts';
import { lent } from './lent.ts';

/** One thing in a tree. */
interface Entry {
  /** Relative to the tree's root, with `/` between components. */
  readonly name: string;
  /** For the host's file system; its last component must not be followed. Valid while the walk stands on it. */
  readonly path: string;
  readonly stats: Stats;
}

const pathOnly = 0o10000000;
const byDescriptor = process.platform === 'linux';

/** Walks a tree, directories before what is in them. What disappears meanwhile is left out. */
function* walk(base: string, prefix: string): Generator<Entry> {
  for (const file of readdirSync(base).sort()) {
    const path = `${base}/${file}`;
    const name = prefix === '' ? file : `${prefix}/${file}`;
    let stats: Stats;
    try {
      stats = lstatSync(path);
    } catch {
      continue;
    }
    if (!stats.isDirectory()) {
      yield { name, path, stats };
      continue;
    }
    let fd: number | null = null;
    try {
      // Once it is open nobody can put a link in its place.
      if (byDescriptor) fd = openSync(path, pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    } catch {
      continue;
    }
    try {
      yield { name, path, stats };
      yield* walk(fd === null ? path : `/proc/self/fd/${fd}`, name);
    } finally {
      if (fd !== null) closeSync(fd);
    }
  }
}

/** How many members a tree has, the root among them, and how many bytes its regular files. */
export function measureTree(root: string, limits: { readonly members: number; readonly bytes: number }): boolean {
  let members = 1;
  let bytes = 0;
  for (const { stats } of walk(root, '')) {
    members += 1;
    if (stats.isFile()) bytes += stats.size;
    if (members > limits.members || bytes > limits.bytes) return false;
  }
  return members <= limits.members;
}

/** A header without the members that follow from others. */
type MemberHeader = Partial<Header> & Pick<Header, 'name'>;

const headerOf = (name: string, stats: Stats): MemberHeader => ({
  name,
  mode: stats.mode & 0o7777,
  mtime: stats.mtime,
  uid: 0,
  gid: 0,
});

/** Adds a member without content. */
function addBare(archive: Pack, header: MemberHeader): Promise<void> {
  return new Promise((resolve, reject) => {
    archive.entry(header, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Exactly `size` bytes of a file: one that shrank is filled up with zeros, one that grew is cut. */
async function* exactly(fd: number, size: number): AsyncGenerator<Buffer> {
  let left = size;
  for await (const data of createReadStream('', { fd, fs: lent, end: size - 1, highWaterMark: 524_288 })) {
    left -= (data as Buffer).length;
    yield data as Buffer;
  }
  for (; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536));
}

async function addFile(archive: Pack, name: string, path: string): Promise<void> {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) return;
    const sink = archive.entry({ ...headerOf(name, stats), size: stats.size });
    const landed = new Promise<void>((resolve, reject) => {
      sink.once('close', resolve);
      sink.once('error', reject);
    });
    landed.catch(() => undefined);
    if (stats.size > 0) {
      for await (const data of exactly(fd, stats.size)) {
        if (sink.destroyed) throw new Error('the reader left');
        if (!sink.write(data)) await drained(sink);
      }
    }
    sink.end(null);
    await landed;
  } finally {
    closeSync(fd);
  }
}

/**
 * Packs the tree at `root`. The first member is the root itself, as `./`.
 *
 * @param release - called once `root` is no longer needed
 */
export function packTree(root: string, stats: Stats, release: () => void): Pack {
  const archive = pack();
  const fill = async (): Promise<void> => {
    await addBare(archive, { ...headerOf('./', stats), type: 'directory' });
    for (const { name, path, stats: found } of walk(root, '.')) {
      if (archive.destroyed) return;
      if (found.isDirectory()) await addBare(archive, { ...headerOf(`${name}/`, found), type: 'directory' });
      else if (found.isSymbolicLink()) {
        await addBare(archive, { ...headerOf(name, found), type: 'symlink', linkname: readlinkSync(path) });
      } else if (found.isFile()) await addFile(archive, name, path);
    }
    archive.finalize();
  };
  fill()
    .catch((error: unknown) => void archive.destroy(error as Error))
    .finally(release);
  return archive;
}
