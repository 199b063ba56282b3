/** docs/emulator.md is true: its programs run. */
import { afterAll, expect, jest, test } from '@jest/globals';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const page = await readFile(join(root, 'docs', 'emulator.md'), 'utf8');
const scratch = join(root, 'artifacts', `emulator-page-${process.pid}`);
const programs = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] ?? '');

await mkdir(scratch, { recursive: true });
await Promise.all(programs.map((program, index) => writeFile(join(scratch, `program-${index}.ts`), program)));
afterAll(() => rm(scratch, { recursive: true, force: true }));

// The second program is a file of tests: they become tests of this one.
await import(join(scratch, 'program-1.ts'));

test('the first program prints what the page says', async () => {
  expect(programs).toHaveLength(2);
  const lines: string[] = [];
  const log = jest.spyOn(console, 'log').mockImplementation((...words) => void lines.push(words.join(' ')));
  try {
    await import(join(scratch, 'program-0.ts'));
  } finally {
    log.mockRestore();
  }
  expect(lines).toEqual(['2 requests, 1 VM', 'ended: Success.']);
});
