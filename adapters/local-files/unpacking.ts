/** Takes the members of an archive one by one into a directory where nothing but this archive has put anything. */
import { link, mkdir, open, symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Extract } from 'tar-stream';
import { VmchartError } from '../../effects/errors.ts';
import { quoted } from '../../effects/quoted.ts';
import type { DirectoryReport, SkippedMember, UnpackOptions } from '../../effects/index.ts';
import { chooser } from './choice.ts';
import { systemCode } from './local-failure.ts';
import { checkTarget, memberParts, targetParts, touchesGit, unsafeArchive } from './member-rules.ts';
import { MemberTree } from './member-tree.ts';
import { wholeArchive } from './whole-archive.ts';
import { writeAll } from './write-all.ts';

const defaultMaxBytes = 8 * 1024 ** 3;
const defaultMaxMembers = 100_000;
/** What the wire may carry for each member beside its contents: headers, long names, padding. */
const overheadBytesPerMember = 16_384;
/** What the names and targets of an archive may take together for each member that it may have: they are kept. */
const nameBytesPerMember = 640;

/** A member: its header, and its contents as they come. */
type Entry = Extract extends AsyncIterable<infer Source> ? Source : never;

/** One archive on its way into one new directory. */
export class Unpacking {
  /** Modes of directories, to be set when nothing more is written into them. */
  readonly directoryModes = new Map<string, number>();
  readonly #root: string;
  readonly #options: UnpackOptions;
  readonly #chosen: (path: string) => boolean;
  readonly #maxBytes: number;
  readonly #maxMembers: number;
  readonly #tree: MemberTree;
  readonly #skipped: SkippedMember[] = [];
  readonly #counts = { files: 0, directories: 0, links: 0, bytes: 0 };
  #members = 0;
  #nameBytes = 0;
  #sourceFailure: { readonly error: unknown } | null = null;

  constructor(root: string, options: UnpackOptions) {
    this.#root = root;
    this.#options = options;
    this.#chosen = chooser(options);
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes;
    this.#maxMembers = options.maxMembers ?? defaultMaxMembers;
    this.#tree = new MemberTree(this.#maxMembers);
  }

  report(): DirectoryReport {
    return { ...this.#counts, skipped: this.#skipped };
  }

  async run(archive: AsyncIterable<Uint8Array>): Promise<void> {
    const { extract } = await import('tar-stream');
    const members = extract();
    const feeding = pipeline(this.#capped(wholeArchive(archive)), members);
    // When one side fails the other only follows; the first failure is thrown below.
    const fed = feeding.catch(() => undefined);
    try {
      for await (const member of members) await this.#take(member);
      await feeding;
    } catch (error) {
      members.destroy();
      await fed;
      throw this.#sourceFailure?.error ?? readable(error);
    }
    await this.#tree.checkLinks();
  }

  /** The caps hold on the wire too: an archive of endless headers ends as surely as one of endless contents. */
  async *#capped(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let wireBytes = 0;
    try {
      for await (const piece of archive) {
        wireBytes += piece.length;
        if (wireBytes > this.#maxBytes + (this.#members + 64) * overheadBytesPerMember) throw this.#tooLarge();
        yield piece;
      }
    } catch (error) {
      this.#sourceFailure = { error };
      throw error;
    }
  }

  #tooLarge(): VmchartError {
    return new VmchartError(
      'Protocol',
      `The archive is larger than its cap of ${this.#maxBytes} bytes and ${this.#maxMembers} members.`,
      { reason: 'archive-too-large' },
    );
  }

  async #take(member: Entry): Promise<void> {
    const { name, type = 'file', size = 0 } = member.header;
    this.#members += 1;
    if (this.#members > this.#maxMembers) throw this.#tooLarge();
    const parts = memberParts(name);
    this.#keepName(name);
    const mode = (member.header.mode ?? 0) & 0o777;
    if (parts.length === 0) {
      if (type !== 'directory') throw unsafeArchive(name, 'names the directory itself');
      this.directoryModes.set('', mode);
    } else if (type === 'directory') await this.#takeDirectory(name, parts, mode);
    else if (type === 'symlink') await this.#takeLink(name, parts, member.header.linkname ?? '');
    else if (type === 'link') await this.#takeHardLink(name, parts, member.header.linkname ?? '');
    else if (type === 'file' || type === 'contiguous-file') {
      if (this.#counts.bytes + size > this.#maxBytes) throw this.#tooLarge();
      if (await this.#takeFile(name, parts, mode, member)) return;
    } else this.#skip(parts, 'special-file');
    member.resume();
  }

  /** The names of members are kept until the end, so they have a cap of their own. */
  #keepName(name: string): void {
    this.#nameBytes += name.length;
    if (this.#nameBytes > 65_536 + nameBytesPerMember * this.#maxMembers) throw this.#tooLarge();
  }

  async #takeDirectory(name: string, parts: readonly string[], mode: number): Promise<void> {
    if (this.#leftOut(parts, 'directory')) return;
    const known = this.#tree.kindOf(parts) === 'directory';
    await this.#makeParents(this.#tree.add(name, parts, 'directory'));
    if (!known) await mkdir(this.#path(parts), 0o700);
    if (!this.directoryModes.has(parts.join('/'))) this.#counts.directories += 1;
    this.directoryModes.set(parts.join('/'), mode);
  }

  async #takeFile(name: string, parts: readonly string[], mode: number, content: Entry): Promise<boolean> {
    if (this.#leftOut(parts, 'file')) return false;
    const known = this.#tree.kindOf(parts) === 'file';
    await this.#makeParents(this.#tree.add(name, parts, 'file'));
    const path = this.#path(parts);
    if (known) await unlink(path);
    const file = await open(path, 'wx', 0o600);
    try {
      this.#counts.bytes += await writeAll(file, content as AsyncIterable<Uint8Array>);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
    if (!known) this.#counts.files += 1;
    return true;
  }

  async #takeLink(name: string, parts: readonly string[], target: string): Promise<void> {
    const { links = 'keep' } = this.#options;
    checkTarget(name, target);
    this.#keepName(target);
    const place = targetParts(target, parts.slice(0, -1));
    if (place === null) throw unsafeArchive(name, 'is a link that leads out of the directory');
    if (links === 'refuse') throw unsafeArchive(name, 'is a link, and links are refused');
    if (this.#leftOut(parts, 'link')) return;
    if (this.#keepsOutGit(place) || links === 'skip') {
      this.#skip(parts, 'link');
      return;
    }
    const known = this.#tree.kindOf(parts);
    await this.#makeParents(this.#tree.add(name, parts, 'link'));
    this.#tree.addLink(name, parts, target);
    if (known !== undefined) await unlink(this.#path(parts));
    else this.#counts.links += 1;
    await symlink(target, this.#path(parts));
  }

  async #takeHardLink(name: string, parts: readonly string[], target: string): Promise<void> {
    checkTarget(name, target);
    const source = targetParts(target, []);
    if (source === null) throw unsafeArchive(name, 'is a hard link that leads out of the directory');
    if (this.#leftOut(parts, 'file')) return;
    if (this.#leftOut(source, 'file')) {
      this.#skip(parts, 'not-chosen');
      return;
    }
    if (this.#tree.kindOf(source) !== 'file')
      throw unsafeArchive(name, 'is a hard link to what is no file of the archive');
    if (source.join('/') === parts.join('/')) return;
    const known = this.#tree.kindOf(parts);
    await this.#makeParents(this.#tree.add(name, parts, 'file'));
    if (known !== undefined) await unlink(this.#path(parts));
    else this.#counts.files += 1;
    await link(this.#path(source), this.#path(parts));
  }

  /** Whether a member is left out by rule or by choice. Under globs that name what to take, parents come by themselves. */
  #leftOut(parts: readonly string[], kind: 'file' | 'directory' | 'link'): boolean {
    if (this.#keepsOutGit(parts)) {
      if (this.#chosen(parts.join('/'))) this.#skip(parts, 'git');
      return true;
    }
    if (kind === 'directory' && this.#options.include !== undefined) return true;
    return !this.#chosen(parts.join('/'));
  }

  #keepsOutGit(parts: readonly string[]): boolean {
    return this.#options.git !== 'keep' && touchesGit(parts);
  }

  async #makeParents(parents: readonly (readonly string[])[]): Promise<void> {
    // A directory that is only implied by a name is a member like another.
    if (this.#tree.places > this.#maxMembers) throw this.#tooLarge();
    for (const parent of parents) {
      this.#keepName(parent.join('/'));
      await mkdir(this.#path(parent), 0o755);
      this.#counts.directories += 1;
      this.directoryModes.set(parent.join('/'), 0o755);
    }
  }

  #skip(parts: readonly string[], reason: SkippedMember['reason']): void {
    this.#skipped.push({ path: parts.join('/'), reason });
  }

  #path(parts: readonly string[]): string {
    return join(this.#root, ...parts);
  }
}

/** What a reader makes of bytes that are no archive is ours to name; what the disk says stays as it is. */
function readable(error: unknown): unknown {
  if (VmchartError.is(error) || systemCode(error) !== null) return error;
  const why = quoted(error instanceof Error ? error.message : String(error));
  return new VmchartError('Protocol', `The archive cannot be read: ${why}`, {
    cause: error,
    reason: 'unreadable-archive',
  });
}
