/** docs/crash-and-restore.md is true: its program runs, and prints what the page says. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blocksOf, printedBy } from './program.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const page = await readFile(join(root, 'docs', 'crash-and-restore.md'), 'utf8');
const scratch = join(root, 'artifacts', `crash-${process.pid}`);

beforeAll(() => mkdir(scratch, { recursive: true }));
afterAll(() => rm(scratch, { recursive: true, force: true }));

test('FC-124 FC-127 the program of the page finds everything that a dead process started', async () => {
  const programs = blocksOf(page, 'ts');
  expect(programs).toHaveLength(1);
  const lines = await printedBy(programs[0] ?? '', join(scratch, 'program.ts'));
  expect(lines).toEqual([
    'job-1 SUSPENDED.idle',
    'still here',
    expect.stringMatching(/^job-2 (PENDING\.held|RUNNING\.idle)$/),
    'job-3 PENDING.unresolved',
    '3 VMs were made, 0 records are left',
  ]);
});
