/**
 * What an archive from a VM has made so far, and what may still be put into it (FC-095, FC-097).
 *
 * Each place is kept once, under its parent, so that neither a deep name nor a long link costs more than its length.
 */
import { unsafeArchive } from './member-rules.ts';

/** No system follows more links than this to resolve one path. */
const longestChain = 64;
/** So many steps the links of an archive may take to resolve, for each of the members that it may have. */
const stepsPerMember = 20;
/** After so many steps everything else of the process has its turn. */
const stepsBetweenPauses = 50_000;

/** What an archive has put under a name. */
export type MemberKind = 'file' | 'directory' | 'link';

/** One place of the tree. */
interface Place {
  readonly parent: Place | null;
  readonly below: Map<string, Place>;
  kind: MemberKind;
  target: Target | null;
}

/** Where a link leads. */
interface Target {
  readonly text: string;
  /** Where the last `..` of it begins, or -1. */
  readonly lastClimb: number;
}

/** A target of which some has been walked. */
interface Way extends Target {
  at: number;
}

/** The tree that an archive has made so far. */
export class MemberTree {
  readonly #root: Place = { parent: null, below: new Map(), kind: 'directory', target: null };
  /** The names of links, for messages. */
  readonly #links = new Map<Place, string>();
  readonly #maxSteps: number;
  #places = 0;
  #steps = 0;

  /** @param maxMembers How many members the archive may have. */
  constructor(maxMembers: number) {
    this.#maxSteps = 100_000 + stepsPerMember * maxMembers;
  }

  /** How many places there are below the root, directories that are only implied by a name included. */
  get places(): number {
    return this.#places;
  }

  kindOf(parts: readonly string[]): MemberKind | undefined {
    return this.#find(parts)?.kind;
  }

  /**
   * Puts a member in, its parents included. Returns the parents that are new.
   *
   * @throws VmchartError reason `unsafe-archive` when it passes through a link or a file, or takes another's place.
   */
  add(name: string, parts: readonly string[], kind: MemberKind): string[][] {
    const parents: string[][] = [];
    let place = this.#root;
    for (const [index, part] of parts.slice(0, -1).entries()) {
      let next = place.below.get(part);
      if (next?.kind === 'link') throw unsafeArchive(name, 'passes through a link');
      if (next?.kind === 'file') throw unsafeArchive(name, 'passes through a file');
      if (next === undefined) {
        next = this.#put(place, part, 'directory');
        parents.push(parts.slice(0, index + 1));
      }
      place = next;
    }
    const last = parts.at(-1);
    if (last === undefined) return parents;
    const there = place.below.get(last);
    if (kind === 'file' && there?.kind === 'link') throw unsafeArchive(name, 'would write through a link');
    if (there !== undefined && (kind === 'directory') !== (there.kind === 'directory')) {
      throw unsafeArchive(name, 'takes the place of another kind of member');
    }
    if (there === undefined) this.#put(place, last, kind);
    else there.kind = kind;
    return parents;
  }

  /** Remembers where a symbolic link leads that was put in before. */
  addLink(name: string, parts: readonly string[], target: string): void {
    const link = this.#find(parts);
    if (link === undefined) return;
    link.target = { text: target, lastClimb: lastClimbOf(target) };
    this.#links.set(link, name);
  }

  /**
   * Follows every link as the system would, through other links as well: what looks harmless part by part can climb
   * out when a link stands before a `..`.
   *
   * @throws VmchartError reason `unsafe-archive` for one that leads out, and when all of them together are too long a
   *   way.
   */
  async checkLinks(): Promise<void> {
    let pausedAt = 0;
    for (const [link, name] of this.#links) {
      this.#follow(link, name);
      if (this.#steps - pausedAt < stepsBetweenPauses) continue;
      pausedAt = this.#steps;
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    }
  }

  #find(parts: readonly string[]): Place | undefined {
    let place: Place | undefined = this.#root;
    for (const part of parts) {
      place = place.below.get(part);
      if (place === undefined) return undefined;
    }
    return place;
  }

  #put(parent: Place, part: string, kind: MemberKind): Place {
    const place: Place = { parent, below: new Map(), kind, target: null };
    parent.below.set(part, place);
    this.#places += 1;
    return place;
  }

  #follow(link: Place, name: string): void {
    let place = link.parent ?? this.#root;
    const ways: Way[] = link.target === null ? [] : [{ ...link.target, at: 0 }];
    let followed = 0;
    for (let way = ways.at(-1); way !== undefined; way = ways.at(-1)) {
      const part = nextPart(way);
      if (part === null) {
        ways.pop();
        continue;
      }
      this.#steps += 1;
      if (this.#steps > this.#maxSteps) {
        throw unsafeArchive(name, `is a link, and the links take more than ${this.#maxSteps} steps to follow`);
      }
      if (part === '' || part === '.') continue;
      if (part === '..') {
        if (place.parent === null) throw unsafeArchive(name, 'is a link that leads out of the directory');
        place = place.parent;
        continue;
      }
      const next = place.below.get(part);
      if (next === undefined) {
        // Below a place that does not exist nothing does: all that matters is whether the way climbs up again.
        if (ways.every(({ at, lastClimb }) => lastClimb < at)) return;
        throw unsafeArchive(name, 'is a link that climbs up from a place that does not exist');
      }
      if (next.target === null) place = next;
      else {
        followed += 1;
        // A chain longer than any system follows leads nowhere.
        if (followed > longestChain) return;
        ways.push({ ...next.target, at: 0 });
      }
    }
  }
}

function lastClimbOf(target: string): number {
  const parts = target.split('/');
  const last = parts.lastIndexOf('..');
  return last === -1 ? -1 : parts.slice(0, last).reduce((at, part) => at + part.length + 1, 0);
}

/** The next part of a target, or `null` at its end. */
function nextPart(way: Way): string | null {
  const { text, at } = way;
  if (at > text.length) return null;
  const slash = text.indexOf('/', at);
  const end = slash === -1 ? text.length : slash;
  way.at = end + 1;
  return text.slice(at, end);
}
