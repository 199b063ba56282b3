/**
 * What a member of an archive from a VM may be (`agentd-protocol.md` 13.2, FC-095, FC-103). Pure rules over names.
 *
 * They are stricter than they need to be for most archives: an absolute name is refused and not shortened, and no
 * member may pass through a link, not even one that stays inside.
 */
import { VmchartError } from '../../effects/errors.ts';
import { quoted } from '../../effects/quoted.ts';

/** The longest name and the longest target of a link, in bytes: no system takes a longer path. */
export const longestPathBytes = 4_096;
/** How many parts a name may have. */
export const deepestMember = 256;
/** How much of a hostile name stands in a message, in characters. */
const shownCharacters = 120;

/** Makes the error that names a member, shortened and escaped, and what is wrong with it. */
export function unsafeArchive(member: string, why: string): VmchartError {
  const name = quoted(member, [], shownCharacters);
  return new VmchartError('Protocol', `The archive was refused: member "${name}" ${why}.`, {
    reason: 'unsafe-archive',
  });
}

/** Whether a path is one that a system could take, told without looking at more of it than that. */
function isTooLong(path: string): boolean {
  return path.length > longestPathBytes || Buffer.byteLength(path) > longestPathBytes;
}

/**
 * The parts of a member's name below the root; empty for the root itself.
 *
 * @throws VmchartError reason `unsafe-archive` for an absolute name, one that climbs out, one with a NUL, and one
 *   that is too long or too deep.
 */
export function memberParts(name: string): string[] {
  if (isTooLong(name)) throw unsafeArchive(name, `has a name of more than ${longestPathBytes} bytes`);
  if (name.includes('\0')) throw unsafeArchive(name, 'has a NUL character in its name');
  if (name.startsWith('/')) throw unsafeArchive(name, 'has an absolute name');
  const parts: string[] = [];
  for (const part of name.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) throw unsafeArchive(name, 'climbs out of the directory');
  }
  if (parts.length > deepestMember) throw unsafeArchive(name, `lies more than ${deepestMember} directories deep`);
  return parts;
}

/** @throws VmchartError reason `unsafe-archive` for a target of a link that is too long to be looked at. */
export function checkTarget(name: string, target: string): void {
  if (isTooLong(target)) throw unsafeArchive(name, `is a link to a target of more than ${longestPathBytes} bytes`);
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
