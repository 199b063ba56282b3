/** Walking a local directory: every member once, parents first, links not followed. */
import { lstat, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { MemberChoice, SkippedMember } from '../../effects/index.ts';
import { chooser } from './choice.ts';
import { targetParts } from './member-rules.ts';

/** One member. Paths are relative to the directory, with `/` between the parts. */
export type Member =
  | { readonly kind: 'directory'; readonly path: string; readonly mode: number; readonly mtime: Date }
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly mode: number;
      readonly mtime: Date;
      readonly sizeBytes: number;
    }
  | {
      readonly kind: 'link';
      readonly path: string;
      readonly target: string;
      readonly mtime: Date;
      /** It stays inside the directory. */
      readonly safe: boolean;
    };

/** Walks a directory in the order of names, so that the same tree always gives the same archive. */
export async function* walk(
  root: string,
  choice: MemberChoice,
  skip: (member: SkippedMember) => void,
): AsyncGenerator<Member, void, undefined> {
  const chosen = chooser(choice);
  yield* walkBelow(root, '', chosen, choice.include !== undefined, skip);
}

async function* walkBelow(
  root: string,
  below: string,
  chosen: (path: string) => boolean,
  onlyNamed: boolean,
  skip: (member: SkippedMember) => void,
): AsyncGenerator<Member, void, undefined> {
  const names: string[] = [];
  for await (const entry of await opendir(join(root, below))) names.push(entry.name);
  for (const name of names.sort()) {
    const path = below === '' ? name : `${below}/${name}`;
    const stats = await lstat(join(root, path));
    const { mtime } = stats;
    const mode = stats.mode & 0o7777;
    if (stats.isDirectory()) {
      // Under globs that name what to take, a directory comes only as the parent of something taken.
      if (!onlyNamed) {
        if (!chosen(path)) continue;
        yield { kind: 'directory', path, mode, mtime };
      }
      yield* walkBelow(root, path, chosen, onlyNamed, skip);
    } else if (!chosen(path)) {
      continue;
    } else if (stats.isFile()) {
      yield { kind: 'file', path, mode, mtime, sizeBytes: stats.size };
    } else if (stats.isSymbolicLink()) {
      const target = await readlink(join(root, path));
      const safe = targetParts(target, path.split('/').slice(0, -1)) !== null;
      yield { kind: 'link', path, target, mtime, safe };
    } else {
      skip({ path, reason: 'special-file' });
    }
  }
}
