/** The directory of one VM on the host: its root, and what the emulator keeps beside it. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { lstat, chmod, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { devices } from './mounts.ts';
import type { SharedView } from './mounts.ts';

/** Absolute paths on the host. Nothing is there until somebody needs it: a VM that runs nothing costs nothing. */
export interface VmDirectory {
  readonly path: string;
  /** What the VM sees as `/`, but for what is mounted over it inside. */
  readonly root: string;
  readonly made: boolean;
  /** Makes the directories and files of a fresh VM, the first time it is called. */
  make(): void;
  /** Removes everything, whatever programs left in it. Their processes must have ended. */
  remove(): Promise<void>;
}

const ownDirectories: Readonly<Record<string, number>> = {
  workspace: 0o755,
  tmp: 0o1777,
  root: 0o700,
  home: 0o755,
  etc: 0o755,
  run: 0o755,
  var: 0o755,
  'var/lib': 0o755,
  'var/tmp': 0o1777,
};

/** Copied, so that a VM can change its own: users and groups above all. */
const copiedSettings = [
  'passwd',
  'group',
  'hosts',
  'resolv.conf',
  'nsswitch.conf',
  'services',
  'protocols',
  'localtime',
];

const makeDirectory = (path: string, mode: number): void => {
  mkdirSync(path, { recursive: true });
  // The umask may have taken bits.
  chmodSync(path, mode);
};

function copySettings(etc: string): void {
  for (const name of copiedSettings) {
    const source = join('/etc', name);
    if (!existsSync(source)) continue;
    copyFileSync(source, join(etc, name));
    chmodSync(join(etc, name), 0o644);
  }
  writeFileSync(join(etc, 'hostname'), 'microvm\n', { mode: 0o644 });
}

/** Places for what the isolation mounts: empty files and directories, and the usual links of `/dev`. */
function makeMountPoints(root: string, view: SharedView): void {
  for (const { path, kind } of view.shared) {
    const point = join(root, path);
    if (kind === 'directory') mkdirSync(point, { recursive: true });
    else {
      mkdirSync(dirname(point), { recursive: true });
      writeFileSync(point, '');
    }
  }
  for (const [path, target] of Object.entries(view.links)) symlinkSync(target, join(root, path));
  for (const path of ['proc', 'dev/shm']) mkdirSync(join(root, path), { recursive: true });
  for (const name of devices) writeFileSync(join(root, 'dev', name), '');
  symlinkSync('/proc/self/fd', join(root, 'dev/fd'));
  for (const [fd, name] of ['stdin', 'stdout', 'stderr'].entries()) {
    symlinkSync(`/proc/self/fd/${fd}`, join(root, 'dev', name));
  }
}

/** Gives us back the rights over directories that a VM closed to everybody. */
async function reopen(path: string): Promise<void> {
  const entry = await lstat(path).catch(() => null);
  if (entry?.isDirectory() !== true) return;
  await chmod(path, 0o700).catch(() => undefined);
  for (const name of await readdir(path).catch(() => [])) await reopen(join(path, name));
}

async function removeTree(path: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 3 };
  try {
    await rm(path, options);
  } catch {
    await reopen(path);
    await rm(path, options);
  }
}

/**
 * The directory of one VM.
 *
 * @param view - what will be mounted over it, or `null` when nothing will
 */
export function createVmDirectory(path: string, view: SharedView | null): VmDirectory {
  const root = join(path, 'root');
  let made = false;
  return {
    path,
    root,
    get made() {
      return made;
    },
    make() {
      if (made) return;
      made = true;
      mkdirSync(path, { mode: 0o700 });
      makeDirectory(root, 0o755);
      for (const [name, mode] of Object.entries(ownDirectories)) makeDirectory(join(root, name), mode);
      copySettings(join(root, 'etc'));
      if (view !== null) makeMountPoints(root, view);
    },
    async remove() {
      if (made) await removeTree(path);
    },
  };
}
