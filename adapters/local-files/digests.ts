/** Digests of a directory's members: what makes them differ, in one text each. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { MemberChoice } from '../../effects/index.ts';
import { walk } from './walk.ts';

/** Contents and mode of each file, the target of each link that stays inside. */
export async function digestsOf(
  root: string,
  choice: MemberChoice,
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  for await (const member of walk(root, choice, () => undefined)) {
    signal?.throwIfAborted();
    if (member.kind === 'link' && member.safe) digests.set(member.path, `link:${member.target}`);
    if (member.kind !== 'file') continue;
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(root, member.path)), hash);
    digests.set(member.path, `file:${(member.mode & 0o777).toString(8)}:${hash.digest('hex')}`);
  }
  return digests;
}
