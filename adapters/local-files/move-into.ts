/** Putting an unpacked tree into its place. */
import { chmod, lstat, mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { VmchartError } from '../../effects/errors.ts';
import { quoted } from '../../effects/quoted.ts';

/**
 * Moves a tree to its final place: in one step where nothing is there yet, else member by member over what is there,
 * after a look that all of it fits. No link of the target is followed.
 *
 * @param modes Permission bits of directories, by path relative to the tree.
 */
export async function moveInto(tree: string, target: string, modes: ReadonlyMap<string, number>): Promise<void> {
  const there = await lstat(target).catch(() => null);
  if (there === null) {
    await rename(tree, target);
  } else {
    await visit(tree, '', async (path, isDirectory) => await refuseMisfit(join(target, path), path, isDirectory));
    await visit(tree, '', async (path, isDirectory) => {
      if (!isDirectory) await rename(join(tree, path), join(target, path));
      else await mkdir(join(target, path), { recursive: true });
    });
  }
  // Deepest first, so that no directory is closed while something below it is still to be set.
  const deepestFirst = [...modes]
    .map(([path, mode]) => ({ path, mode, depth: path.split('/').length }))
    .sort((left, right) => right.depth - left.depth);
  for (const { path, mode } of deepestFirst) {
    // The root of a new directory is set, of one that was there it stays; the owner can always go on.
    if (path !== '' || there === null) await chmod(join(target, path), mode | 0o700);
  }
  if (there === null && !modes.has('')) await chmod(target, 0o755);
}

/** Visits every member below a directory, parents first. */
async function visit(
  root: string,
  below: string,
  see: (path: string, isDirectory: boolean) => Promise<void>,
): Promise<void> {
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    await see(path, entry.isDirectory());
    if (entry.isDirectory()) await visit(root, path, see);
  }
}

async function refuseMisfit(place: string, path: string, isDirectory: boolean): Promise<void> {
  const there = await lstat(place).catch(() => null);
  if (there === null || (there.isDirectory() && isDirectory) || (!there.isDirectory() && !isDirectory)) return;
  const what = there.isDirectory() ? 'a directory' : there.isSymbolicLink() ? 'a link' : 'a file';
  throw new VmchartError('InvalidArg', `${quoted(path)} cannot be put in its place: ${what} is there already.`, {
    reason: 'local-in-the-way',
  });
}
