/** The page about the emulator is true: its program runs, and it names every option and every fault. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveOptions } from '../../adapters/emulator/context.ts';
import { defaultDelays, faultKinds } from '../../adapters/emulator/index.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const page = await readFile(join(root, 'docs', 'emulator.md'), 'utf8');
const scratch = join(root, 'artifacts', `emulator-page-${process.pid}`);

beforeAll(() => mkdir(scratch, { recursive: true }));
afterAll(() => rm(scratch, { recursive: true, force: true }));

test('its program prints what the text says, on real VMs', async () => {
  const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
  // The tests of the page are run by test/docs/emulator-page.test.ts.
  const programs = blocks.filter((block) => !block.includes('@jest/globals'));
  expect(blocks).toHaveLength(2);
  expect(programs).toHaveLength(1);
  const file = join(scratch, 'program.ts');
  await writeFile(file, programs[0] ?? '');
  const lines: string[] = [];
  const log = jest.spyOn(console, 'log').mockImplementation((...words) => void lines.push(words.join(' ')));
  await import(file).finally(() => log.mockRestore());
  expect(lines).toEqual(['2 requests, 1 VM', 'ended: Success.']);
  for (const line of lines) expect(page).toContain(`\`${line}\``);
});

test('it names every delay and every kind of fault', () => {
  const missing = [...Object.keys(defaultDelays), ...faultKinds].filter((name) => !page.includes(`\`${name}\``));
  expect(missing).toEqual([]);
});

test('its table has every unverified option with its default', () => {
  const rows = [...page.matchAll(/^\| (`.*?) +\| `(\S+)` +\|/gm)].flatMap(([, names = '', value = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => [name, value] as const),
  );
  const defaults = Object.entries(resolveOptions({}).unverified).map(([name, value]) => [name, String(value)]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(defaults));
});
