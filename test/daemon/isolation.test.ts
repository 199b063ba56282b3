/** VMs of their own: what a VM sees, what it cannot, and what is left of it. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProcessGuests } from '../../adapters/emulator/guest/index.ts';
import { eventually, startGuest, token } from './guest-harness.ts';
import type { Harness } from './guest-harness.ts';

const isolated = /own root/.test(createProcessGuests().notice);
const onLinux = process.platform === 'linux' ? describe : describe.skip;

/** Host processes whose command line holds a text. */
function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

let counter = 0;
/** A number that only one test sleeps for, so that its processes can be told from all others. */
const mark = (): string => `${70_000 + process.pid}.${(counter += 1)}`;

const open: Harness[] = [];
const start = async (options: Parameters<typeof startGuest>[0] = {}): Promise<Harness> => {
  const vm = await startGuest(options);
  open.push(vm);
  return vm;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((vm) => vm.close()));
});
const out = async (vm: Harness, command: string, more?: Record<string, unknown>): Promise<unknown> =>
  (await vm.run(command, more))['stdout'];

test('a notice of one line says how isolated VMs are', async () => {
  expect(createProcessGuests().notice).toMatch(/^[^\n]+$/);
  expect(createProcessGuests({ isolation: 'plain' }).notice).toMatch(/^VMs are plain processes[^\n]*$/);
});

(isolated ? describe : describe.skip)('namespaces', () => {
  test('a VM has its own root, and of the host only its programs, read-only', async () => {
    const vm = await start();
    expect(await out(vm, 'ls /')).toBe(
      [...new Set(['bin', 'dev', 'etc', 'home', 'proc', 'root', 'run', 'sbin', 'tmp', 'usr', 'var', 'workspace'])]
        .concat(['lib', 'lib32', 'lib64', 'libx32'].filter((name) => existsSync(`/${name}`)))
        .sort()
        .map((name) => `${name}\n`)
        .join(''),
    );
    expect(await out(vm, 'touch /usr/x /bin/x 2>&1 | wc -l')).toBe('2\n');
    expect(await out(vm, 'touch /etc/x /tmp/x /root/x /workspace/x /dev/shm/x && echo done')).toBe('done\n');
    expect(await out(vm, 'pwd')).toBe('/workspace\n');
    expect(await out(vm, 'ls /etc/shadow 2>/dev/null; echo $?')).toBe('2\n');
    expect(await out(vm, 'echo hi > /dev/null; head -c 3 /dev/zero | wc -c; echo err > /dev/stderr')).toBe('3\n');
  });

  test('a VM has its own process ids, and each command a group of its own', async () => {
    const vm = await start();
    const [pid, group] = String(await out(vm, 'cut -d" " -f1,5 /proc/self/stat | head -1; echo $$')).split('\n');
    expect(Number(pid?.split(' ')[0])).toBeLessThan(200);
    expect(group).toMatch(/^\d+$/);
    expect(await out(vm, 'kill -0 -$$ && echo mine')).toBe('mine\n');
    expect(await out(vm, `ls /proc | grep -c '^${process.pid}$'`)).toBe('0\n');
  });

  test('two VMs see neither each other’s files nor processes, nor the same identity', async () => {
    const [one, two] = [await start(), await start()];
    const seconds = mark();
    await one.call('/v1/exec/start', { json: { exec_id: 'long', command: ['sleep', seconds], env: { PATH: '/bin' } } });
    await out(one, 'echo secret > /tmp/mine');
    expect(
      await out(
        two,
        `cat /tmp/mine 2>/dev/null; cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[s]leep ${seconds}'`,
      ),
    ).toBe('0\n');
    const identity = 'cat /etc/machine-id /proc/sys/kernel/random/boot_id; hostname';
    const [first, second] = [String(await out(one, identity)), String(await out(two, identity))];
    const [machineId = '', bootId = '', name = ''] = first.split('\n');
    expect(bootId.replaceAll('-', '')).toBe(machineId);
    expect(name).toBe(`microvm-${machineId.slice(0, 12)}`);
    expect(first.split('\n').filter((line) => line !== '' && second.includes(line))).toEqual([]);
  });

  test('root of a VM cannot mount, make devices, or change the host’s kernel', async () => {
    const vm = await start();
    const tries = [
      'mount -t tmpfs none /tmp',
      'mknod /tmp/disk b 8 0',
      'echo x > /proc/sys/kernel/core_pattern',
      'echo b > /proc/sysrq-trigger',
      'chroot /proc/1/root true',
      'hostname elsewhere',
      'umount /usr',
    ];
    for (const attempt of tries)
      expect([attempt, await out(vm, `(${attempt}) 2>/dev/null; echo $?`)]).not.toEqual([attempt, '0\n']);
  });

  test('orphans are taken care of by the first process, which lives on', async () => {
    const vm = await start();
    await out(vm, 'for i in 1 2 3 4 5; do (sleep 0.05 &) ; done');
    await eventually(
      async () => (await out(vm, 'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l')) === '0\n',
    );
    expect(await out(vm, 'cat /proc/1/comm')).toBe('sh\n');
  });

  test('FC-142 a freeze stops every process at once, memory survives, and a thaw continues', async () => {
    const vm = await start();
    const script = 'i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.01; done';
    for (const exec_id of ['a', 'b']) {
      await vm.call('/v1/exec/start', { json: { exec_id, command: [script], shell: true, env: { PATH: '/bin' } } });
    }
    const count = async (): Promise<number> => Number(await out(vm, 'cat /tmp/count'));
    await eventually(async () => (await count()) > 3);
    const procs = (await vm.call('/v1/procs')).json()['procs'] as { pids: number[] }[];
    for (let cycle = 0; cycle < 3; cycle += 1) {
      await vm.guest.freeze();
      const states = processesWith(script).map(
        (pid) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0],
      );
      expect(states.length).toBeGreaterThanOrEqual(2);
      // A shell that waits for a child it has just made is `D` for as long as that child is stopped.
      expect(states.filter((state) => state !== 'T' && state !== 'D')).toEqual([]);
      expect(states).toContain('T');
      await vm.guest.thaw();
      const before = await count();
      await eventually(async () => (await count()) > before);
    }
    const after = (await vm.call('/v1/procs')).json()['procs'] as { exec_id: string; pids: number[] }[];
    const leaders = (list: { pids: number[] }[]) => list.map(({ pids }) => pids[0]);
    expect(leaders(after.filter(({ exec_id }) => exec_id === 'a' || exec_id === 'b')).sort()).toEqual(
      leaders(procs.filter(({ pids }) => pids.length > 0)).sort(),
    );
    expect((await vm.call('/v1/exec/a/kill', { method: 'POST' })).json()).toEqual({ exec_id: 'a', killed: true });
  });

  test('a start that is under way when the VM freezes neither escapes the freeze nor is lost', async () => {
    const vm = await start();
    const seconds = mark();
    await out(vm, 'true');
    const starts = Array.from({ length: 6 }, (_, index) =>
      vm
        .call('/v1/exec/start', { json: { exec_id: `s${index}`, command: ['sleep', seconds], env: { PATH: '/bin' } } })
        .catch(() => null),
    );
    await new Promise((resolve) => setTimeout(resolve, 8));
    await vm.guest.freeze();
    const running = processesWith(seconds).filter((pid) =>
      readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') S '),
    );
    expect(running).toEqual([]);
    await vm.guest.thaw();
    await Promise.all(starts);
    const ids = ((await vm.call('/v1/procs')).json()['procs'] as { exec_id: string; child_exited: boolean }[]).filter(
      ({ exec_id, child_exited }) => exec_id.startsWith('s') && !child_exited,
    );
    expect(processesWith(seconds).length).toBeGreaterThanOrEqual(ids.length);
  });

  test('a program that stops itself and is woken from inside still reports its end', async () => {
    const vm = await start();
    const script = '(sleep 0.1; kill -CONT $$) & kill -STOP $$; exit 7';
    expect((await vm.run(script))['exit_code']).toBe(7);
  });

  test('a VM whose first process is killed is reported as ended, and nothing else is touched', async () => {
    const vm = await start();
    const seconds = mark();
    await vm.call('/v1/exec/start', { json: { exec_id: 'x', command: ['sleep', seconds], env: { PATH: '/bin' } } });
    const sleeper = (await eventually(() =>
      processesWith(seconds).find((pid) => /^[^)]*\(sleep\)/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))),
    )) as number;
    const exitCode = new Promise<number>((resolve) => vm.guest.onExit(resolve));
    const namespace = readlinkSync(`/proc/${sleeper}/ns/pid`);
    const first = readdirSync('/proc')
      .filter((name) => /^[0-9]+$/.test(name))
      .find((name) => {
        try {
          return (
            readlinkSync(`/proc/${name}/ns/pid`) === namespace &&
            / 1$/m.test(
              /^NSpid:.*$/m.exec(readFileSync(`/proc/${name}/status`, 'latin1'))?.[0].replaceAll('\t', ' ') ?? '',
            )
          );
        } catch {
          return false;
        }
      });
    process.kill(Number(first), 'SIGKILL');
    expect(await exitCode).toBe(137);
    await eventually(() => processesWith(seconds).length === 0);
    expect((await vm.call('/v1/exec/x/kill', { method: 'POST' })).json()).toMatchObject({ killed: false });
    expect((await vm.call('/v1/exec/start', { json: { exec_id: 'y', command: ['/bin/true'] } })).status).toBe(500);
    expect((await vm.call('/v1/fs/file?path=/proc/1/comm')).status).toBe(404);
  });

  test('a VM without commands costs no process', async () => {
    const own = (): number[] =>
      processesWith('unshare').filter((pid) =>
        readFileSync(`/proc/${pid}/stat`, 'latin1').includes(`) S ${process.pid} `),
      );
    const vm = await start();
    expect((await vm.call('/v1/health')).json()).toMatchObject({ bootstrapped: true });
    expect(own()).toEqual([]);
    await vm.run('true');
    expect(own()).toHaveLength(1);
  });
});

onLinux('nothing is left', () => {
  test.each(isolated ? (['auto', 'plain'] as const) : (['plain'] as const))(
    '%s: destroy ends every process and removes every file',
    async (isolation) => {
      const directory = mkdtempSync(join(tmpdir(), 'vmchart-test-'));
      const vm = await start({ isolation, directory });
      const seconds = mark();
      const command = `sleep ${seconds} & setsid sleep ${seconds} & mkdir shut; touch shut/x; chmod 0 shut; trap '' TERM; sleep ${seconds}`;
      await vm.call('/v1/exec/start', {
        json: { exec_id: 'x', command: [command], shell: true, env: { PATH: '/bin' } },
      });
      await eventually(() => processesWith(seconds).length >= 3);
      await vm.guest.destroy();
      await vm.guest.destroy();
      expect(processesWith(seconds)).toEqual([]);
      expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(directory);
      await vm.close();
      expect(readdirSync(directory)).toEqual([]);
      rmSync(directory, { recursive: true });
    },
  );

  test('a frozen VM can be destroyed', async () => {
    const vm = await start();
    const seconds = mark();
    await vm.call('/v1/exec/start', { json: { exec_id: 'x', command: ['sleep', seconds], env: { PATH: '/bin' } } });
    await eventually(() => processesWith(seconds).length > 0);
    await vm.guest.freeze();
    await vm.guest.destroy();
    expect(processesWith(seconds)).toEqual([]);
    expect(await vm.guest.hook('terminate', null)).toEqual({ status: 502 });
  });

  test('the host’s environment does not reach a VM', async () => {
    process.env['VMCHART_LEAK'] = token;
    try {
      for (const isolation of ['auto', 'plain'] as const) {
        const vm = await start({ isolation });
        if (isolation === 'auto' && isolated) {
          expect(await out(vm, 'cat /proc/*/environ | tr "\\0" "\\n" | grep -c LEAK')).toBe('0\n');
        }
        expect(await out(vm, 'env', { inherit_image_env: true })).not.toContain('LEAK');
        expect(await out(vm, 'env', { env: { ONLY: 'this' } })).not.toContain('LEAK');
      }
    } finally {
      delete process.env['VMCHART_LEAK'];
    }
  });
});
