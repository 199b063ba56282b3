/** A name can be given up and taken again; a command that began earlier changes nothing of the later VM. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmulator } from '../../adapters/emulator/index.ts';
import type { Emulator } from '../../adapters/emulator/index.ts';
import { underLock } from '../../adapters/cli/registry/file-lock.ts';
import type { NameEntry } from '../../adapters/cli/registry/name-entry.ts';
import { NameRegistry } from '../../adapters/cli/registry/name-registry.ts';
import { openKept } from '../../adapters/cli/registry/kept-vm.ts';
import { Terminal } from '../../adapters/cli/output/terminal.ts';
import { HandSignals, Kept, json } from './harness.ts';

jest.setTimeout(60_000);

let emulator: Emulator;
let home: string;
let names: string;
let secrets: string;
let environment: Record<string, string>;

beforeAll(async () => {
  emulator = await startEmulator();
});
afterAll(() => emulator.close());
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'vmchart-home-'));
  [names, secrets] = [join(home, 'names'), join(home, 'secrets')];
  environment = { VMCHART_HOME: home };
});
afterEach(async () => {
  emulator.faults.clear();
  await rm(home, { recursive: true, force: true });
});

const at = (...words: string[]) => json(words, { environment });
const keepWords = ['run', '--keep', '--name', 'box', '--endpoint-url'];
const keep = () => at(...keepWords, emulator.endpoint);
const entryPath = () => join(names, 'box.json');
const entryText = () => readFile(entryPath(), 'utf8');
const entryNow = async () => JSON.parse(await entryText()) as NameEntry;
const alive = () =>
  emulator
    .vms()
    .filter(({ state }) => state !== 'TERMINATED' && state !== 'TERMINATING')
    .map(({ microvmId }) => microvmId);
const context = () => ({
  terminal: new Terminal({ stdout: new Kept(), stderr: new Kept(), json: false, environment }),
  interrupts: new HandSignals(),
  environment,
  announce: () => Promise.resolve(),
});

/** Runs a launch that waits for its VM, and gives it time to be overtaken. */
async function slowKeep(meanwhile: () => Promise<void>, interrupts = new HandSignals()) {
  emulator.faults.add({ operation: 'GetMicrovm', kind: 'delay', delayMs: 1_500 });
  const asked = emulator.recorder.count('GetMicrovm');
  const running = json([...keepWords, emulator.endpoint], { environment, interrupts });
  while (emulator.recorder.count('GetMicrovm') === asked) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  emulator.faults.clear();
  await meanwhile();
  return await running;
}

describe('a name that stands for another VM by now', () => {
  test('is not changed by a launch that began earlier, and is told to stop', async () => {
    let second: string | null = null;
    let kept = '';
    let tokens: string[] = [];
    const interrupts = new HandSignals();
    const first = await slowKeep(async () => {
      expect(await at('terminate', 'box')).toMatchObject({ exitCode: 0 });
      second = (await keep()).data?.['microvmId'] as string;
      kept = await entryText();
      tokens = await readdir(secrets);
      interrupts.interrupt();
    }, interrupts);
    expect(first.exitCode).toBe(11);
    expect(first.data?.['microvmId']).not.toBe(second);
    expect(await entryText()).toBe(kept);
    expect(tokens).toHaveLength(1);
    expect(await readdir(secrets)).toEqual(tokens);
    expect(await at('exec', '--name', 'box', 'true')).toMatchObject({ exitCode: 0 });
    expect(await at('terminate', 'box')).toMatchObject({ exitCode: 0, data: { microvmId: second } });
    expect(alive()).toEqual([]);
  });

  test.each([
    ['saved', (vm: Awaited<ReturnType<typeof openKept>>) => vm.save()],
    ['given up', (vm: Awaited<ReturnType<typeof openKept>>) => vm.registry.remove(vm.entry)],
  ])('is refused with the ids of both VMs when the earlier one is %s', async (_what, change) => {
    await keep();
    await using earlier = await openKept('box', context());
    await at('terminate', 'box');
    const later = (await keep()).data?.['microvmId'] as string;
    const before = [await entryText(), await readdir(secrets)];
    const refused = await change(earlier).then(
      () => null,
      (error: unknown) => error as Error,
    );
    expect(refused).toMatchObject({ kind: 'Precondition' });
    expect(refused?.message).toContain(later);
    expect(refused?.message).toContain(earlier.sandbox.microvmId);
    expect([await entryText(), await readdir(secrets)]).toEqual(before);
    expect(await at('terminate', 'box')).toMatchObject({ exitCode: 0 });
  });

  test('is not suspended by a command that took up the earlier VM', async () => {
    await keep();
    const { changeKept } = await import('../../adapters/cli/life/change-kept.ts');
    let later = '';
    const suspended = changeKept('box', 'suspending', context(), undefined, async () => {
      await at('terminate', 'box');
      later = (await keep()).data?.['microvmId'] as string;
    });
    await expect(suspended).rejects.toMatchObject({ kind: 'Precondition', message: expect.stringContaining(later) });
    expect((await entryNow()).record?.known.microvmId).toBe(later);
    await at('terminate', 'box');
  });
});

describe('a launch whose name is lost', () => {
  test.each([
    ['missing', () => rm(entryPath())],
    ['torn', () => writeFile(entryPath(), '{"version": 1,')],
  ])('is not said to be kept when its entry is %s after it: the VM is named and ended', async (_what, lose) => {
    const ran = await slowKeep(lose);
    expect(ran).toMatchObject({ ok: false, data: { kept: false, teardown: { undeleted: [] } } });
    expect(ran.exitCode).not.toBe(0);
    expect(ran.data?.['microvmId']).toMatch(/^microvm-/);
    expect(alive()).toEqual([]);
  });

  test.each([
    ['missing', () => rm(entryPath())],
    ['torn', () => writeFile(entryPath(), '{"version": 1,')],
  ])('is not sent when its entry is %s before it', async (_what, lose) => {
    const registry = new NameRegistry({ root: home, names, secrets });
    const reserve = jest.spyOn(NameRegistry.prototype, 'reserve').mockImplementationOnce(async (entry) => {
      await registry.reserve(entry);
      await lose();
    });
    const calls = emulator.recorder.count('RunMicrovm');
    const ran = await keep();
    reserve.mockRestore();
    expect(ran.exitCode).not.toBe(0);
    expect(ran).toMatchObject({ ok: false, data: { kept: false } });
    expect(emulator.recorder.count('RunMicrovm')).toBe(calls);
  });
});

describe('the list of names', () => {
  test('has a row for an entry that cannot be used, and hides no other', async () => {
    await keep();
    const text = await entryText();
    for (const [name, damage] of [
      ['ftp', (whole: string) => whole.replaceAll(emulator.endpoint, 'ftp://x.y/')],
      ['odd', (whole: string) => whole.replaceAll('"lifecycle": "RUNNING"', '"lifecycle": 7')],
      ['far', (whole: string) => whole.replaceAll(emulator.endpoint, 'http://user:pass@[::1]:1/a?b')],
    ] as const) {
      const damaged = damage(text);
      expect(damaged).not.toBe(text);
      await writeFile(join(names, `${name}.json`), damaged.replace('"name": "box"', `"name": "${name}"`), {
        mode: 0o600,
      });
    }
    const listed = await at('ls');
    expect(listed).toMatchObject({ exitCode: 0 });
    const states = ((listed.data?.['vms'] ?? []) as { name: string; state: string }[]).map(({ name, state }) => [
      name,
      state,
    ]);
    expect(states).toEqual([
      ['box', 'RUNNING'],
      ['far', expect.stringMatching(/^(unknown|unreachable)$/)],
      ['ftp', 'unreadable'],
      ['odd', 'unreadable'],
    ]);
    await at('terminate', 'box');
  });

  test('of thirty names makes no warning about listeners', async () => {
    await keep();
    const text = await entryText();
    for (let index = 0; index < 30; index += 1) {
      await writeFile(join(names, `n${index}.json`), text.replace('"name": "box"', `"name": "n${index}"`), {
        mode: 0o600,
      });
    }
    const warnings: string[] = [];
    const hear = (warning: Error) => warnings.push(warning.name);
    process.on('warning', hear);
    expect((await at('ls')).data?.['vms']).toHaveLength(31);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    process.off('warning', hear);
    expect(warnings).toEqual([]);
    await at('terminate', 'box');
  });

  test('sweeps old drafts of entries and secrets, and leaves young ones and what is not its own', async () => {
    await keep();
    const id = '01234567-89ab-cdef-0123-456789abcdef';
    const old = new Date(Date.now() - 3_600_000);
    for (const [folder, file, aged] of [
      [names, `.box.${id}`, true],
      [names, `.fox.${id}`, false],
      [names, '.mine', true],
      [secrets, `.${id}.tmp`, true],
    ] as const) {
      await writeFile(join(folder, file), 'x', { mode: 0o600 });
      if (aged) await utimes(join(folder, file), old, old);
    }
    await at('ls');
    expect(await readdir(names)).toEqual([`.fox.${id}`, '.mine', 'box.json']);
    expect((await readdir(secrets)).filter((file) => file.startsWith('.'))).toEqual([]);
    await at('terminate', 'box');
  });

  test('a life in a substate of nobody can be ended all the same', async () => {
    await keep();
    const entry = await entryNow();
    const text = JSON.stringify({ ...entry, record: { ...entry.record, substate: '__proto__' } });
    await writeFile(entryPath(), text);
    expect(await at('terminate', 'box')).toMatchObject({ exitCode: 0, data: { forgotten: true } });
    expect(alive()).toEqual([]);
  });
});

describe('a lock', () => {
  test('lets one work at a time', async () => {
    const path = join(home, 'lock');
    let inside = 0;
    let most = 0;
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        underLock(path, async () => {
          most = Math.max(most, (inside += 1));
          await readdir(home);
          order.push(index);
          inside -= 1;
        }),
      ),
    );
    expect([most, order.length]).toEqual([1, 12]);
    expect(await readdir(home)).toEqual([]);
  });

  test('of a process that has died is taken over', async () => {
    await mkdir(names);
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    const path = join(names, '.box.lock');
    await writeFile(path, `${pid} x`);
    expect(await underLock(path, () => Promise.resolve('done'))).toBe('done');
    expect(await readdir(names)).toEqual([]);
  });

  test('is let go of when the work fails', async () => {
    const path = join(home, 'lock');
    await expect(underLock(path, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await readdir(home)).toEqual([]);
  });
});
