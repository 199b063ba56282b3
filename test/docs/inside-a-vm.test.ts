/** docs/inside-a-vm.md is true: its programs run. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blocksOf, printedBy } from './program.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const page = await readFile(join(root, 'docs', 'inside-a-vm.md'), 'utf8');
const scratch = join(root, 'artifacts', `inside-a-vm-${process.pid}`);

beforeAll(() => mkdir(scratch, { recursive: true }));
afterAll(() => rm(scratch, { recursive: true, force: true }));

const programs = blocksOf(page, 'ts');

/** What a program of the page prints. */
const printed = (index: number) => printedBy(programs[index] ?? '', join(scratch, `program-${index}.ts`));

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
