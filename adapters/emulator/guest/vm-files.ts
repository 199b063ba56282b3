/** The files of a VM, seen from the outside under the names that they have inside. */
import { closeSync, constants, fstatSync, openSync, readSync, statfsSync, unlinkSync, writeSync } from 'node:fs';
import type { Stats } from 'node:fs';
import type { SharedView } from './mounts.ts';
import { PathFailure, locate } from './rooted-path.ts';
import type { Located, PathRoot, WalkOptions } from './rooted-path.ts';
import type { VmDirectory } from './vm-directory.ts';

/** What programs call a place that is not for writing. */
const readOnlyFileSystem = 'EROFS';

/** See {@link createVmFiles}. */
export interface VmFiles {
  /** Walks to a path. Throws {@link PathFailure}. Release what it returns. */
  locate(vmPath: string, options?: WalkOptions): Located;
  /** Opens a regular file or directory for reading. Throws {@link PathFailure}. */
  openForReading(vmPath: string): { readonly fd: number; readonly stats: Stats };
  /** The beginning of a small regular file; `null` when there is none. */
  readSmall(vmPath: string, limitBytes?: number): Buffer | null;
  /** What is at a path, links followed; `null` for nothing. */
  stat(vmPath: string): Stats | null;
  /** Writes a small file anew in place of whatever was there, making directories on the way. */
  replace(vmPath: string, content: string): void;
  /** Removes a file; `false` when there was none. */
  remove(vmPath: string): boolean;
  /** Free bytes for ordinary writers around a path; `null` when unmeasurable. */
  availableBytes(vmPath: string): number | null;
}

/** The files of a VM. `view` says what of the host it sees. */
export function createVmFiles(directory: VmDirectory, view: SharedView): VmFiles {
  const shared = new Set([...view.shared.map(({ path }) => path), ...Object.keys(view.links)]);
  const place: PathRoot = {
    root: directory.root,
    mountedAt: (vmPath) => (shared.has(vmPath) ? { hostPath: vmPath, readOnly: true } : null),
  };
  const at = <T>(vmPath: string, use: (found: Located) => T, options?: WalkOptions): T => {
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

  return {
    locate: (vmPath, options) => locate(place, vmPath, options),
    openForReading,
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
        const { fd, stats } = openForReading(vmPath);
        closeSync(fd);
        return stats;
      } catch {
        return null;
      }
    },
    replace(vmPath, content) {
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
          { makeParents: true, links: 'parents' },
        );
      } catch (error) {
        fail(error, vmPath);
      }
    },
    remove(vmPath) {
      try {
        return at(
          vmPath,
          ({ path, kind }) => {
            if (kind === 'absent') return false;
            unlinkSync(path);
            return true;
          },
          { links: 'parents' },
        );
      } catch (error) {
        if (error instanceof PathFailure && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return false;
        return fail(error, vmPath);
      }
    },
    availableBytes(vmPath) {
      // The nearest ancestor that is there.
      for (let path = vmPath; ; path = path.replace(/\/+[^/]*\/*$/, '') || '/') {
        try {
          return at(path, (found) => {
            if (found.kind === 'absent') throw new PathFailure('ENOENT', path);
            const { bavail, bsize } = statfsSync(found.path);
            return bavail * bsize;
          });
        } catch {
          if (path === '/' || !path.startsWith('/')) return null;
        }
      }
    },
  };
}

/** The failure of a write into a part of the host that a VM only reads. */
export function readOnlyFailure(vmPath: string): PathFailure {
  return new PathFailure(readOnlyFileSystem, vmPath);
}
