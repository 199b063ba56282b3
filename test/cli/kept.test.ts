/** VMs that stay: kept under a name by one call, used and ended by others. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmulator } from '../../adapters/emulator/index.ts';
import type { Emulator } from '../../adapters/emulator/index.ts';
import { HandSignals, cli, envelopeOf, json } from './harness.ts';

// Real processes on a machine that may be busy.
jest.setTimeout(60_000);

let emulator: Emulator;
let home: string;
let environment: Record<string, string>;

beforeAll(async () => {
  emulator = await startEmulator();
});
afterAll(() => emulator.close());
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'vmchart-home-'));
  environment = { VMCHART_HOME: join(home, 'state') };
});
afterEach(async () => {
  emulator.faults.clear();
  await rm(home, { recursive: true, force: true });
});

const at = (...words: string[]) => json(words, { environment });
const keep = (name: string, ...more: string[]) =>
  at('run', '--keep', '--name', name, '--endpoint-url', emulator.endpoint, ...more);
const recordPath = (name: string) => join(home, 'state', 'names', `${name}.json`);
/** The one secrets file of a name, relative to the state directory. */
async function secretsOf(name: string): Promise<string> {
  const files = (await readdir(join(home, 'state', 'secrets'))).filter((file) => file.startsWith(`${name}.`));
  expect(files).toHaveLength(1);
  return `secrets/${files[0] ?? ''}`;
}
const alive = () => emulator.vms().filter(({ state }) => state !== 'TERMINATED' && state !== 'TERMINATING');

async function allText(folder: string): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'utf8')),
  );
  return texts.join('\n');
}

describe('a kept VM', () => {
  test('is used, put to sleep, woken and ended by name', async () => {
    const kept = await keep('box', '--env', 'GREETING=hi', '--exec', 'echo first > note');
    expect(kept).toMatchObject({ exitCode: 0, data: { name: 'box', kept: true, lifecycle: ['PENDING', 'RUNNING'] } });
    const ran = await cli(['exec', '--name', 'box', 'cat note; echo $GREETING; echo no >&2; exit 9'], { environment });
    expect(ran).toMatchObject({ code: 13, stdout: 'first\nhi\n' });
    expect(ran.stderr).toMatch(/^no\nerror: The command exited with status 9\./);
    const words = await cli(['exec', '--name', 'box', '--exec-status', '--', 'sh', '-c', 'echo "a  b"; exit 6'], {
      environment,
    });
    expect(words).toMatchObject({ code: 6, stdout: 'a  b\n' });

    expect(await at('suspend', 'box')).toMatchObject({
      exitCode: 0,
      data: { state: 'SUSPENDED', lifecycle: ['RUNNING', 'SUSPENDING', 'SUSPENDED'] },
    });
    const calls = emulator.recorder.count('SuspendMicrovm');
    const twice = await cli(['suspend', 'box'], { environment });
    expect(twice).toMatchObject({ code: 0, stdout: '' });
    expect(twice.stderr).toMatch(/^✓ box is suspended already .*\n$/);
    expect(emulator.recorder.count('SuspendMicrovm')).toBe(calls);
    const asleep = await at('exec', '--name', 'box', 'true');
    expect(asleep).toMatchObject({ exitCode: 12, error: { suggestions: ['vmchart resume box'] } });
    expect((await at('ls')).data).toMatchObject({ vms: [{ name: 'box', state: 'SUSPENDED', problem: null }] });
    expect(await at('resume', '--name', 'box')).toMatchObject({ exitCode: 0, data: { state: 'RUNNING' } });
    expect(await at('resume', 'box')).toMatchObject({ exitCode: 0, data: { state: 'RUNNING', changed: false } });
    expect(await at('terminate', 'box')).toMatchObject({ exitCode: 0, data: { forgotten: true, outcome: 'ended' } });
    expect(alive()).toEqual([]);
    expect((await at('ls')).data).toEqual({ vms: [] });
    expect(await allText(join(home, 'state'))).toBe('');
  });

  test('is remembered without a secret in the registry, in files that only the owner reads', async () => {
    await keep('box', '--env', 'PLANTED=marker-of-the-environment');
    const secret = Object.values(
      JSON.parse(await readFile(join(home, 'state', await secretsOf('box')), 'utf8')) as Record<string, string>,
    );
    expect(secret).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    const names = await allText(join(home, 'state', 'names'));
    expect(names).not.toContain(secret[0]);
    expect(await allText(home)).not.toContain('marker-of-the-environment');
    for (const [path, mode] of [
      ['state', 0o700],
      ['state/names', 0o700],
      ['state/secrets', 0o700],
      ['state/names/box.json', 0o600],
      [`state/${await secretsOf('box')}`, 0o600],
    ] as const) {
      expect([path, (await stat(join(home, path))).mode & 0o777]).toEqual([path, mode]);
    }
    await at('terminate', 'box');
  });

  test('a taken name is the class 14 with zero calls', async () => {
    await keep('box');
    const calls = emulator.recorder.count();
    expect(await keep('box')).toMatchObject({ exitCode: 14, error: { code: 'ERR_NAME_TAKEN', kind: 'NameTaken' } });
    expect(emulator.recorder.count()).toBe(calls);
    await at('terminate', 'box');
  });

  test('a launch that is refused gives the name back; one that cannot be ended keeps it', async () => {
    emulator.faults.add({ operation: 'RunMicrovm', kind: 'access-denied' });
    expect(await keep('box')).toMatchObject({ exitCode: 4, ok: false });
    expect((await at('ls')).data).toEqual({ vms: [] });

    const interrupts = new HandSignals();
    emulator.faults.add({ operation: 'GetMicrovm', kind: 'delay', delayMs: 2_000 });
    emulator.faults.add({ operation: 'TerminateMicrovm', kind: 'access-denied' });
    const asked = emulator.recorder.count('GetMicrovm');
    const words = ['run', '--keep', '--name', 'box', '--endpoint-url', emulator.endpoint];
    const running = json(words, { environment, interrupts });
    while (emulator.recorder.count('GetMicrovm') === asked) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    interrupts.interrupt();
    expect(await running).toMatchObject({ exitCode: 11, data: { kept: false } });
    expect(alive()).toHaveLength(1);
    expect(await at('terminate', 'box')).toMatchObject({ exitCode: 0 });
    expect(alive()).toEqual([]);
  });

  test('STATE-12 a resume past the window is refused by another process with zero resume calls', async () => {
    await keep('box', '--suspended-sec', '1800');
    const path = recordPath('box');
    await at('suspend', 'box');
    const calls = emulator.recorder.count('ResumeMicrovm');
    // An hour later: the stamp of the suspend is what the window is measured from.
    const entry = JSON.parse(await readFile(path, 'utf8')) as { record: { wallOffsetMs: number } };
    entry.record.wallOffsetMs -= 3_600_000;
    await writeFile(path, JSON.stringify(entry));
    expect(await at('resume', 'box')).toMatchObject({ exitCode: 8, error: { code: 'ERR_WINDOW_CLOSED' } });
    expect(emulator.recorder.count('ResumeMicrovm')).toBe(calls);
    expect(await at('terminate', 'box')).toMatchObject({ exitCode: 0 });
  });
});

describe('commands in a kept VM', () => {
  beforeEach(async () => {
    await keep('box', '--identity');
  });
  afterEach(async () => {
    await at('terminate', 'box');
  });

  test('--stream --json prints one event a line and the envelope last', async () => {
    expect((await at('exec', '--name', 'box', '--detach', 'true')).exitCode).toBe(0);
    expect((await at('exec', '--name', 'box', '-q', 'false')).exitCode).toBe(13);
    const words = ['exec', '--name', 'box', '--stream', '--json', 'printf out; sleep 0.1; printf err >&2; exit 2'];
    const { code, stdout } = await cli(words, { environment });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.slice(0, -1)).toEqual([
      { type: 'output', stream: 'stdout', offset: 0, text: 'out', base64: 'b3V0' },
      { type: 'output', stream: 'stderr', offset: 3, text: 'err', base64: 'ZXJy' },
      { type: 'exit', exitCode: 2, signal: null, timedOut: false, posixExitCode: 2 },
    ]);
    expect(lines.at(-1)).toMatchObject({ type: 'exec', ok: false, error: { exitCode: 13 } });
    expect(code).toBe(13);
  });

  test('--detach, --poll, --wait, --kill and procs look after a command', async () => {
    const started = await at('exec', '--name', 'box', '--detach', 'read x < /dev/zero & sleep 600');
    const execId = started.data?.['execId'] as string;
    expect(await at('exec', '--name', 'box', '--poll', execId)).toMatchObject({
      exitCode: 0,
      data: { exec: { phase: 'running', done: false } },
    });
    expect((await at('procs', 'box')).data?.['procs']).toEqual([
      expect.objectContaining({ execId, childExited: false }),
    ]);
    expect(await at('exec', '--name', 'box', '--kill', execId)).toMatchObject({ data: { killed: true } });
    const ended = await at('exec', '--name', 'box', '--poll', execId, '--wait');
    expect(ended).toMatchObject({ exitCode: 13, data: { exec: { done: true } } });
    expect(ended.error?.message).toMatch(/^The command was ended by signal \d+\.$/);
    for (const how of ['--poll', '--kill']) {
      const lost = await at('exec', '--name', 'box', how, 'x-0000000000000000');
      expect(lost).toMatchObject({ exitCode: 5, error: { kind: 'Protocol' } });
      expect(lost.error?.message).toBe('box knows no command with the exec id x-0000000000000000.');
      expect(lost.error?.suggestions.join()).toContain('vmchart procs box');
    }
  });

  test('--user, --cwd and --env reach the command; an unknown user is its own typed error', async () => {
    const line = 'echo $PWD $WHO';
    const { data } = await at('exec', '--name', 'box', '--cwd', '/tmp', '--env', 'WHO=me', line);
    expect(data?.['exec']).toMatchObject({ stdout: expect.stringMatching(/tmp me\n$/) });
    const unknown = await at('exec', '--name', 'box', '--user', 'nobody-of-that-name', 'true');
    expect(unknown).toMatchObject({ exitCode: 5, error: { kind: 'Protocol' } });
    expect(unknown.error?.message).toBe('box has no user "nobody-of-that-name".');
  });

  test.each([
    ['a folder that is not there', ['--cwd', '/nope', 'true'], '/nope is no folder in the VM.'],
    ['a program that is not there', ['--', 'no-such-program'], 'There is no program no-such-program in the VM.'],
    ['the same when detached', ['--detach', '--cwd', '/nope', 'true'], '/nope is no folder in the VM.'],
  ])('%s is a mistake that stays: exit code 5, in one sentence', async (_what, words, message) => {
    const refused = await at('exec', '--name', 'box', ...words);
    expect(refused).toMatchObject({ exitCode: 5, error: { code: 'ERR_PROTOCOL', message } });
    expect(refused.error?.suggestions).toHaveLength(1);
  });

  test('what cp cannot copy is told in one sentence, without a route of the daemon', async () => {
    await writeFile(join(home, 'file'), 'x');
    await mkdir(join(home, 'linked'));
    await symlink('/etc/passwd', join(home, 'linked', 'out'));
    await at('exec', '--name', 'box', 'mkdir -p /tmp/sub; echo x > /tmp/plain');
    const cases: readonly (readonly [readonly string[], number, string | RegExp, string])[] = [
      [['vm:/tmp/nope', './x'], 5, 'There is no /tmp/nope in box.', "ls -la /tmp'"],
      [['vm:/tmp/plain/under', join(home, 'x')], 5, 'A part of /tmp/plain/under is no folder in box.', 'ls -la'],
      [['vm:/tmp/plain', join(home, 'no/where/x')], 15, /^The folder .*no\/where does not exist here\.$/, 'mkdir -p'],
      [
        ['vm:/tmp/plain', `${join(home, 'none')}/`],
        15,
        `The folder ${join(home, 'none')} does not exist here.`,
        'none',
      ],
      [['vm:/tmp/plain', join(home, 'file/x')], 15, /^A part of .* is no folder here\.$/, 'another place'],
      [[join(home, 'linked'), 'vm:/tmp/linked'], 2, /leads out of the directory/, '--skip-links'],
    ];
    for (const [words, exitCode, message, suggestion] of cases) {
      const refused = await at('cp', '--name', 'box', ...words);
      expect([words, refused.exitCode]).toEqual([words, exitCode]);
      expect(refused.error?.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
      expect(refused.error?.message).not.toMatch(/\/v1\/|\.part|E[A-Z]{4}/);
      expect(refused.error?.suggestions.join()).toContain(suggestion);
    }
    const folder = await cli(['cp', '--name', 'box', 'vm:/tmp/sub', '-'], { environment });
    expect([folder.code, folder.stdout]).toEqual([5, '']);
    expect(folder.stderr).toContain('error: /tmp/sub is a folder in box.');
  });

  test('cp moves files and folders both ways, byte for byte, with their modes', async () => {
    const source = join(home, 'source');
    await mkdir(join(source, 'sub dir'), { recursive: true });
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
    await writeFile(join(source, 'sub dir', 'dätä.bin'), bytes);
    await writeFile(join(source, 'run.sh'), 'echo ran', { mode: 0o755 });
    await symlink('run.sh', join(source, 'link'));
    const copy = (...words: string[]) => at('cp', '--name', 'box', ...words);

    const up = await copy(source, 'vm:/tmp/tree');
    expect(up).toMatchObject({ exitCode: 0, data: { direction: 'up', kind: 'folder', files: 2, links: 1 } });
    const back = join(home, 'back');
    expect(await copy('vm:/tmp/tree', back)).toMatchObject({ exitCode: 0, data: { kind: 'folder', bytes: 70_008 } });
    expect(await readFile(join(back, 'sub dir', 'dätä.bin'))).toEqual(bytes);
    expect((await stat(join(back, 'run.sh'))).mode & 0o777).toBe(0o755);
    expect(await readlink(join(back, 'link'))).toBe('run.sh');

    // A file lands in a folder that is there, on either side.
    expect(await copy(join(source, 'run.sh'), 'vm:/tmp')).toMatchObject({ data: { to: 'vm:/tmp/run.sh', bytes: 8 } });
    expect(await copy('vm:/tmp/run.sh', back)).toMatchObject({ data: { to: join(back, 'run.sh'), kind: 'file' } });
    const piped = await cli(['cp', '--name', 'box', 'vm:/tmp/run.sh', '-'], { environment });
    expect(piped).toMatchObject({ code: 0, stdout: 'echo ran' });

    const missing = await copy('vm:/tmp/nothing-there', join(home, 'half'));
    expect(missing).toMatchObject({ exitCode: 5, error: { kind: 'Protocol' } });
    expect(await readdir(home)).not.toContain('half');
  });

  test('what cp leaves out is told by the folder, and not line by line', async () => {
    await at('exec', '--name', 'box', 'mkdir -p t/.git/hooks; cd t; touch .git/hooks/a .git/b one; mkfifo p');
    const copy = ['cp', '--name', 'box', '-q', 'vm:/workspace/t'];
    const told = await cli([...copy, join(home, 'all')], { environment });
    expect(told.stderr.trim().split('\n').sort()).toEqual([
      'left out: .git (git runs what is in it; --git takes it too)',
    ]);
    expect(await readdir(join(home, 'all'))).toEqual(['one']);
    const chosen = await cli([...copy, join(home, 'some'), '--include', 'on*'], { environment });
    expect([chosen.code, chosen.stderr]).toEqual([0, '']);
    await at('exec', '--name', 'box', 'mkdir -p m; cd m; for i in $(seq 12); do mkdir -p $i/.git; done');
    const many = await cli(['cp', '--name', 'box', '-q', 'vm:/workspace/m', join(home, 'many')], { environment });
    expect(many.stderr.trim().split('\n')).toHaveLength(11);
    expect(many.stderr).toContain('left out: 2 more; --json lists them all');
  });

  /** Starts a web server in the VM that says on which port it is. */
  async function serverInVm(): Promise<number> {
    const program =
      "require('http').createServer((q,s)=>s.end('from the VM '+q.url)).listen(0,'127.0.0.1',function(){require('fs').writeFileSync('port.tmp',String(this.address().port));require('fs').renameSync('port.tmp','port')})";
    await at('exec', '--name', 'box', '--detach', `exec ${process.execPath} -e "${program}"`);
    const { data } = await at('exec', '--name', 'box', 'while ! test -f port; do sleep 0.05; done; cat port');
    const { stdout } = (data ?? {})['exec'] as { stdout: string };
    return Number(stdout);
  }

  /** Runs `forward` while the work lasts, then stops it. */
  async function whileForwarding(words: readonly string[], work: (port: number) => Promise<void>) {
    const interrupts = new HandSignals();
    let listening: (port: number) => void = () => undefined;
    const port = new Promise<number>((resolve) => {
      listening = resolve;
    });
    const heard = (stdout: string) => listening((JSON.parse(stdout) as { data: { port: number } }).data.port);
    const running = cli(['forward', '--json', '--name', 'box', ...words], { environment, interrupts, heard });
    await Promise.race([port.then(work), running.then((ran) => Promise.reject(new Error(ran.stdout + ran.stderr)))]);
    interrupts.interrupt();
    return await running;
  }

  test.each([['over HTTP'], ['over TCP', '--tcp'], ['verified', '--verified']])(
    'forward leads a local port into the VM %s until stopped',
    async (_how, ...more) => {
      const guestPort = await serverInVm();
      const { code } = await whileForwarding([`0:${guestPort}`, ...more], async (port) => {
        const answer = await fetch(`http://127.0.0.1:${port}/hello?x=1`, { headers: { connection: 'close' } });
        expect([answer.status, await answer.text()]).toEqual([200, 'from the VM /hello?x=1']);
      });
      expect(code).toBe(0);
      const taken = await at('forward', `${new URL(emulator.endpoint).port}:${guestPort}`, '--name', 'box', ...more);
      expect(taken).toMatchObject({ exitCode: 12, error: { message: expect.stringContaining('is in use') } });
    },
  );

  test('a tunnel to a port where nothing listens says so', async () => {
    const { code, stderr } = await whileForwarding(['0:1', '--tcp'], async (port) => {
      await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^connection refused by the VM: .+ \(4\d{3}\)$/m)]);
  });

  test('the keys of verified tunnels are where only the owner reads them; without keys there is no such tunnel', async () => {
    const path = join(home, 'state', await secretsOf('box'));
    const kept = JSON.parse(await readFile(path, 'utf8')) as Record<string, string>;
    const { hostSeed } = JSON.parse(kept['box/tunnel-identity'] ?? '{}') as { hostSeed: string };
    expect(Buffer.from(hostSeed, 'base64')).toHaveLength(32);
    expect(await readFile(recordPath('box'), 'utf8')).not.toContain(hostSeed);
    const { 'box/tunnel-identity': _gone, ...without } = kept;
    await writeFile(path, JSON.stringify(without));
    const refused = await at('forward', '0:80', '--verified', '--name', 'box');
    expect(refused).toMatchObject({ exitCode: 12, error: { kind: 'Precondition' } });
    expect(refused.error?.suggestions.join()).toContain('--identity');
  });

  test('an interrupt ends the command and leaves the VM', async () => {
    const interrupts = new HandSignals();
    const calls = () => emulator.recorder.requests.filter(({ path }) => path.startsWith('/v1/exec/')).length;
    const before = calls();
    const running = json(['exec', '--name', 'box', 'sleep 600'], { environment, interrupts });
    while (calls() < before + 2) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    interrupts.interrupt();
    expect(await running).toMatchObject({ exitCode: 11, error: { kind: 'Interrupted' } });
    const { data } = await at('procs', 'box');
    expect(data?.['procs']).toEqual([expect.objectContaining({ pids: [] })]);
    expect(alive()).toHaveLength(1);
  });
});

describe('the registry', () => {
  test('an unknown name is the class 12, with the nearest one', async () => {
    await keep('builder');
    expect(await at('suspend', 'biulder')).toMatchObject({
      exitCode: 12,
      error: { suggestions: expect.arrayContaining(['Did you mean builder?']) as unknown },
    });
    await at('terminate', 'builder');
  });

  test('FC-131 the region of the record wins, and a disagreement is refused with zero calls', async () => {
    await keep('box');
    const calls = emulator.recorder.count();
    const refused = await at('terminate', 'box', '--region', 'us-west-2');
    expect(refused).toMatchObject({ exitCode: 2, error: { kind: 'InvalidArg' } });
    expect(refused.error?.message).toBe('box is in us-east-1, not in us-west-2.');
    expect(emulator.recorder.count()).toBe(calls);
    await at('terminate', 'box');
  });

  test.each([
    ['cut at half', (text: string) => text.slice(0, text.length / 2)],
    ['empty', () => ''],
    ['of another release', (text: string) => text.replace('"version": 1', '"version": 9')],
    ['without its endpoint', (text: string) => text.replaceAll(/"endpoint": "[^"]*"/g, '"endpoint": ""')],
    ['of two regions', (text: string) => text.replace('"region": "us-east-1"', '"region": "eu-west-1"')],
    ['of another name', (text: string) => text.replace('"name": "box"', '"name": "fox"')],
  ])('FC-131 a record %s means taken, never free, and makes no call', async (_what, damage) => {
    await keep('box');
    const whole = await readFile(recordPath('box'), 'utf8');
    const damaged = damage(whole);
    expect(damaged).not.toBe(whole);
    await writeFile(recordPath('box'), damaged);
    const calls = emulator.recorder.count();
    for (const words of [
      ['suspend', 'box'],
      ['exec', '--name', 'box', 'true'],
      ['terminate', 'box'],
    ]) {
      expect(await at(...words)).toMatchObject({ exitCode: 15, error: { code: 'ERR_CONFIG' } });
    }
    expect(await keep('box')).toMatchObject({ exitCode: 14 });
    expect((await at('ls')).data).toMatchObject({ vms: [{ name: 'box', state: 'unreadable' }] });
    expect(emulator.recorder.count()).toBe(calls);
    await writeFile(recordPath('box'), whole);
    await at('terminate', 'box');
  });

  test('FC-133 settings of the day change nothing for a VM that is there', async () => {
    await keep('box');
    const settings = {
      AWS_REGION: 'us-east-2',
      AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
      AWS_ENDPOINT_URL_LAMBDA_MICROVMS: 'http://127.0.0.1:9',
    };
    const ended = await json(['terminate', 'box'], { environment: { ...environment, ...settings } });
    expect(ended).toMatchObject({ exitCode: 0, data: { region: 'us-east-1' } });
    expect(alive()).toEqual([]);
  });

  test.each([
    ['state', 0o777, 0o700],
    ['state/names', 0o755, 0o700],
    ['state/secrets', 0o755, 0o700],
    ['state/names/box.json', 0o644, 0o600],
    ['state/secrets/box.*.json', 0o644, 0o600],
  ])('%s of mode %o is refused, with the line that closes it', async (place, open, closed) => {
    const { chmod } = await import('node:fs/promises');
    await keep('box');
    const path = join(home, place.includes('*') ? `state/${await secretsOf('box')}` : place);
    await chmod(path, open);
    const calls = emulator.recorder.count();
    const commands = [['exec', '--name', 'box', 'true'], ['suspend', 'box'], ['terminate', 'box'], ['ls']];
    for (const words of place.endsWith('.json') ? commands.slice(0, 3) : commands) {
      const refused = await at(...words);
      expect([words, refused.exitCode]).toEqual([words, 15]);
      expect(refused.error?.suggestions).toEqual([`chmod ${closed.toString(8)} ${path}`]);
    }
    if (!place.endsWith('.json')) expect(await keep('other')).toMatchObject({ exitCode: 15 });
    expect(emulator.recorder.count()).toBe(calls);
    await chmod(path, closed);
    expect(await at('terminate', 'box')).toMatchObject({ exitCode: 0 });
  });

  test.each(['/proc/self/vmchart', '/sys/vmchart', '/tmp/../proc/1/x'])('%s is no place for it', async (place) => {
    const refused = await json(['ls'], { environment: { VMCHART_HOME: place } });
    expect(refused).toMatchObject({ exitCode: 15, error: { code: 'ERR_CONFIG' } });
    expect(refused.error?.suggestions.join()).toContain('VMCHART_HOME');
  });

  test('a VM that its service does not know any more was gone already', async () => {
    await keep('box');
    await keep('fox');
    const text = await readFile(recordPath('box'), 'utf8');
    const box = JSON.parse(text) as { record: { known: { microvmId: string } } };
    const { microvmId } = box.record.known;
    await writeFile(recordPath('box'), text.replaceAll(microvmId, `${microvmId.slice(0, -4)}0000`));
    const json = await at('terminate', 'box');
    expect(json).toMatchObject({
      exitCode: 0,
      data: { outcome: 'already-gone', forgotten: true, teardown: { terminateAccepted: false, undeleted: [] } },
    });
    expect((await at('ls')).data).toMatchObject({ vms: [{ name: 'fox' }] });
    const fox = JSON.parse(await readFile(recordPath('fox'), 'utf8')) as typeof box;
    await endById(fox.record.known.microvmId);
    const human = await cli(['terminate', 'fox'], { environment });
    expect(human.stderr).toContain('was gone already');
    expect(human.stderr).not.toContain('ended');
    await endById(microvmId);
  });

  test('an emulator that has stopped is told, and its name can be given up', async () => {
    const other = await startEmulator();
    await at('run', '--keep', '--name', 'box', '--endpoint-url', other.endpoint);
    await other.close();
    const refused = await at('suspend', 'box');
    expect(refused).toMatchObject({ exitCode: 12, error: { kind: 'Precondition' } });
    expect(refused.error?.message).toMatch(
      /^.*Nothing answers at http:\/\/127\.0\.0\.1:\d+: the connection was refused\.$/,
    );
    expect(refused.error?.suggestions.join()).toContain('Is the emulator running?');
    const ended = await at('terminate', 'box');
    expect(ended.error?.suggestions.join()).toContain('vmchart terminate box --forget');
    const listed = await cli(['ls'], { environment });
    expect(listed.stdout).toMatch(/box +unreachable .*connection refused\n$/);
    const forgotten = await at('terminate', 'box', '--forget');
    expect(forgotten).toMatchObject({ exitCode: 0, data: { outcome: 'forgotten', forgotten: true } });
  });

  test('--forget gives a name up whose VM cannot be reached', async () => {
    await keep('box');
    await truncate(recordPath('box'), 10);
    expect(await at('terminate', 'box', '--forget')).toMatchObject({ exitCode: 0, data: { forgotten: true } });
    expect((await at('ls')).data).toEqual({ vms: [] });
    await Promise.all(alive().map(({ microvmId }) => endById(microvmId)));
  });
});

/** Ends a VM that no name leads to any more. */
async function endById(microvmId: string): Promise<void> {
  const { ControlPlane, awsPorts } = {
    ...(await import('../../effects/index.ts')),
    ...(await import('../../adapters/index.ts')),
  };
  const { endpoint: endpointUrl, credentials, region } = emulator;
  const plane = new ControlPlane(awsPorts({ endpointUrl, credentials, region }));
  const ended = new Promise<void>((resolve) => {
    const stop = emulator.events.on((change) => {
      if (change.microvmId !== microvmId || change.to !== 'TERMINATED') return;
      stop();
      resolve();
    });
  });
  if ((await plane.terminateMicrovm(microvmId)) !== 'already-gone') await ended;
}

test('the envelope is the whole of stdout whatever happens', async () => {
  for (const words of [
    ['ls', '--json'],
    ['suspend', 'nobody', '--json'],
    ['nonsense', '--json'],
  ]) {
    const ran = await cli(words, { environment });
    expect(Object.keys(envelopeOf(ran)).slice(0, 2)).toEqual(['type', 'ok']);
  }
});
