/** The README is true: its programs and its commands are run, here, as they stand. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blocksOf, printedBy } from './program.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const readme = await readFile(join(root, 'README.md'), 'utf8');
const scratch = join(root, 'artifacts', `readme-${process.pid}`);

const blocks = (language: string) => blocksOf(readme, language);
const printed = (program: string, name: string) => printedBy(program, join(scratch, `${name}.ts`));

/** What still runs; one whose test gave up ends with the tests. */
const children = new Set<ChildProcess>();

/** Runs a command line, until it ends or, when it serves, until it has said where. */
async function run(
  words: string[],
  until?: RegExp,
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [join(root, 'scripts', 'vmchart.mjs'), ...words], {
    env: { PATH: process.env['PATH'], HOME: scratch, NO_COLOR: '1' },
  });
  children.add(child);
  child.once('close', () => children.delete(child));
  const out = { stdout: '', stderr: '' };
  const seen = () => {
    if (until?.test(out.stdout + out.stderr) === true) child.kill('SIGTERM');
  };
  child.stdout.on('data', (chunk) => ((out.stdout += String(chunk)), seen()));
  child.stderr.on('data', (chunk) => ((out.stderr += String(chunk)), seen()));
  const status = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  return { status, ...out };
}

beforeAll(() => mkdir(scratch, { recursive: true }));
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(scratch, { recursive: true, force: true });
});

describe('programs', () => {
  const [first = '', second = ''] = blocks('ts');

  test('the first program is about fifteen lines and does what the text says', async () => {
    expect(first.trim().split('\n').length).toBeLessThanOrEqual(17);
    expect(await printed(first, 'first')).toEqual(['still here', '0 left behind']);
  });

  test('the machine without the facade answers as the comment says', async () => {
    expect(await printed(second, 'second')).toEqual(['SUSPEND refused ']);
  });

  test('there is no program that no test runs', () => {
    expect(blocks('ts')).toHaveLength(2);
    expect(blocks('js')).toHaveLength(1);
  });

  test('the one in plain JavaScript is plain JavaScript to the Node that runs this', async () => {
    const file = join(scratch, 'plain.mjs');
    await writeFile(file, blocks('js')[0] ?? '');
    expect(spawnSync(process.execPath, ['--check', file]).status).toBe(0);
    await writeFile(file, 'await using broken =');
    expect(spawnSync(process.execPath, ['--check', file]).status).toBe(1);
  });
});

describe('commands', () => {
  const lines = blocks('sh')
    .join('\n')
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line.startsWith('npm run -s vmchart -- '))
    .map((line) => line.slice('npm run -s vmchart -- '.length));

  test.each(lines)(
    'vmchart %s',
    async (line) => {
      const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '');
      const serves = ['emulator', 'ui'].includes(words[0] ?? '');
      // The port of the text may be taken on the machine that tests.
      const given = words.map((word, index) => (words[index - 1] === '--port' ? '0' : word));
      const result = await run(given, serves ? /http:\/\/127\.0\.0\.1:\d+/ : undefined);
      expect(result.status).toBe(0);
      expect(result.stdout + result.stderr).not.toMatch(/^\s+at .*\.(js|ts):\d+/m);
    },
    // The proof takes a quarter of a minute of a core's time.
    180_000,
  );

  test('the two set-up lines are the ones that package.json serves', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(readme).toContain('npm ci && npm start');
    expect(readme).toContain('npm ci && npm test');
    expect(scripts['start']).toBe('node scripts/vmchart.mjs demo');
    expect(scripts['prepare']).toBe('node scripts/build.mjs');
  });
});

test('every link of the README leads somewhere', async () => {
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map((match) => match[1] ?? '');
  const { access } = await import('node:fs/promises');
  for (const link of links) await expect(access(join(root, link))).resolves.toBeUndefined();
});
