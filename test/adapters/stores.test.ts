import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { JournalRecord } from 'vmchart/machines';
import { fileSecrets, memoryJournal, memorySecrets } from 'vmchart/adapters';
import { errorOf } from '../helpers/error-of.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vmchart-secrets-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe.each([
  ['in memory', () => memorySecrets()],
  ['in a file', () => fileSecrets(join(folder, 'kept', 'secrets.json'))],
])('secrets %s', (_where, make) => {
  test('are put, read, replaced and removed', async () => {
    const secrets = make();
    expect(await secrets.get('a')).toBeNull();
    await secrets.remove('a');
    await secrets.put('a', 'one');
    await secrets.put('__proto__', 'odd name');
    await secrets.put('a', 'two é\n');
    expect([await secrets.get('a'), await secrets.get('__proto__'), await secrets.get('toString')]).toEqual([
      'two é\n',
      'odd name',
      null,
    ]);
    await secrets.remove('a');
    expect(await secrets.get('a')).toBeNull();
  });

  test('that are put at the same time are all kept', async () => {
    const secrets = make();
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    await Promise.all(names.map((name) => secrets.put(name, `value of ${name}`)));
    expect(await Promise.all(names.map((name) => secrets.get(name)))).toEqual(names.map((name) => `value of ${name}`));
  });

  test('FC-070 are not shown by their holder', async () => {
    const secrets = make();
    await secrets.put('ref', 'marker-value');
    expect(inspect(secrets, { depth: 9, showHidden: true }) + JSON.stringify(secrets)).not.toContain('marker');
  });
});

describe('the secrets file', () => {
  const path = () => join(folder, 'kept', 'secrets.json');

  test('has mode 600 in a directory of mode 700, and leaves no drafts', async () => {
    const previous = process.umask(0);
    try {
      await fileSecrets(path()).put('a', 'one');
    } finally {
      process.umask(previous);
    }
    expect([await modeOf(path()), await modeOf(join(folder, 'kept'))]).toEqual(['600', '700']);
    expect(await readdir(join(folder, 'kept'))).toEqual(['secrets.json']);
  });

  test('is read by another holder', async () => {
    await fileSecrets(path()).put('a', 'one');
    expect(await fileSecrets(path()).get('a')).toBe('one');
  });

  test('a looser mode is refused, and the value is not written', async () => {
    const secrets = fileSecrets(path());
    await secrets.put('a', 'one');
    await chmod(path(), 0o640);
    expect(await errorOf(secrets.get('a'))).toMatchObject({ kind: 'Precondition', reason: 'loose-mode' });
    expect(await errorOf(secrets.put('b', 'two'))).toMatchObject({ reason: 'loose-mode' });
    await chmod(path(), 0o600);
    await chmod(join(folder, 'kept'), 0o755);
    expect(await errorOf(secrets.put('b', 'two'))).toMatchObject({ reason: 'loose-mode' });
    expect(await readFile(path(), 'utf8')).not.toContain('two');
  });

  test('FC-131 a file that is cut short is an error that quotes nothing, never an empty store', async () => {
    await mkdir(join(folder, 'kept'), { mode: 0o700 });
    await writeFile(path(), '{"a":"marker-val', { mode: 0o600 });
    for (const work of [fileSecrets(path()).get('a'), fileSecrets(path()).put('b', 'two')]) {
      const error = await errorOf(work);
      expect(error).toMatchObject({ kind: 'Precondition', reason: 'corrupt-secrets' });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('marker');
    }
    expect(await readFile(path(), 'utf8')).toContain('marker');
  });

  test('one failed write does not stop the next', async () => {
    const secrets = fileSecrets(path());
    await secrets.put('a', 'one');
    await chmod(path(), 0o644);
    await errorOf(secrets.put('b', 'two'));
    await chmod(path(), 0o600);
    await secrets.put('b', 'three');
    expect(await secrets.get('b')).toBe('three');
  });
});

describe('the journal in memory', () => {
  const record = (sandboxId: string) => ({ sandboxId, marks: [1] }) as unknown as JournalRecord;

  test('keeps the last record of each sandbox, as a copy', async () => {
    const journal = memoryJournal();
    const mine = record('a') as unknown as { sandboxId: string; marks: number[] };
    await journal.write(mine as unknown as JournalRecord);
    mine.marks.push(2);
    expect(await journal.read('a')).toEqual(record('a'));
    await journal.write(mine as unknown as JournalRecord);
    await journal.write(record('b'));
    expect((await journal.list()).map((one) => one.sandboxId)).toEqual(['a', 'b']);
    await journal.remove('a');
    expect(await journal.read('a')).toBeNull();
    expect(await journal.list()).toHaveLength(1);
  });
});
