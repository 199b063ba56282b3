/** An emulator that is killed, or run by an ordinary user: its VMs are no less their own, and none outlives it. */
import { describe, expect, test } from '@jest/globals';
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createProcessGuests } from '../../adapters/emulator/guest/index.ts';
import { eventually } from './guest-harness.ts';

const here = dirname(fileURLToPath(import.meta.url));
const loader = join(here, '..', 'helpers', 'typescript-loader.mjs');
const isolated = /own root/.test(createProcessGuests().notice);
const isRoot = process.geteuid?.() === 0;
const somebody = 65_534;
/** A checkout in a private home cannot be run by others. */
const isReachable =
  isRoot &&
  spawnSync(process.execPath, ['-e', 'fs.readFileSync(process.argv[1])', loader], { uid: somebody, gid: somebody })
    .status === 0;
const onLinux = process.platform === 'linux' ? describe : describe.skip;

interface Seen {
  readonly notice: string;
  readonly id: string;
  readonly asRoot: string;
  readonly asOther: number;
  readonly put: number;
  readonly own: string;
  readonly count: string;
  readonly pids: number[];
}

function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return pid !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    });
}

/** Starts the child and waits for its line. */
async function startEmulator(
  isolation: 'auto' | 'plain',
  directory: string,
  seconds: string,
  count: number,
  uid?: number,
): Promise<{ child: ChildProcess; seen: Seen }> {
  const args = ['--import', loader, join(here, 'child-emulator.ts'), isolation, directory, seconds, String(count)];
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let text = '';
  for await (const piece of child.stdout.setEncoding('utf8')) {
    text += piece as string;
    if (text.includes('\n')) break;
  }
  return { child, seen: JSON.parse(text) as Seen };
}

let counter = 0;
const mark = (): string => `${80_000 + process.pid}.${(counter += 1)}`;
const scratch = (uid?: number): string => {
  const directory = mkdtempSync(join(tmpdir(), 'vmchart-test-'));
  chmodSync(directory, 0o755);
  if (uid !== undefined) chownSync(directory, uid, uid);
  return directory;
};

onLinux('SIGKILL to the emulator', () => {
  test.each(isolated ? (['auto', 'plain'] as const) : (['plain'] as const))(
    '%s: leaves no process, no mount and no file, frozen or not',
    async (isolation) => {
      const directory = scratch();
      const seconds = mark();
      const { child } = await startEmulator(isolation, directory, seconds, 3);
      // Nine sleepers, their shells and, with namespaces, the wrappers around those.
      expect(processesWith(seconds).length).toBeGreaterThanOrEqual(9);
      child.kill('SIGKILL');
      await once(child, 'exit');
      // In namespaces nobody escapes; without them a session of its own does, which the notice says.
      const left = () => processesWith(seconds).filter((pid) => pid !== child.pid);
      if (isolation === 'auto') await eventually(() => left().length === 0);
      else {
        await eventually(() => left().length <= 3);
        for (const pid of left()) process.kill(pid, 'SIGKILL');
      }
      await eventually(() => readdirSync(directory).length === 0);
      await eventually(() => processesWith(directory).length === 0);
      rmSync(directory, { recursive: true });
    },
    60_000,
  );
});

(isRoot && isolated && isReachable ? describe : describe.skip)('an ordinary user', () => {
  test('has VMs of its own too, with one user in each, and leaves nothing', async () => {
    const directory = scratch(somebody);
    const seconds = mark();
    const { child, seen } = await startEmulator('auto', directory, seconds, 2, somebody);
    if (/plain processes/.test(seen.notice)) {
      // Namespaces are not for everybody on this machine: the notice says so, and that is all there is to see.
      child.stdin?.end();
      await once(child, 'exit');
      return;
    }
    expect(seen.notice).toMatch(/ordinary user/);
    expect(seen).toMatchObject({ id: '0\nput-rw------- 0\n', asRoot: '0\n', asOther: 500, put: 204, own: 'own\n' });
    expect(Number(seen.count)).toBeLessThan(12);
    expect(seen.pids).toHaveLength(3);
    child.stdin?.end();
    await once(child, 'exit');
    expect(processesWith(seconds)).toEqual([]);
    await eventually(() => readdirSync(directory).length === 0);

    const again = await startEmulator('auto', directory, seconds, 2, somebody);
    again.child.kill('SIGKILL');
    await once(again.child, 'exit');
    await eventually(() => processesWith(seconds).length === 0 && readdirSync(directory).length === 0);
    rmSync(directory, { recursive: true });
  }, 90_000);
});
