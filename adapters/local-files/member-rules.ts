/**
 * What a member of an archive from a VM may be (`agentd-protocol.md` 13.2, FC-095, FC-103). Pure rules over names.
 *
 * They are stricter than they need to be for most archives: an absolute name is refused and not shortened, and no
 * member may pass through a link, not even one that stays inside.
 */
import { VmchartError } from '../../effects/errors.ts';

/** Makes the error that names a member and what is wrong with it. */
export function unsafeArchive(member: string, why: string): VmchartError {
  return new VmchartError('Protocol', `The archive was refused: member ${JSON.stringify(member)} ${why}.`, {
    reason: 'unsafe-archive',
  });
}

/**
 * The parts of a member's name below the root; empty for the root itself.
 *
 * @throws VmchartError reason `unsafe-archive` for an absolute name, one that climbs out, or one with a NUL.
 */
export function memberParts(name: string): string[] {
  if (name.includes('\0')) throw unsafeArchive(name, 'has a NUL character in its name');
  if (name.startsWith('/')) throw unsafeArchive(name, 'has an absolute name');
  const parts: string[] = [];
  for (const part of name.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) throw unsafeArchive(name, 'climbs out of the directory');
  }
  return parts;
}

/**
 * The place that a link's target means, as parts below the root, or `null` when it is outside.
 * A symbolic link is judged from its own directory, a hard link from the root.
 */
export function targetParts(target: string, from: readonly string[]): string[] | null {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return null;
  const parts = [...from];
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts;
}

/** Whether a path is, or lies under, a `.git`, in any case: some file systems do not tell cases apart. */
export function touchesGit(parts: readonly string[]): boolean {
  return parts.some((part) => part.toLowerCase() === '.git');
}

/** No system follows more links than this to resolve one path. */
const longestChain = 64;

/** What an archive has put under a name. */
export type MemberKind = 'file' | 'directory' | 'link';

/** The tree that an archive has made so far, and what may still be put into it. */
export class MemberTree {
  readonly #kinds = new Map<string, MemberKind>();
  readonly #links = new Map<string, readonly string[]>();

  kindOf(parts: readonly string[]): MemberKind | undefined {
    return parts.length === 0 ? 'directory' : this.#kinds.get(parts.join('/'));
  }

  /**
   * Puts a member in, its parents included. Returns the parents that are new.
   *
   * @throws VmchartError reason `unsafe-archive` when it passes through a link or a file, or takes another's place.
   */
  add(name: string, parts: readonly string[], kind: MemberKind): string[][] {
    const parents: string[][] = [];
    for (let depth = 1; depth < parts.length; depth += 1) {
      const parent = parts.slice(0, depth);
      const there = this.kindOf(parent);
      if (there === 'link') throw unsafeArchive(name, 'passes through a link');
      if (there === 'file') throw unsafeArchive(name, 'passes through a file');
      if (there === undefined) {
        parents.push(parent);
        this.#kinds.set(parent.join('/'), 'directory');
      }
    }
    const there = this.kindOf(parts);
    if (kind === 'file' && there === 'link') throw unsafeArchive(name, 'would write through a link');
    if ((kind === 'directory') !== (there === 'directory') && there !== undefined) {
      throw unsafeArchive(name, 'takes the place of another kind of member');
    }
    this.#kinds.set(parts.join('/'), kind);
    return parents;
  }

  /** Remembers where a symbolic link leads. */
  addLink(parts: readonly string[], target: string): void {
    this.#links.set(parts.join('/'), target.split('/'));
  }

  /**
   * Follows every link as the system would, through other links as well: what looks harmless part by part can climb
   * out when a link stands before a `..`.
   *
   * @throws VmchartError reason `unsafe-archive` for one that leads out.
   */
  checkLinks(): void {
    for (const link of this.#links.keys()) this.#follow(link);
  }

  #follow(link: string): void {
    let place = link.split('/').slice(0, -1);
    let left = [...(this.#links.get(link) ?? [])];
    let followed = 0;
    while (left.length > 0) {
      const [part = '', ...rest] = left;
      left = rest;
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (place.length === 0) throw unsafeArchive(link, 'is a link that leads out of the directory');
        place = place.slice(0, -1);
        continue;
      }
      place = [...place, part];
      const through = this.#links.get(place.join('/'));
      if (through !== undefined) {
        followed += 1;
        // A chain longer than any system follows leads nowhere.
        if (followed > longestChain) return;
        place = place.slice(0, -1);
        left = [...through, ...left];
      } else if (this.kindOf(place) === undefined && left.includes('..')) {
        throw unsafeArchive(link, 'is a link that climbs up from a place that does not exist');
      }
    }
  }
}
