/** The files of a VM, seen from the outside under the names that they have inside. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  statSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { devices } from './mounts.ts';
import type { SharedView } from './mounts.ts';
import { PathFailure, locate } from './rooted-path.ts';
import type { Located, PathRoot, WalkOptions } from './rooted-path.ts';
import type { VmDirectory } from './vm-directory.ts';

/** What is mounted in the namespaces of a VM only. */
const mountedInside = new Set(['/proc', '/dev/shm']);

/** See {@link createVmFiles}. */
export interface VmFiles {
  /** Whether {@link VmFiles.begin} was called: before it a VM has nothing that an image did not bring. */
  readonly begun: boolean;
  /** Makes the files of a fresh VM, the first time it is called. Everything else here does so when it has to. */
  begin(): void;
  /** Walks to a path. Throws {@link PathFailure}. Release what it returns. */
  locate(vmPath: string, options?: WalkOptions): Located;
  /** What is mounted at a path; `null` for nothing. */
  readonly mountedAt: PathRoot['mountedAt'];
  /** Opens a regular file or directory for reading. Throws {@link PathFailure}. */
  openForReading(vmPath: string): { readonly fd: number; readonly stats: Stats };
  /**
   * Opens a file for writing, making directories on the way and the file where there is none. It is emptied, and
   * `created` tells whether it was there. Throws {@link PathFailure}.
   */
  openForWriting(vmPath: string, mode: number | null): { readonly fd: number; readonly created: boolean };
  /** The beginning of a small regular file; `null` when there is none. */
  readSmall(vmPath: string, limitBytes?: number): Buffer | null;
  /** What is at a path, links followed; `null` for nothing. */
  stat(vmPath: string): Stats | null;
  /** Writes a small file anew in place of whatever was there, making directories on the way. */
  replace(vmPath: string, content: string): void;
  /** Removes a file; `false` when there was none. */
  remove(vmPath: string): boolean;
  /** A new file without a name outside the VM's root, open for writing and reading. */
  spool(): number;
  /** Free bytes for ordinary writers around a path; `null` when unmeasurable. */
  availableBytes(vmPath: string): number | null;
}

const freeBytes = (path: string): number => {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
};

/**
 * The files of a VM.
 *
 * @param view - what of the host it sees
 * @param liveRoot - the VM's root as the host's kernel names it, with what is mounted only inside; `null` while
 *   nothing runs there
 */
export function createVmFiles(directory: VmDirectory, view: SharedView, liveRoot: () => string | null): VmFiles {
  const shared = new Set([...view.shared.map(({ path }) => path), ...Object.keys(view.links)]);
  let spools = 0;
  const nodes = new Set(devices.map((name) => `/dev/${name}`));
  const place: PathRoot = {
    root: directory.root,
    mountedAt(vmPath) {
      if (shared.has(vmPath)) return { hostPath: vmPath, readOnly: true };
      if (nodes.has(vmPath)) return { hostPath: vmPath, readOnly: false };
      const live = mountedInside.has(vmPath) ? liveRoot() : null;
      return live === null ? null : { hostPath: live + vmPath, readOnly: false };
    },
  };
  /** What is written before there is a place for it. */
  const early = new Map<string, string>();
  const begin = (): void => {
    if (directory.made) return;
    directory.make();
    for (const [vmPath, content] of early) files.replace(vmPath, content);
    early.clear();
  };
  const at = <T>(vmPath: string, use: (found: Located) => T, options?: WalkOptions): T => {
    begin();
    const found = locate(place, vmPath, options);
    try {
      return use(found);
    } finally {
      found.release();
    }
  };
  const fail = (error: unknown, vmPath: string): never => {
    if (error instanceof PathFailure) throw error;
    throw new PathFailure((error as NodeJS.ErrnoException).code ?? 'EIO', vmPath);
  };

  const openForReading = (vmPath: string): { fd: number; stats: Stats } => {
    try {
      // A pipe would block the open, and with it the whole emulator: hence O_NONBLOCK.
      const fd = at(vmPath, ({ path, kind }) => {
        const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
        return openSync(path, kind === 'directory' ? flags : flags | constants.O_NOFOLLOW);
      });
      return { fd, stats: fstatSync(fd) };
    } catch (error) {
      return fail(error, vmPath);
    }
  };

  const files: VmFiles = {
    get begun() {
      return directory.made;
    },
    begin,
    locate(vmPath, options) {
      begin();
      return locate(place, vmPath, options);
    },
    mountedAt: place.mountedAt,
    openForReading,
    openForWriting(vmPath, mode) {
      try {
        return at(
          vmPath,
          ({ path, kind, readOnly }) => {
            if (readOnly) throw new PathFailure('EROFS', vmPath);
            if (kind === 'directory') throw new PathFailure('EISDIR', vmPath);
            const flags =
              constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK;
            return { fd: openSync(path, flags, mode ?? 0o666), created: kind === 'absent' };
          },
          { makeParents: true },
        );
      } catch (error) {
        return fail(error, vmPath);
      }
    },
    readSmall(vmPath, limitBytes = 1_048_576) {
      let opened: { fd: number; stats: Stats };
      try {
        opened = openForReading(vmPath);
      } catch {
        return null;
      }
      try {
        if (!opened.stats.isFile()) return null;
        const bytes = Buffer.alloc(Math.min(opened.stats.size, limitBytes));
        return bytes.subarray(0, readSync(opened.fd, bytes, 0, bytes.length, 0));
      } finally {
        closeSync(opened.fd);
      }
    },
    stat(vmPath) {
      try {
        return at(vmPath, ({ path, kind }) => {
          if (kind === 'absent') return null;
          return kind === 'directory' ? statSync(path) : lstatSync(path);
        });
      } catch {
        return null;
      }
    },
    replace(vmPath, content) {
      if (!directory.made) {
        early.set(vmPath, content);
        return;
      }
      try {
        at(
          vmPath,
          ({ path, kind }) => {
            if (kind === 'other') unlinkSync(path);
            const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
            const fd = openSync(path, flags, 0o644);
            writeSync(fd, content);
            closeSync(fd);
          },
          { makeParents: true, lastLink: 'keep' },
        );
      } catch (error) {
        fail(error, vmPath);
      }
    },
    remove(vmPath) {
      // A fresh VM has nothing but empty directories there.
      if (!directory.made && vmPath.startsWith('/var/')) return early.delete(vmPath);
      try {
        return at(
          vmPath,
          ({ path, kind }) => {
            if (kind === 'absent') return false;
            unlinkSync(path);
            return true;
          },
          { lastLink: 'keep' },
        );
      } catch (error) {
        if (error instanceof PathFailure && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return false;
        return fail(error, vmPath);
      }
    },
    spool() {
      begin();
      const path = join(directory.path, `spool-${(spools += 1)}`);
      const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
      unlinkSync(path);
      return fd;
    },
    availableBytes(vmPath) {
      if (!directory.made) return freeBytes(dirname(directory.path));
      // The nearest ancestor that is there.
      for (let path = vmPath; ; path = path.replace(/\/+[^/]*\/*$/, '') || '/') {
        try {
          return at(path, (found) => {
            if (found.kind === 'absent') throw new PathFailure('ENOENT', path);
            return freeBytes(found.path);
          });
        } catch {
          if (path === '/' || !path.startsWith('/')) return null;
        }
      }
    },
  };
  return files;
}
