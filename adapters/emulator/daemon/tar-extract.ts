/**
 * Extracting an archive beneath a directory of a VM. Every component of every member is opened without following
 * links, so that neither the archive nor a program of the VM can lead a write elsewhere.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import type { Readable } from 'node:stream';
import { extract } from 'tar-stream';
import type { Extract, Header } from 'tar-stream';
import { PathFailure } from '../guest/rooted-path.ts';
import type { Located, WalkOptions } from '../guest/rooted-path.ts';
import { failureCode, using, writePieces } from './fs-common.ts';
import { MemberRefusal, checkSymlink, hardLinkSource, memberPath, refusedTypes } from './tar-member.ts';

/** More members or bytes than allowed. */
export class ArchiveTooLarge extends Error {
  override readonly name = 'ArchiveTooLarge';
}

/** Where an archive goes, and what it may cost. */
export interface ExtractWorld {
  /** Walks beneath the target directory. Throws {@link PathFailure}. */
  locate(path: string, options: WalkOptions): Located;
  readonly maxMembers: number;
  readonly maxBytes: number;
  /** Called after a member has landed, with the bytes so far. May throw to stop. */
  landed(totalBytes: number): void;
}

/** Rights beyond these are taken off. */
const modeMask = 0o755;
const pathOnly = 0o10000000;

/** Sets the mode of what is there and no link, by a descriptor where the system has such. */
function setMode(located: Located, mode: number): void {
  if (process.platform !== 'linux') {
    if (!lstatSync(located.path).isSymbolicLink()) chmodSync(located.path, mode);
    return;
  }
  const flags = located.kind === 'directory' ? pathOnly : pathOnly | constants.O_NOFOLLOW;
  const fd = openSync(located.path, flags);
  try {
    if (!fstatSync(fd).isSymbolicLink()) chmodSync(`/proc/self/fd/${fd}`, mode);
  } finally {
    closeSync(fd);
  }
}

/** Gives the reader all bytes of the archive, as it takes them. Never rejects: a failure is the reader's. */
async function feed(archive: Readable, reader: Extract): Promise<void> {
  let wake = (): void => undefined;
  for (const event of ['drain', 'close'] as const) reader.on(event, () => wake());
  // Its iteration reports the same failure.
  reader.on('error', () => undefined);
  try {
    for await (const piece of archive) {
      const drained = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (reader.destroying) return;
      if (!reader.write(piece)) await drained;
    }
    reader.end(null);
  } catch (error) {
    reader.destroy(error as Error);
  }
}

/** Extracts what `archive` holds. Throws {@link MemberRefusal}, {@link ArchiveTooLarge} or the system's error. */
export async function extractTar(archive: Readable, world: ExtractWorld): Promise<void> {
  const modes: { readonly parts: readonly string[]; readonly mode: number }[] = [];
  let members = 0;
  let total = 0;

  /** Uses the place of a member; a link on the way to it refuses the member. */
  const at = <T>(name: string, parts: readonly string[], options: WalkOptions, use: (found: Located) => T): T => {
    try {
      const found = world.locate(parts.join('/'), { links: 'refuse', ...options });
      try {
        if (found.readOnly) throw new PathFailure('EROFS', name);
        return use(found);
      } finally {
        found.release();
      }
    } catch (error) {
      const code = failureCode(error);
      if (code === 'ELOOP') throw new MemberRefusal(name, 'goes through a link');
      if (code === 'EACCES') throw new MemberRefusal(name, 'a directory may not be entered');
      throw error;
    }
  };

  const makeDirectory = (name: string, parts: readonly string[]): void =>
    at(name, parts, { makeParents: true }, ({ kind, path }) => {
      if (kind === 'other') throw new PathFailure('ENOTDIR', name);
      if (kind === 'absent') mkdirSync(path);
    });

  const openFile = (name: string, parts: readonly string[]): number =>
    at(name, parts, { makeParents: true }, ({ kind, path }) => {
      if (kind === 'directory') throw new PathFailure('EISDIR', name);
      const flags =
        constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      return openSync(path, flags, 0o644);
    });

  /** Makes room for a link where something other than a directory is. */
  const makeLink = (name: string, parts: readonly string[], make: (path: string) => void): void =>
    at(name, parts, { makeParents: true, lastLink: 'keep' }, ({ kind, path }) => {
      if (kind === 'directory') throw new PathFailure('EISDIR', name);
      if (kind === 'other') unlinkSync(path);
      make(path);
    });

  const land = async (header: Header, content: AsyncIterable<Uint8Array>): Promise<void> => {
    const { name, linkname } = header;
    // Old archives mark directories by a slash alone.
    const type = (header.type as Header['type'] | null) ?? 'file';
    const isDirectory = type === 'directory' || (type === 'file' && name.endsWith('/'));
    const parts = memberPath(name);
    if (refusedTypes.has(type)) throw new MemberRefusal(name, `a ${type}`);
    if (parts.length === 0) {
      if (isDirectory) return;
      throw new MemberRefusal(name, 'names the root itself');
    }
    if (type === 'symlink') {
      const target = checkSymlink(name, parts, linkname);
      makeLink(name, parts, (path) => symlinkSync(target, path));
      return;
    }
    if (type === 'link') {
      const source = hardLinkSource(name, linkname);
      at(name, source, {}, (from) => {
        if (from.kind === 'absent') throw new PathFailure('ENOENT', source.join('/'));
        makeLink(name, parts, (path) => linkSync(from.path, path));
      });
      return;
    }
    if (isDirectory) makeDirectory(name, parts);
    else {
      total += header.size ?? 0;
      if (total > world.maxBytes) throw new ArchiveTooLarge(`more than ${world.maxBytes} bytes`);
      await using(openFile(name, parts), (fd) => writePieces(content, fd, () => undefined));
    }
    modes.push({ parts, mode: (header.mode ?? 0o644) & modeMask });
  };

  const reader = extract();
  const fed = feed(archive, reader);
  try {
    for await (const entry of reader) {
      members += 1;
      if (members > world.maxMembers) throw new ArchiveTooLarge(`more than ${world.maxMembers} members`);
      await land(entry.header, entry as unknown as AsyncIterable<Uint8Array>);
      entry.resume();
      world.landed(total);
    }
  } finally {
    reader.destroy();
    await fed;
  }

  // Last and deepest first, so that a directory that nobody may enter does not stand in the way.
  for (const { parts, mode } of modes.sort((a, b) => b.parts.length - a.parts.length)) {
    try {
      at(parts.join('/'), parts, {}, (found) => setMode(found, mode));
    } catch {
      // The content is there; its mode is a wish.
    }
  }
}
