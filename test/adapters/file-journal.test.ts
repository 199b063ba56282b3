import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fileJournal } from 'vmchart/adapters';
import type { JournalRecord } from 'vmchart/machines';
import { errorOf } from '../helpers/error-of.ts';
import { vm } from '../helpers/scripted-platform.ts';
import { reach } from '../sandbox/substates.ts';

let folder = '';
let path = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vmchart-journal-'));
  path = join(folder, 'lives', 'journal');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A true record, as a life wrote it. */
const { sandbox: running } = await (reach['RUNNING.idle'] as NonNullable<(typeof reach)[string]>)();
const running1 = JSON.parse(JSON.stringify(running.record())) as JournalRecord;
const record = (sandboxId: string, wallOffsetMs = 1): JournalRecord => ({ ...running1, sandboxId, wallOffsetMs });
const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

describe('FC-127 the journal in files', () => {
  test('keeps, lists, replaces and removes; another process reads the same', async () => {
    const journal = fileJournal(path);
    expect([await journal.list(), await journal.read('a'), await journal.unreadable()]).toEqual([[], null, []]);
    await journal.remove('a');
    await journal.write(record('a'));
    await journal.write(record('b'));
    await journal.write(record('a', 2));
    expect(await fileJournal(path).list()).toEqual([record('a', 2), record('b')]);
    expect(await fileJournal(path).read('a')).toEqual(record('a', 2));
    await journal.remove('a');
    expect([await journal.read('a'), await journal.list()]).toEqual([null, [record('b')]]);
  });

  test('has files of mode 600 in a directory of mode 700, whatever the mask, and leaves no drafts', async () => {
    const previous = process.umask(0);
    try {
      await fileJournal(path).write(record('a'));
    } finally {
      process.umask(previous);
    }
    expect([await modeOf(path), await readdir(path)]).toEqual(['700', ['life-a.json']]);
    expect(await modeOf(join(path, 'life-a.json'))).toBe('600');
  });

  test('takes any name of a life, and confuses no two', async () => {
    const journal = fileJournal(path);
    const names = ['../../etc/passwd', 'A', 'a', '', '.', 'a/b', 'x'.repeat(5_000), 'é\0\n', '__proto__', 'con'];
    for (const name of names.filter((one) => one !== '')) await journal.write(record(name));
    for (const name of names.filter((one) => one !== '')) expect(await journal.read(name)).toEqual(record(name));
    const kept = (await journal.list()).map((one) => one.sandboxId).sort();
    expect(kept).toEqual(names.filter((one) => one !== '').sort());
    expect((await readdir(path)).every((file) => /^(life|sha256)-[a-z0-9_-]+\.json$/.test(file))).toBe(true);
    expect(await readdir(folder)).toEqual(['lives']);
  });

  test('writes of one life that are asked for at the same time come in order, in two journals whole', async () => {
    const [one, two] = [fileJournal(path), fileJournal(path)];
    await Promise.all(Array.from({ length: 20 }, (_, index) => one.write(record('a', index))));
    expect(await one.read('a')).toEqual(record('a', 19));
    const mixed = Array.from({ length: 20 }, (_, index) => (index % 2 ? one : two).write(record('a', 100 + index)));
    const read = Array.from({ length: 20 }, () => one.read('a'));
    await Promise.all([...mixed, ...read]);
    for (const seen of read) expect(await seen).toMatchObject({ sandboxId: 'a', known: running1.known });
    expect([118, 119]).toContain((await two.read('a'))?.wallOffsetMs);
  });

  test('a process that is killed in the middle of a write leaves a whole record', async () => {
    const script = join(folder, 'writer.mjs');
    const source = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'adapters', 'file-journal.ts');
    const loader = join(dirname(fileURLToPath(import.meta.url)), '..', 'helpers', 'typescript-loader.mjs');
    await fileJournal(path).write(record('killed', 0));
    await writeFile(
      script,
      `import { fileJournal } from ${JSON.stringify(source)};
       const journal = fileJournal(process.argv[2]);
       const record = await journal.read('killed');
       for (let n = 1; ; n += 1) {
         await journal.write({ ...record, wallOffsetMs: n });
         if (n === 3) process.send('writing');
       }`,
    );
    const child = fork(script, [path], { execArgv: ['--import', loader] });
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const [kept] = await fileJournal(path).list();
    expect(kept).toEqual(record('killed', kept?.wallOffsetMs ?? 0));
    expect(kept?.wallOffsetMs).toBeGreaterThanOrEqual(3);
  });

  test('a stale draft is no record, hides none, and goes with the next first write; a young one stays', async () => {
    await fileJournal(path).write(record('a'));
    const draft = (digit: string) => join(path, `.${digit.repeat(8)}-0000-4000-8000-000000000000.tmp`);
    await writeFile(draft('1'), '{"version":1,"sand', { mode: 0o600 });
    await writeFile(draft('2'), '{"version":1,"sand', { mode: 0o600 });
    await utimes(draft('1'), 1, 1);
    expect([await fileJournal(path).list(), await fileJournal(path).unreadable()]).toEqual([[record('a')], []]);
    await fileJournal(path).write(record('b'));
    expect((await readdir(path)).sort()).toEqual([draft('2').slice(path.length + 1), 'life-a.json', 'life-b.json']);
  });
});

describe('FC-131 hostile files', () => {
  const spoiled: readonly (readonly [string, string, string])[] = [
    ['cut short', JSON.stringify(record('bad')).slice(0, 90), 'it is not whole'],
    ['empty', '', 'it is not whole'],
    ['a list', '[]', 'it holds no record'],
    ['of another release', JSON.stringify({ ...record('bad'), version: 2 }), 'it is of version 2'],
    ['of another life', JSON.stringify(record('other')), 'it is of another life'],
    ['without a region', JSON.stringify({ ...record('bad'), region: '' }), 'a part of it is missing'],
    ['without what is known', JSON.stringify({ ...record('bad'), known: null }), 'a part of it is missing'],
    ['without a VM', JSON.stringify({ ...record('bad'), known: { launch: null } }), 'the id of its VM is missing'],
    [
      'with half a launch',
      JSON.stringify({ ...record('bad'), known: { ...running1.known, launch: { request: {} } } }),
      'the client token of its launch is missing',
    ],
    ['endless', ' '.repeat((1 << 20) + 1), 'it has 1048577 bytes'],
  ];

  test.each(spoiled)('a record that is %s is told, and hides no other', async (_what, text, why) => {
    const journal = fileJournal(path);
    await journal.write(record('good'));
    await writeFile(join(path, 'life-bad.json'), text, { mode: 0o600 });
    expect(await journal.list()).toEqual([record('good')]);
    const [unreadable, ...others] = await journal.unreadable();
    expect([unreadable?.path, others]).toEqual([join(path, 'life-bad.json'), []]);
    expect(unreadable?.error).toMatchObject({ kind: 'Precondition', reason: 'corrupt-journal' });
    expect(unreadable?.error.message).toContain(why);
    expect(await errorOf(journal.read('bad'))).toMatchObject({ reason: 'corrupt-journal' });
    await journal.write(record('bad'));
    expect(await journal.unreadable()).toEqual([]);
  });

  test('a link, a folder and an open file are told; nothing is read through them', async () => {
    const journal = fileJournal(path);
    await journal.write(record('good'));
    await writeFile(join(folder, 'elsewhere'), JSON.stringify(record('link')), { mode: 0o600 });
    await symlink(join(folder, 'elsewhere'), join(path, 'life-link.json'));
    await mkdir(join(path, 'life-folder.json'));
    await journal.write(record('open'));
    await chmod(join(path, 'life-open.json'), 0o644);
    expect(await journal.list()).toEqual([record('good')]);
    expect((await journal.unreadable()).map(({ error }) => error.reason)).toEqual([
      'corrupt-journal',
      'unreadable-journal',
      'loose-mode',
    ]);
  });

  test('a directory that others can reach is refused, and nothing is written to it', async () => {
    const journal = fileJournal(path);
    await journal.write(record('a'));
    await chmod(path, 0o750);
    for (const work of [journal.write(record('b')), journal.list(), journal.read('a'), journal.remove('a')]) {
      expect(await errorOf(work)).toMatchObject({ kind: 'Precondition', reason: 'loose-mode' });
    }
    await chmod(path, 0o700);
    expect(await journal.list()).toEqual([record('a')]);
    await journal.write(record('b'));
    expect(await journal.list()).toHaveLength(2);
  });

  test('a file in the place of the directory is a typed error', async () => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, 'not a directory', { mode: 0o600 });
    expect(await errorOf(fileJournal(path).write(record('a')))).toMatchObject({ reason: 'unwritable-journal' });
    expect(await errorOf(fileJournal(path).list())).toMatchObject({ reason: 'unreadable-journal' });
    expect(await readFile(path, 'utf8')).toBe('not a directory');
  });
});

test('the records of real lives are all read back', async () => {
  const journal = fileJournal(path);
  const written: JournalRecord[] = [];
  for (const [substate, arrive] of Object.entries(reach)) {
    const { sandbox, platform } = await arrive();
    platform.answer('GetMicrovm', vm('TERMINATED'));
    written.push({ ...(JSON.parse(JSON.stringify(sandbox.record())) as JournalRecord), sandboxId: substate });
    await journal.write(written.at(-1) as JournalRecord);
  }
  expect(await journal.unreadable()).toEqual([]);
  expect(await journal.list()).toEqual(expect.arrayContaining(written));
});
