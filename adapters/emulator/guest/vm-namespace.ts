/**
 * The namespaces of one VM: its own mounts, its own process ids, and where the host's user is not root, its own users.
 *
 * Two things keep it alive, and both end with the emulator however that ends: the kernel's parent-death signal, and
 * a pipe on which the first process of the VM reads until it closes.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mountTable } from './mounts.ts';
import type { SharedView } from './mounts.ts';
import { onlyChild } from './proc-table.ts';
import type { Tools } from './tools.ts';
import type { VmDirectory } from './vm-directory.ts';

/** Namespaces with their first process in them. */
export interface VmNamespace {
  /** The first process of the VM, by its number on the host. */
  readonly initPid: number;
  /** Resolves once the first process has ended, by itself or not: its number may soon be another's. */
  readonly ended: Promise<unknown>;
  /** The arguments after `setpriv` that run a command inside, ending with its parent. */
  enter(command: readonly string[]): string[];
  /** Ends every process inside. Resolves when the kernel has ended them. */
  end(): Promise<void>;
}

/** What every isolation on this machine has in common. */
export interface NamespaceKit {
  readonly tools: Tools;
  readonly view: SharedView;
  /** Whether the users of the VM are its own: without it only root can make namespaces. */
  readonly ownUsers: boolean;
}

/** What `setpriv` is told so that a process ends with the emulator. */
const endsWithParent = ['--pdeathsig', 'KILL'];

/**
 * The first process: mounts, leaves the host's root behind, says so, and waits for the end of its input.
 * An orphan's death interrupts the read of some shells, which looks like an end; the trap tells the two apart.
 */
const initScript = (tools: Tools): string => `
set -e
"${tools.mount}" -a -T "$1/fstab"
"${tools.hostname}" "$2"
cd "$1/root"
"${tools.pivotRoot}" . .
"${tools.umount}" -l .
cd /
set +e
echo ready
trap 'orphan=1' CHLD
while :; do
  orphan=
  read -r line || [ -n "$orphan" ] || exit 0
  (:)
done
`;

const hostPath = 'PATH=/usr/sbin:/usr/bin:/sbin:/bin';

/** Reads until the first process says that it is ready; throws what it said instead. */
async function ready(init: ChildProcess): Promise<void> {
  let said = '';
  let complaint = '';
  init.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, 2_000);
  });
  for await (const text of init.stdout?.setEncoding('utf8') ?? []) {
    said += text as string;
    if (said.includes('ready\n')) return;
  }
  throw new Error(`namespaces: ${complaint.trim() || 'the first process ended at once'}`);
}

/**
 * Makes the namespaces of a VM and mounts its root.
 *
 * @param machineId - 32 hex digits from which the host name and the boot id are made; `null` leaves them as they are
 */
export async function createVmNamespace(
  directory: VmDirectory,
  kit: NamespaceKit,
  machineId: string | null,
): Promise<VmNamespace> {
  const { tools, ownUsers } = kit;
  const bootId = machineId === null ? null : join(directory.path, 'boot_id');
  if (bootId !== null) writeFileSync(bootId, `${machineId?.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}\n`);
  writeFileSync(join(directory.path, 'fstab'), mountTable(kit.view, directory.root, bootId));
  const namespaces = [
    ...(ownUsers ? ['--user', '--map-root-user'] : []),
    '--mount',
    '--uts',
    '--pid',
    '--fork',
    '--kill-child',
  ];
  const args = [...endsWithParent, tools.unshare, ...namespaces, tools.sh, '-c', initScript(tools), 'init'];
  const hostName = machineId === null ? 'microvm' : `microvm-${machineId.slice(0, 12)}`;
  const init = spawn(tools.setpriv, [...args, directory.path, hostName], {
    detached: true,
    env: { PATH: hostPath.slice(5) },
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  init.stdin.on('error', () => undefined);
  const ended = once(init, 'exit');
  ended.catch(() => undefined);
  await ready(init);
  const initPid = onlyChild(init.pid ?? 0);
  if (initPid === null) throw new Error('namespaces: the first process ended at once');
  // A VM at rest does not keep the emulator's process alive.
  for (const handle of [init, init.stdin, init.stdout, init.stderr]) (handle as unknown as { unref(): void }).unref();

  return {
    initPid,
    ended: ended.catch(() => undefined),
    enter: (command) => [
      ...endsWithParent,
      tools.nsenter,
      `--target=${initPid}`,
      ...(ownUsers ? ['--user', '--preserve-credentials'] : []),
      '--mount',
      '--uts',
      '--pid',
      ...command,
    ],
    async end() {
      if (init.exitCode !== null || init.signalCode !== null) return;
      init.ref();
      try {
        process.kill(initPid, 'SIGKILL');
      } catch {
        init.kill('SIGKILL');
      }
      await ended;
    },
  };
}
