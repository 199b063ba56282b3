/** Which isolation this machine can give a VM. Found out once, by trying. */
import { spawnSync } from 'node:child_process';
import { findTools } from './tools.ts';
import type { Tools } from './tools.ts';

/** What was found. */
export type Isolation =
  | { readonly kind: 'namespaces'; readonly ownUsers: boolean; readonly tools: Tools; readonly notice: string }
  | { readonly kind: 'plain'; readonly notice: string };

/** How a caller may choose. `auto` takes the best that works. */
export type IsolationChoice = 'auto' | 'plain';

const plain = (why: string): Isolation => ({
  kind: 'plain',
  notice: `VMs are plain processes in private directories, without isolation (${why}).`,
});

let found: Isolation | null = null;

function probe(): Isolation {
  if (process.platform !== 'linux') return plain(`${process.platform} has no namespaces`);
  const tools = findTools();
  if ('missing' in tools) return plain(`no program "${tools.missing}"`);
  const ownUsers = process.geteuid?.() !== 0;
  const users = ownUsers ? ['--user', '--map-root-user'] : [];
  // What a VM needs, in the order in which machines tend to forbid it.
  const trial = [
    `${tools.mount} -t proc proc /proc`,
    `${tools.hostname} trial`,
    `${tools.mount} -t tmpfs tmpfs /tmp`,
    `cd /tmp`,
    `${tools.pivotRoot} . .`,
  ].join(' && ');
  const { status, stderr, error } = spawnSync(
    tools.unshare,
    [...users, '--mount', '--uts', '--pid', '--fork', '--kill-child', tools.sh, '-c', trial],
    { env: {}, cwd: '/', encoding: 'utf8', timeout: 10_000 },
  );
  if (status !== 0) return plain(error?.message ?? (stderr.trim().split('\n')[0] || 'namespaces are forbidden'));
  return {
    kind: 'namespaces',
    ownUsers,
    tools,
    notice: ownUsers
      ? 'Each VM has its own root, process ids and users (as an ordinary user: one user per VM); the network is shared.'
      : 'Each VM has its own root and process ids; the network is shared.',
  };
}

/** The isolation to use. */
export function chooseIsolation(choice: IsolationChoice = 'auto'): Isolation {
  if (choice === 'plain') return plain('as asked for');
  found ??= probe();
  return found;
}
