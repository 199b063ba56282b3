/** The command line as a real process: signals, broken pipes, what help loads, what is left behind. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { globalOptions } from '../../adapters/cli/arguments/global-options.ts';
import { optionName } from '../../adapters/cli/arguments/option-name.ts';
import { commands } from '../../adapters/cli/commands/index.ts';
import { startEmulator } from '../../adapters/emulator/index.ts';
import type { Emulator } from '../../adapters/emulator/index.ts';
import type { CliProcess } from './harness.ts';
import { envelopeOf, runCli, startCli } from './harness.ts';

// Real processes on a machine that may be busy.
jest.setTimeout(60_000);

let emulator: Emulator;

beforeAll(async () => {
  emulator = await startEmulator();
});
afterAll(() => emulator.close());

const alive = () => emulator.vms().filter(({ state }) => state !== 'TERMINATED');

/** A duration that no other process of this machine sleeps for. */
let marks = 0;
const freshMark = () => `${100_000 + (process.pid % 10_000) * 10 + (marks += 1)}`;

/** Processes of this machine with the word among their arguments, but for the command line that was told of it. */
async function processesWith(word: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const words = (await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (words.includes(word)) found.push(words.join(' '));
  }
  return found;
}

/** Starts `run` with a long command in it, and comes back once the command is running. */
async function inMidCommand(more: readonly string[]): Promise<{ process: CliProcess; mark: string }> {
  const mark = freshMark();
  const process = startCli(['run', ...more, '--exec', `echo ready; exec sleep ${mark}`]);
  await process.seen(/ready/);
  return { process, mark };
}

const linuxOnly = process.platform === 'linux' ? test : test.skip;

describe('an interrupt in mid-command', () => {
  linuxOnly('SIGINT on the embedded platform leaves no process', async () => {
    const { process: running, mark } = await inMidCommand([]);
    expect(await processesWith(mark)).toHaveLength(1);
    running.child.kill('SIGINT');
    expect(await running.ended).toEqual({ code: 11, signal: null });
    expect(running.stderr).toContain('Interrupted by SIGINT. The VM was ended.');
    expect(await processesWith(mark)).toEqual([]);
  });

  test('SIGTERM on a running emulator leaves no VM there', async () => {
    const { process: running } = await inMidCommand(['--endpoint-url', emulator.endpoint]);
    expect(alive()).toHaveLength(1);
    running.child.kill('SIGTERM');
    expect(await running.ended).toEqual({ code: 11, signal: null });
    expect(alive()).toEqual([]);
  });

  test('one Ctrl-C that arrives twice, as under npm, is one: the teardown is waited for', async () => {
    const { process: running } = await inMidCommand(['--endpoint-url', emulator.endpoint]);
    running.child.kill('SIGINT');
    running.child.kill('SIGINT');
    expect(await running.ended).toEqual({ code: 11, signal: null });
    expect(running.stderr).toMatch(/✓ ended microvm-/);
    expect(alive()).toEqual([]);
  });
});

test('a signal before anything is loaded is exit code 11 and one object, like any other', async () => {
  const listening = join(await mkdtemp(join(tmpdir(), 'vmchart-early-')), 'loaded');
  const running = startCli(['run', '--json', '--exec', 'sleep 600'], { VMCHART_LOADED: listening });
  // The first module that is loaded after the listeners stand: most of the program is still to come.
  while (!(await readFile(listening, 'utf8').catch(() => '')).includes('adapters/cli/start.ts')) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  running.child.kill('SIGINT');
  expect(await running.ended).toEqual({ code: 11, signal: null });
  expect(envelopeOf(running)).toMatchObject({ ok: false, error: { code: 'ERR_INTERRUPTED', exitCode: 11 } });
  await rm(dirname(listening), { recursive: true });
});

test('a reader that goes away changes neither the exit code nor the teardown', async () => {
  const line = 'head -c 400000 /dev/zero; exit 4';
  const cut = startCli(['run', '--exec-status', '--endpoint-url', emulator.endpoint, '--exec', line]);
  cut.child.stdout.once('data', () => cut.child.stdout.destroy());
  expect((await cut.ended).code).toBe(4);
  expect(alive()).toEqual([]);
});

test('the emulator serves until SIGTERM, ends with 0, and takes its VMs with it', async () => {
  const serving = startCli(['emulator', '--json']);
  await serving.seen(/\n/);
  const { data } = envelopeOf(serving);
  expect(data).toMatchObject({
    endpoint: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    region: 'us-east-1',
    credentials: { accessKeyId: expect.any(String), secretAccessKey: expect.any(String) },
    environment: { AWS_ENDPOINT_URL_LAMBDA_MICROVMS: data?.['endpoint'] },
  });
  const { process: running, mark } = await inMidCommand(['--endpoint-url', String(data?.['endpoint'])]);
  serving.child.kill('SIGTERM');
  expect(await serving.ended).toEqual({ code: 0, signal: null });
  expect(await processesWith(mark)).toEqual([]);
  // Its VM is gone with the emulator: nothing is left that it could end.
  running.child.kill('SIGKILL');
  await running.ended;
});

test('a signal that comes after the end does not change the exit code', async () => {
  const serving = startCli(['emulator']);
  await serving.seen(/Stop it/);
  serving.child.stderr.on('data', () => serving.child.kill('SIGTERM'));
  serving.child.kill('SIGTERM');
  const sending = setInterval(() => serving.child.kill('SIGINT'), 5);
  try {
    expect(await serving.ended).toEqual({ code: 0, signal: null });
  } finally {
    clearInterval(sending);
  }
  expect(serving.stderr).toContain('The emulator has stopped');
});

linuxOnly('output that a full disk swallows is exit code 9, and one sentence', () => {
  const full = openSync('/dev/full', 'w');
  try {
    for (const words of [
      ['graph', '--list'],
      ['graph', '--list', '--json'],
      ['run', '--exec', 'echo hi'],
    ]) {
      const ran = runCli(words, ['ignore', full, 'pipe']);
      expect([words, ran.status]).toEqual([words, 9]);
      expect(ran.stderr).toContain('error: Output was lost: standard output could not be written (the disk is full).');
    }
  } finally {
    closeSync(full);
  }
});

test('an option of ours is none of Node, which would read it behind the script too', async () => {
  const names = new Set<string>();
  for (const entry of commands) {
    const { options } = await entry.load();
    for (const key of Object.keys({ ...options, ...globalOptions })) names.add(optionName(key));
  }
  expect(names).toContain('vars-file');
  const taken = [...names].filter((name) => /^(env-file|experimental-|node-options)/.test(name));
  expect(taken).toEqual([]);
  // One process has them all: one that Node took would end it, or be missing from the arguments.
  const words = [...names].map((name) => `--${name}=/nonexistent/value`);
  const script = join(await mkdtemp(join(tmpdir(), 'vmchart-words-')), 'words.cjs');
  await writeFile(script, 'console.log(JSON.stringify([process.argv.slice(2), process.execArgv]))');
  const { stdout, stderr } = spawnSync(process.execPath, [script, ...words], { encoding: 'utf8' });
  await rm(dirname(script), { recursive: true });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual([words, []]);
});

describe('help', () => {
  test('loads neither HTTP, state machines, decoding nor the parser of arguments', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vmchart-loaded-'));
    try {
      for (const words of [['--help'], ['nonsense']]) {
        const list = join(folder, words.join());
        await startCli(words, { VMCHART_LOADED: list }).ended;
        const loaded = await readFile(list, 'utf8');
        expect(loaded).toContain('adapters/cli/program.ts');
        expect(loaded.split('\n').filter((url) => url.includes('/node_modules/'))).toEqual([]);
        expect(loaded.split('\n').filter((url) => url.endsWith('.ts')).length).toBeLessThan(40);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

test('secrets that are given by name are in no argument list and no output', async () => {
  const marker = 'planted-marker-of-the-shell';
  const line = `test "$TOKEN" = ${'"$(printf %s planted-; printf %s marker-of-the-shell)"'} && echo ready; exec sleep ${freshMark()}`;
  const running = startCli(['run', '--env', 'TOKEN', '--exec', line], { TOKEN: marker, VMCHART_DEBUG: '1' });
  await running.seen(/ready/);
  const listed = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).stdout ?? '';
  expect(listed).not.toContain(marker);
  running.child.kill('SIGINT');
  expect((await running.ended).code).toBe(11);
  expect(running.stdout + running.stderr).not.toContain(marker);
});
