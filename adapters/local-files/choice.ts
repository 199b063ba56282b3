/** Which members a transfer takes, by globs. */
import picomatch from 'picomatch';
import type { MemberChoice } from '../../effects/index.ts';

/**
 * Makes the test of a path relative to the directory. What a glob says of a folder holds for all below it, so that
 * `node_modules` means its content too, whichever way the members come.
 */
export function chooser({ include, exclude }: MemberChoice): (path: string) => boolean {
  const wanted = include === undefined ? () => true : matcher(include);
  const unwanted = exclude === undefined ? () => false : matcher(exclude);
  return (path) => {
    const chain = [...ancestors(path), path];
    return chain.some(wanted) && !chain.some(unwanted);
  };
}

function matcher(globs: readonly string[]): (path: string) => boolean {
  const matches = picomatch(
    globs.map((glob) => glob.replace(/(.)\/+$/, '$1')),
    { dot: true },
  );
  return (path) => matches(path);
}

/** The folders that a path goes through, the outermost first. */
function ancestors(path: string): string[] {
  const found: string[] = [];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) found.push(path.slice(0, at));
  return found;
}
