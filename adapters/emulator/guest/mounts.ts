/** What of the host a VM sees, and where. */
import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A path of the host that a VM sees read-only under the same name. */
export interface SharedPath {
  readonly path: string;
  readonly kind: 'directory' | 'file';
  /** Mount options that an ordinary user has to keep, such as `nosuid`. */
  readonly options: readonly string[];
}

/** The host's programs and what they need, seen from a VM. */
export interface SharedView {
  readonly shared: readonly SharedPath[];
  /** Top-level links such as `/bin` → `usr/bin`, made anew inside the VM. */
  readonly links: Readonly<Record<string, string>>;
}

const programDirectories = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Parts of `/etc` that programs read and nobody edits; certificates, never private keys. */
const systemSettings = [
  '/etc/alternatives',
  '/etc/ca-certificates',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/pki/ca-trust',
  '/etc/pki/tls/certs',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
];

/** Device nodes that every program may use. */
export const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'] as const;

/** Options of a mount that a user namespace may not take away. */
const lockedOptions = new Set(['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime']);

/** The locked options of the mount that holds `path`. */
function optionsOf(path: string): string[] {
  const real = realpathSync(path);
  let best = { point: '', options: '' };
  for (const row of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [, , , , point = '', options = ''] = row.split(' ');
    const holds = point === '/' || real === point || real.startsWith(`${point}/`);
    // Of two mounts on one point the later is the one to be seen.
    if (holds && point.length >= best.point.length) best = { point, options };
  }
  return best.options.split(',').filter((option) => lockedOptions.has(option));
}

/**
 * Reads off the host what VMs share.
 *
 * @param extra - further absolute paths to show read-only, such as the directory of a tool outside `/usr`
 */
export function readSharedView(extra: readonly string[] = []): SharedView {
  const shared: SharedPath[] = [];
  const links: Record<string, string> = {};
  for (const path of [...programDirectories, ...systemSettings, ...extra]) {
    if (!existsSync(path)) continue;
    if (programDirectories.includes(path) && lstatSync(path).isSymbolicLink()) links[path] = readlinkSync(path);
    else shared.push({ path, kind: statSync(path).isDirectory() ? 'directory' : 'file', options: optionsOf(path) });
  }
  return { shared, links };
}

/** A path as a field of a mount table. */
const field = (path: string): string =>
  path.replaceAll('\\', '\\134').replaceAll(' ', '\\040').replaceAll('\t', '\\011');

/**
 * The mount table of a VM, in the format of `fstab`, in the order in which it has to be mounted.
 *
 * @param root - the directory on the host that becomes the root of the VM
 * @param bootId - the file on the host that a VM reads as its boot id; `null`: the kernel's own
 */
export function mountTable(view: SharedView, root: string, bootId: string | null): string {
  const line = (source: string, target: string, type: string, options: string): string =>
    `${field(source)} ${field(target)} ${type} ${options} 0 0\n`;
  const proc = join(root, 'proc');
  return [
    line(root, root, 'none', 'bind'),
    ...view.shared.map(({ path, options }) => line(path, join(root, path), 'none', ['rbind', 'ro', ...options].join())),
    line('proc', proc, 'proc', 'nosuid,nodev,noexec'),
    ...devices.map((name) => line(`/dev/${name}`, join(root, 'dev', name), 'none', 'bind')),
    line('tmpfs', join(root, 'dev/shm'), 'tmpfs', 'nosuid,nodev,mode=1777'),
    // Root of the VM is root of the host as far as these files can tell.
    ...['sys', 'sysrq-trigger', 'irq', 'bus']
      .filter((name) => existsSync(join('/proc', name)))
      .map((name) => line(join(proc, name), join(proc, name), 'none', 'bind,ro,nosuid,nodev,noexec')),
    bootId === null ? '' : line(bootId, join(proc, 'sys/kernel/random/boot_id'), 'none', 'bind,ro'),
  ].join('');
}
