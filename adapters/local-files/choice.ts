/** Which members a transfer takes, by globs. */
import picomatch from 'picomatch';
import type { MemberChoice } from '../../effects/index.ts';

/** Makes the test of a path relative to the directory. */
export function chooser({ include, exclude }: MemberChoice): (path: string) => boolean {
  const options = { dot: true };
  const wanted = include === undefined ? () => true : picomatch([...include], options);
  const unwanted = exclude === undefined ? () => false : picomatch([...exclude], options);
  return (path) => wanted(path) && !unwanted(path);
}
