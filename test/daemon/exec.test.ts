/** Commands: how they start, what they see, how they end, and what is told of them. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { manualClock } from '../../adapters/clock.ts';
import { createProcessGuests } from '../../adapters/emulator/guest/index.ts';
import { eventually, startGuest } from './guest-harness.ts';
import type { Answer, Harness } from './guest-harness.ts';

const PATH = '/usr/bin:/bin';
const isolated = /own root/.test(createProcessGuests().notice);
const asRoot = isolated && process.geteuid?.() === 0;

let vm: Harness;
let ids = 0;
const start = (more: Record<string, unknown>, on: Harness = vm): Promise<Answer> =>
  on.call('/v1/exec/start', { json: { exec_id: `e${(ids += 1)}`, shell: true, ...more } });
const refusal = async (more: Record<string, unknown>): Promise<unknown[]> => {
  const answer = await start(more);
  expect((await vm.call(`/v1/exec/e${ids}`)).status).toBe(404);
  return [answer.status, answer.json()['error']];
};
const out = async (command: string, more: Record<string, unknown> = {}): Promise<unknown> =>
  (await vm.run(command, more))['stdout'];

describe('starting', () => {
  beforeAll(async () => {
    vm = await startGuest({
      environment: { IMAGE: 'image', HOME: '/image', AGENTD_LOG: 'debug' },
      payload: { env: { LAUNCH: 'launch', BOTH: 'launch' } },
    });
    await vm.call('/v1/fs/file?path=/etc/passwd', {
      method: 'PUT',
      body: '# comment\n+nis:x:1:1:::\nroot:x:0:0:root:/root:/bin/sh\nshort:x:5:5\nworker:x:1234:1235:W:/home/worker:/bin/sh\n4321:x:77:78::/home/digits:/bin/sh\nbad:x:y:z:::\n',
    });
    await vm.call('/v1/fs/file?path=/etc/group', { method: 'PUT', body: 'root:x:0:\nstaff:x:2000:a,b\n' });
  });
  afterAll(() => vm.close());

  test('7.6 the environment is exactly its layers, and empty when there are none', async () => {
    const env = async (more: Record<string, unknown> = {}) =>
      String(await out('env', more))
        .trim()
        .split('\n')
        .sort();
    const dashAdds = (lines: string[]) => lines.filter((line) => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line));
    expect(dashAdds(await env({ env: { BOTH: 'request' } }))).toEqual(['BOTH=request', 'LAUNCH=launch']);
    expect(dashAdds(await env({ inherit_image_env: true }))).toEqual([
      'BOTH=launch',
      'HOME=/image',
      'IMAGE=image',
      'LAUNCH=launch',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ]);
    const exact = { command: ['/usr/bin/env'], shell: false, env: { LAUNCH: '', BOTH: '' } };
    expect(await out('', exact)).toBe('LAUNCH=\nBOTH=\n');
  });

  test('7.6 every name and value arrives as it was, also those that shells would act upon', async () => {
    const env: Record<string, string> = {
      QUOTES: `a'b"c$d\`e\\f\n\tg!`,
      UTF8: 'é🚀',
      'with.dot': '1',
      'A-B': '2',
      PWD: '/nowhere',
      OLDPWD: 'x',
      _: 'under',
      SHLVL: '41',
      UID: '99',
      IFS: ',',
      PS4: 'p',
      BASH_ENV: '/x',
      ENV: '/x',
      LD_VMCHART: 'y',
      LC_ALL: 'C',
      RANDOM: '1',
      LAUNCH: '',
      BOTH: '',
      EMPTY: '',
    };
    const text = String(await out('', { command: ['/usr/bin/env', '-0'], shell: false, env }));
    const seen = text
      .split('\0')
      .slice(0, -1)
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
    expect(Object.fromEntries(seen)).toEqual(env);
  });

  test('7.1 arguments arrive as they were', async () => {
    const command = ['/usr/bin/printf', '%s|', '', 'a b', "it's", '$HOME', '*', '-n', 'é\n', '--', ';'];
    expect(await out('', { command, shell: false })).toBe("|a b|it's|$HOME|*|-n|é\n|--|;|");
    const joined = { command: ['echo one', 'echo two'] };
    expect(await out('', joined)).toBe('one\ntwo\n');
    expect(await vm.run('')).toMatchObject({ exit_code: 0, stdout: '' });
  });

  test('7.1 the directory is the workspace unless another is asked for', async () => {
    expect(await out('pwd')).toBe('/workspace\n');
    expect(await out('pwd', { cwd: '/etc' })).toBe('/etc\n');
    expect(await out('mkdir -p sub; cd sub; pwd')).toBe('/workspace/sub\n');
    expect(await out('pwd', { cwd: 'sub' })).toBe('/workspace/sub\n');
  });

  test('1.4 what the system refuses is 500 spawn_failed, and registers nothing', async () => {
    expect(await refusal({ command: ['/no/such'], shell: false })).toEqual([500, 'spawn_failed']);
    expect(await refusal({ command: ['no-such-program'], shell: false, env: { PATH } })).toEqual([500, 'spawn_failed']);
    expect(await refusal({ command: ['/etc'], shell: false })).toEqual([500, 'spawn_failed']);
    expect(await refusal({ command: ['/etc/passwd'], shell: false })).toEqual([500, 'spawn_failed']);
    expect(await refusal({ command: [''], shell: false })).toEqual([500, 'spawn_failed']);
    expect(await refusal({ command: ['true'], cwd: '/no/such' })).toEqual([500, 'spawn_failed']);
    expect(await refusal({ command: ['true'], cwd: '/etc/passwd' })).toEqual([500, 'spawn_failed']);
    expect(await refusal({ command: ['a\0b'] })).toEqual([500, 'spawn_failed']);
  });

  test('7.3 names are looked up in order, and the first that fails speaks', async () => {
    expect(await refusal({ command: [], shell: false, user: 'nobody-here', group: 'none', timeout_sec: 1 })).toEqual([
      400,
      'unknown_user',
    ]);
    expect(await refusal({ command: [], shell: false, user: 0, group: 'none' })).toEqual([400, 'unknown_group']);
    expect(await refusal({ command: [], shell: 'none', user: 0, group: 0 })).toEqual([400, 'unknown_shell']);
    expect(await refusal({ command: [], shell: false, user: 0 })).toEqual([400, 'malformed_request']);
    for (const user of ['+nis', 'short', 'bad', '# comment', '99999999999', '']) {
      expect([user, ...(await refusal({ command: ['true'], user }))]).toEqual([user, 400, 'unknown_user']);
    }
    for (const shell of ['bin/sh', '/etc/passwd', '/no/such', './sh']) {
      expect([shell, ...(await refusal({ command: ['true'], shell }))]).toEqual([shell, 400, 'unknown_shell']);
    }
    // A retry of a known id is checked like any other request.
    const known = { exec_id: 'known', command: ['true'] };
    expect((await start(known)).status).toBe(200);
    expect((await start({ ...known, user: 'nobody-here' })).status).toBe(400);
    expect((await start(known)).json()).toEqual({ exec_id: 'known', phase: 'running' });
  });

  test('7.5 a shell is found on the child’s PATH, then the image’s, then in the usual places', async () => {
    expect(await out('echo $0', { shell: '/bin/sh' })).toBe('/bin/sh\n');
    expect(await out('echo $0', { shell: 'sh', env: { PATH: 'relative:/no/such' } })).toMatch(/^\/.*\/sh\n$/);
    await vm.run("printf '#!/bin/sh\\necho mine $1 $2\\n' > /tmp/own; chmod 755 /tmp/own");
    expect(await out('x y', { shell: 'own', env: { PATH: '/tmp' } })).toBe('mine -c x y\n');
  });

  (asRoot ? test : test.skip)('7.4 users and groups come from the VM’s own files', async () => {
    const id = (more: Record<string, unknown>) => out('id -u; id -g; id -G; echo $HOME $USER $LOGNAME', more);
    expect(await id({ user: 'worker' })).toBe('1234\n1235\n1235\n/home/worker worker worker\n');
    expect(await id({ user: 1234 })).toBe('1234\n0\n0\n/home/worker worker worker\n');
    expect(await id({ user: 'worker', group: 'staff' })).toBe('1234\n2000\n2000\n/home/worker worker worker\n');
    expect(await id({ user: '4321' })).toBe('77\n78\n78\n/home/digits 4321 4321\n');
    expect(await id({ user: '555' })).toBe('555\n0\n0\n\n');
    expect(await id({ group: 7 })).toBe('0\n7\n7\n\n');
    expect(await id({ user: 0 })).toBe('0\n0\n0\n/root root root\n');
    expect(await out('touch /etc/mine 2>&1; touch /tmp/mine && echo ok', { user: 'worker' })).toMatch(/denied\n?ok\n$/);
    expect(await out('echo $HOME', { user: 'worker', env: { HOME: '/request' } })).toBe('/request\n');
  });

  test('7.4 an image may have a default user, which a request overrides', async () => {
    const other = await startGuest({ environment: { AGENTD_DEFAULT_USER: 'root' } });
    try {
      expect((await other.run('echo $USER'))['stdout']).toBe('root\n');
    } finally {
      await other.close();
    }
    const refusing = await startGuest({ environment: { AGENTD_DEFAULT_USER: '' } });
    try {
      const answer = await refusing.call('/v1/exec/start', { json: { exec_id: 'x', command: ['true'], shell: true } });
      expect([answer.status, answer.json()['error']]).toEqual([400, 'unknown_user']);
      expect((await refusing.run('echo ok', { user: 0 }))['stdout']).toBe('ok\n');
    } finally {
      await refusing.close();
    }
  });
});

describe('ending', () => {
  const clock = manualClock();
  beforeAll(async () => {
    vm = await startGuest({ clock, environment: { AGENTD_MAX_OUTPUT_BYTES: '10' } });
  });
  afterAll(() => vm.close());
  afterEach(async () => {
    // Whatever a test left to its grace.
    await clock.advance(20_000);
  });
  const poll = async (id: string) => (await vm.call(`/v1/exec/${id}`)).json();
  const exited = (id: string) => vm.exited(id);
  const post = async (path: string) => (await vm.call(path, { method: 'POST' })).json();

  test('8.2 codes, signals and lossy text', async () => {
    expect(await vm.run('exit 3')).toMatchObject({ phase: 'acked', exit_code: 3, signal: null });
    expect(await vm.run('kill -KILL $$')).toMatchObject({ exit_code: null, signal: 9 });
    expect(await vm.run('kill -SEGV $$')).toMatchObject({ exit_code: null, signal: 11 });
    expect(await vm.run("printf '\\303\\050 \\360\\237'")).toMatchObject({ stdout: '\ufffd( \ufffd' });
  });

  test('8.2 polls keep the first bytes of each stream, and say when there was more', async () => {
    expect(await vm.run('printf 1234567890')).toMatchObject({ stdout: '1234567890', truncated: false });
    expect(await vm.run('printf 1234567890a; printf b >&2')).toMatchObject({
      stdout: '1234567890',
      stderr: 'b',
      truncated: true,
    });
  });

  test('FC-079 the same id starts one child, however often and however fast', async () => {
    await vm.run('rm -f /tmp/ran');
    const json = { exec_id: 'once', command: ['echo x >> /tmp/ran'], shell: true };
    const answers = await Promise.all(Array.from({ length: 6 }, () => vm.call('/v1/exec/start', { json })));
    expect(answers.map(({ status, text }) => [status, text])).toEqual(
      Array.from({ length: 6 }, () => [200, '{"exec_id":"once","phase":"running"}']),
    );
    await exited('once');
    expect((await vm.run('cat /tmp/ran'))['stdout']).toBe('x\n');
    await post('/v1/exec/once/ack');
    expect((await vm.call('/v1/exec/start', { json })).json()).toEqual({ exec_id: 'once', phase: 'running' });
    expect((await vm.run('cat /tmp/ran'))['stdout']).toBe('x\n');
  });

  test('FC-089 start, poll, ack are separate, and of racing acks one wins', async () => {
    await start({ exec_id: 'held', command: ['echo out; read x'], stdin: true });
    expect(await poll('held')).toEqual({ exec_id: 'held', phase: 'running' });
    expect((await vm.call('/v1/health')).json()).toMatchObject({ busy: true });
    expect(await post('/v1/exec/held/ack')).toMatchObject({ error: 'still_running' });
    await vm.call('/v1/exec/held/stdin', { json: { signal: 'eof' } });
    expect(await exited('held')).toMatchObject({ stdout: 'out\n', exit_code: 1 });
    expect((await vm.call('/v1/health')).json()).toMatchObject({ busy: false });
    const acks = await Promise.all([1, 2, 3].map(() => vm.call('/v1/exec/held/ack', { method: 'POST' })));
    expect(acks.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(await poll('held')).toEqual({ exec_id: 'held', phase: 'acked' });
  });

  test('8.4 at the deadline the group is ended, and the result says so whatever the code', async () => {
    await start({ exec_id: 'late', command: ['sleep 1000 & sleep 1000'], timeout_sec: 2 });
    await clock.advance(1_999);
    expect((await poll('late'))['phase']).toBe('running');
    await clock.advance(1);
    expect(await exited('late')).toMatchObject({ timed_out: true, signal: 15, exit_code: null });
    const command = ["trap 'exit 0' TERM; echo up > /tmp/trapping; while :; do sleep 0.01; done"];
    await start({ exec_id: 'traps', command, timeout_sec: 1.5 });
    await eventually(async () => (await vm.call('/v1/fs/file?path=/tmp/trapping')).status === 200);
    await clock.advance(1_500);
    expect(await exited('traps')).toMatchObject({ timed_out: true, exit_code: 0, signal: null });
  });

  test('8.4 who ignores SIGTERM gets SIGKILL after the grace', async () => {
    const command = ["trap '' TERM; echo up > /tmp/up; while :; do sleep 0.01; done"];
    await start({ exec_id: 'deaf', command, timeout_sec: 1 });
    await eventually(async () => (await vm.call('/v1/fs/file?path=/tmp/up')).status === 200);
    await clock.advance(1_000);
    await clock.advance(9_999);
    expect((await poll('deaf'))['phase']).toBe('running');
    await clock.advance(1);
    expect(await exited('deaf')).toMatchObject({ timed_out: true, signal: 9 });
  });

  test('8.3 a background process with the pipe delays the result by the linger, and goes on', async () => {
    await start({ exec_id: 'left', command: ['sleep 1000 & echo done'] });
    const gone = await eventually(async () => {
      const [group] = (
        (await vm.call('/v1/procs')).json()['procs'] as { exec_id: string; pids: number[]; pgid: number }[]
      ).filter(({ exec_id }) => exec_id === 'left');
      return group !== undefined && !group.pids.includes(group.pgid) && group;
    });
    expect(gone.pids).toHaveLength(1);
    await clock.advance(4_999);
    expect((await poll('left'))['phase']).toBe('running');
    await clock.advance(1);
    expect(await exited('left')).toMatchObject({ stdout: 'done\n', exit_code: 0, writers_may_be_alive: true });
    const procs = (await vm.call('/v1/procs')).json()['procs'] as Record<string, unknown>[];
    expect(procs.find(({ exec_id }) => exec_id === 'left')).toMatchObject({
      child_exited: true,
      reap: false,
      pids: gone.pids,
    });
    expect(await post('/v1/exec/left/kill')).toEqual({ exec_id: 'left', killed: true });
    expect(await post('/v1/exec/left/kill')).toEqual({ exec_id: 'left', killed: false });
  });

  test('8.3 with reap_group_on_exit what is left ends with the child', async () => {
    await start({ exec_id: 'reaped', command: ['sleep 1000 & echo done'], reap_group_on_exit: true });
    expect(await exited('reaped')).toMatchObject({ stdout: 'done\n', writers_may_be_alive: false });
    const procs = (await vm.call('/v1/procs')).json()['procs'] as Record<string, unknown>[];
    expect(procs.find(({ exec_id }) => exec_id === 'reaped')).toMatchObject({ reap: true, pids: [] });
  });

  test('8.6 a kill reaches the whole group at once, and is fine when repeated', async () => {
    await start({ exec_id: 'victim', command: ['sleep 1000 & sleep 1000'] });
    const [first, second] = await Promise.all([post('/v1/exec/victim/kill'), post('/v1/exec/victim/kill')]);
    expect([first?.['killed'], second?.['killed']]).toContain(true);
    expect(await exited('victim')).toMatchObject({ signal: 15, timed_out: false });
    expect(await post('/v1/exec/victim/kill')).toMatchObject({ killed: false });
    expect(await post('/v1/exec/none/kill')).toEqual({ error: 'unknown_exec', detail: 'none' });
  });

  test('8.1 acknowledged execs go after their retention, others never', async () => {
    await start({ exec_id: 'kept', command: ['true'] });
    await start({ exec_id: 'taken', command: ['true'] });
    await exited('kept');
    await exited('taken');
    await post('/v1/exec/taken/ack');
    await clock.advance(900_000);
    expect((await poll('taken'))['phase']).toBe('acked');
    await clock.advance(1);
    expect(await poll('taken')).toEqual({ error: 'unknown_exec', detail: 'taken' });
    expect((await poll('kept'))['phase']).toBe('exited');
    expect((await start({ exec_id: 'taken', command: ['echo again'] })).status).toBe(200);
    expect(await exited('taken')).toMatchObject({ stdout: 'again\n' });
  });

  test('17 a deadline that passes while the VM is frozen is due when it goes on', async () => {
    await start({ exec_id: 'slept', command: ['sleep 1000'], timeout_sec: 10 });
    await vm.guest.freeze();
    await clock.advance(60_000);
    await vm.guest.thaw();
    expect(await exited('slept')).toMatchObject({ timed_out: true, signal: 15 });
  });
});
