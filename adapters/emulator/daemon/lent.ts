/** Descriptors that are lent to a stream. */
import { open, read, write, writev } from 'node:fs';

/**
 * For the `fs` of a stream over a descriptor that somebody else closes. Whatever `autoClose` says, a stream that is
 * destroyed, as an early end does, closes its descriptor; closed a second time, the number may be another file's.
 */
export const lent = {
  open,
  read,
  write,
  writev,
  close: (_fd: number, done: (error: null) => void): void => done(null),
};
