/** docs/inside-a-vm.md is true: its programs run. */
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const page = await readFile(join(root, 'docs', 'inside-a-vm.md'), 'utf8');
const scratch = join(root, 'artifacts', `inside-a-vm-${process.pid}`);

beforeAll(() => mkdir(scratch, { recursive: true }));
afterAll(() => rm(scratch, { recursive: true, force: true }));

const programs = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] ?? '');

/** What a program of the page prints. */
async function printed(index: number): Promise<string[]> {
  const file = join(scratch, `program-${index}.ts`);
  await writeFile(file, programs[index] ?? '');
  const lines: string[] = [];
  const log = jest.spyOn(console, 'log').mockImplementation((...words) => void lines.push(words.join(' ')));
  try {
    await import(file);
  } finally {
    log.mockRestore();
  }
  return lines;
}

test('the program of the session does all that it says', async () => {
  expect(programs).toHaveLength(2);
  const heard = /^heard \d$/;
  const lines = await printed(0);
  expect(lines.filter((line) => !heard.test(line))).toEqual([
    '3 built',
    '["out\\ntyped\\n","err\\n"]',
    '0',
    'hello false',
    '1 20',
    'idle',
    'true true',
    'x-aws-proxy-auth x-aws-proxy-port 4',
    'TimeoutError',
  ]);
  expect(lines.some((line) => heard.test(line))).toBe(true);
});

test('the program of the emulated VM says how isolated its VMs are', async () => {
  expect(await printed(1)).toEqual([expect.stringMatching(/^(Each VM|VMs are)/)]);
});
