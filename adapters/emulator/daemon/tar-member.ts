/** What a member of an uploaded archive may be called and lead to (`agentd-protocol.md` 13.2). Pure text rules. */

/** A refused member; `reason` is for people. */
export class MemberRefusal extends Error {
  override readonly name = 'MemberRefusal';

  constructor(member: string, reason: string) {
    super(`member ${JSON.stringify(member)} refused: ${reason}`);
  }
}

/**
 * Normalises a relative path without looking at any file system: components without `.` and `..`.
 * `null` when it is absolute or climbs above where it starts.
 */
export function normalise(path: string, from: readonly string[] = []): string[] | null {
  if (path.startsWith('/')) return null;
  const parts = [...from];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts;
}

/** The components of a member's name; empty for the root itself. Throws {@link MemberRefusal}. */
export function memberPath(name: string): string[] {
  const parts = normalise(name);
  if (parts === null) throw new MemberRefusal(name, name.startsWith('/') ? 'absolute name' : 'climbs above the root');
  return parts;
}

/** Checks a symbolic link: its target counts from the link's own directory. Throws {@link MemberRefusal}. */
export function checkSymlink(name: string, path: readonly string[], target: string | null | undefined): string {
  if (target === null || target === undefined || target === '') throw new MemberRefusal(name, 'link without target');
  if (normalise(target, path.slice(0, -1)) === null) throw new MemberRefusal(name, 'link target outside the root');
  return target;
}

/** The components of a hard link's source, which counts from the archive's root. Throws {@link MemberRefusal}. */
export function hardLinkSource(name: string, target: string | null | undefined): string[] {
  if (target === null || target === undefined || target === '') throw new MemberRefusal(name, 'link without target');
  const source = normalise(target);
  if (source === null || source.length === 0) throw new MemberRefusal(name, 'link target outside the root');
  return source;
}

/** Kinds of members that are never made. */
export const refusedTypes: ReadonlySet<string> = new Set(['character-device', 'block-device', 'fifo']);
