/**
 * Resolving paths inside a VM's root as a chroot would, from the outside.
 *
 * A program of the VM may plant links and swap directories while we look. So every component is opened by itself,
 * without following links, beneath the directory that was opened before it: links are read and walked as text, from
 * the VM's root when they are absolute, and `..` goes back along what was opened. The kernel is never given a path in
 * which it could leave the root.
 */
import { closeSync, constants, lstatSync, mkdirSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/** A path that leads nowhere, with the code that the system would give, such as `ENOENT`. */
export class PathFailure extends Error {
  override readonly name = 'PathFailure';
  readonly code: string;

  constructor(code: string, path: string) {
    super(`${code}: ${path}`);
    this.code = code;
  }
}

/** Where a path led. */
export interface Located {
  /** A path for the host's file system. Its last component must be opened without following links. */
  readonly path: string;
  /** Whether it lies in a part of the host that a VM only reads. */
  readonly readOnly: boolean;
  /** What was found there. */
  readonly kind: 'directory' | 'other' | 'absent';
  /** Gives back what keeps `path` valid. */
  release(): void;
}

/** How to walk. */
export interface WalkOptions {
  /** Make missing directories on the way, the last component left out. */
  readonly makeParents?: boolean;
  /** What to do with links on the way: follow them as a chroot would (the default), or fail with `ELOOP`. */
  readonly links?: 'follow' | 'refuse';
  /** The same for a link in the last component, which can also be what is looked for. As `links` by default. */
  readonly lastLink?: 'follow' | 'refuse' | 'keep';
}

/** The root of a VM as a place to walk in. */
export interface PathRoot {
  /** The directory on the host. */
  readonly root: string;
  /** Whether the root itself lies in what a VM only reads. */
  readonly readOnly?: boolean;
  /** The host's path that a VM sees at `vmPath`, or `null` where nothing is mounted. */
  mountedAt(vmPath: string): { readonly hostPath: string; readonly readOnly: boolean } | null;
}

/** As many links as the kernel follows. */
const maxLinks = 40;

/** Linux can name an open directory as a path, which makes each step safe against swapping. */
const byDescriptor = process.platform === 'linux';
/** `O_PATH`, which Node does not name. */
const pathOnly = 0o10000000;

interface Step {
  readonly vmPath: string;
  /** What to put before a name in it. */
  readonly base: string;
  readonly fd: number | null;
  readonly readOnly: boolean;
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'EIO';

/** Opens a directory without following a link in its last component. Throws the system's error. */
function openDirectory(path: string, vmPath: string, readOnly: boolean, follow = false): Step {
  if (byDescriptor) {
    const flags = pathOnly | constants.O_DIRECTORY | (follow ? 0 : constants.O_NOFOLLOW);
    const fd = openSync(path, flags);
    return { vmPath, base: `/proc/self/fd/${fd}`, fd, readOnly };
  }
  if (!follow && !lstatSync(path).isDirectory()) throw new PathFailure('ENOTDIR', vmPath);
  return { vmPath, base: path, fd: null, readOnly };
}

/** Text of a link, or `null` for anything else that is there. Throws `ENOENT` for what is not. */
function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (codeOf(error) === 'EINVAL') return null;
    throw error;
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    // Somebody else made it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** Walks to `vmPath`. Throws {@link PathFailure}. Release what it returns. */
export function locate(place: PathRoot, vmPath: string, options: WalkOptions = {}): Located {
  const { links = 'follow', lastLink = links } = options;
  const opened: Step[] = [];
  let stack: Step[] = [];
  let followed = 0;

  const push = (step: Step): void => {
    opened.push(step);
    stack.push(step);
  };
  const release = (): void => {
    for (const { fd } of opened.splice(0)) if (fd !== null) closeSync(fd);
  };
  const top = (): Step => stack.at(-1) as Step;

  const walk = (): Located => {
    push(openDirectory(place.root, '/', place.readOnly ?? false, true));
    const bottom = top();
    const queue = vmPath.split('/');
    while (queue.length > 0) {
      const name = queue.shift() as string;
      if (name === '' || name === '.') continue;
      if (name === '..') {
        if (stack.length > 1) stack.pop();
        continue;
      }
      const last = queue.every((rest) => rest === '' || rest === '.');
      const here = top();
      const inside = join(here.vmPath, name);
      const mounted = place.mountedAt(inside);
      const path = mounted === null ? `${here.base}/${name}` : mounted.hostPath;
      const readOnly = mounted === null ? here.readOnly : mounted.readOnly;
      try {
        push(openDirectory(path, inside, readOnly, mounted !== null));
        continue;
      } catch (error) {
        const code = codeOf(error);
        if (code === 'ENOENT' && last) return { path, readOnly, kind: 'absent', release };
        if (code === 'ENOENT' && options.makeParents === true && !readOnly) {
          makeDirectory(path);
          queue.unshift(name);
          continue;
        }
        if (code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
      }
      // The host's own links are followed by the host: what is mounted is what they lead to.
      if (mounted !== null && last) return { path: realpathSync(path), readOnly, kind: 'other', release };
      const target = readLink(path);
      if (target === null) {
        // A trailing slash or dot asks for a directory.
        if (!last || queue.length > 0) throw new PathFailure('ENOTDIR', inside);
        return { path, readOnly, kind: 'other', release };
      }
      const rule = last ? lastLink : links;
      if (rule === 'refuse') throw new PathFailure('ELOOP', inside);
      if (rule === 'keep') return { path, readOnly, kind: 'other', release };
      if ((followed += 1) > maxLinks) throw new PathFailure('ELOOP', vmPath);
      if (target.startsWith('/')) stack = [bottom];
      queue.unshift(...target.split('/'));
    }
    return { path: top().base, readOnly: top().readOnly, kind: 'directory', release };
  };

  try {
    if (vmPath.includes('\0')) throw new PathFailure('EINVAL', vmPath);
    return walk();
  } catch (error) {
    release();
    throw error instanceof PathFailure ? error : new PathFailure(codeOf(error), vmPath);
  }
}
