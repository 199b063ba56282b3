/** docs/inside-a-vm.md is true: its program runs. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const page = await readFile(join(root, 'docs', 'inside-a-vm.md'), 'utf8');
const scratch = join(root, 'artifacts', `inside-a-vm-${process.pid}`);

beforeAll(() => mkdir(scratch, { recursive: true }));
afterAll(() => rm(scratch, { recursive: true, force: true }));

test('the one program of the page runs and says how isolated its VMs are', async () => {
  const programs = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] ?? '');
  expect(programs).toHaveLength(1);
  await writeFile(join(scratch, 'program.ts'), programs[0] ?? '');
  const lines: string[] = [];
  const log = jest.spyOn(console, 'log').mockImplementation((...words) => void lines.push(words.join(' ')));
  try {
    await import(join(scratch, 'program.ts'));
  } finally {
    log.mockRestore();
  }
  expect(lines).toEqual([expect.stringMatching(/^(Each VM|VMs are)/)]);
});
