/** `vmchart check`, `vmchart trace` and the model formats of `vmchart graph`. */
import { describe, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { guardNames, type PropertyResult } from '../../model/index.ts';
import { checkCommand } from '../../adapters/cli/commands/check.ts';
import { readReplay } from '../../adapters/trace/file.ts';
import { cli, json } from './harness.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'vmchart-check-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('vmchart check', () => {
  test('a level that holds: exit 0, a table for people, an object for programs', async () => {
    const { code, stdout } = await cli(['check', '--level', '3']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^level +states/);
    expect(stdout).toContain('All is well');
    const { exitCode, type, ok, data } = await json(['check', '--level', '3']);
    expect({ exitCode, type, ok }).toEqual({ exitCode: 0, type: 'check', ok: true });
    expect(data).toMatchObject({ levels: [{ level: 3, states: 124, transitions: 664 }], mutants: [], table: [] });
  });

  test.each(guardNames)(
    'without the guard %s a property is violated: exit 17, a scenario and a test',
    async (guard) => {
      const { code, stdout, stderr } = await cli(['check', '--level', '1', '--without', guard]);
      expect(code).toBe(17);
      expect(stdout).toContain('is violated');
      expect(stdout).toContain('A test to paste:');
      expect(stdout).toContain(`withoutGuard('${guard}')`);
      expect(stderr).toContain('ERR_VIOLATED, exit code 17');
    },
  );

  test('the JSON of a violation carries the report, and opens as a replay', async () => {
    const { exitCode, ok, data, error } = await json(['check', '--level', '1', '--without', 'STATE-11']);
    expect({ exitCode, ok, code: (error as { code: string }).code }).toEqual({
      exitCode: 17,
      ok: false,
      code: 'ERR_VIOLATED',
    });
    const { properties } = data as unknown as { properties: PropertyResult[] };
    const broken = properties.filter(({ counterexample }) => counterexample !== null);
    expect(broken.length).toBe(1);
    expect(broken[0]?.witnesses).toBeGreaterThan(0);
    const { entries, title } = readReplay(JSON.stringify(data), 'report.json');
    expect(title).toBe(broken[0]?.id);
    expect(entries.length).toBeGreaterThan(broken[0]?.counterexample?.steps.length ?? Number.POSITIVE_INFINITY);
  });

  test('reports for build servers and code hosts are written, also when something is violated', async () => {
    await inFolder(async (folder) => {
      const [junit, sarif] = [join(folder, 'report.xml'), join(folder, 'report.sarif')];
      const { code } = await cli(['check', '--level', '1', '--without', 'STATE-5', '--junit', junit, '--sarif', sarif]);
      expect(code).toBe(17);
      expect(await readFile(junit, 'utf8')).toContain('<failure message="violated">');
      expect(JSON.parse(await readFile(sarif, 'utf8'))).toMatchObject({ version: '2.1.0' });
    });
  });

  test('bounds go to the composed system, and a limit that is met is one clear sentence', async () => {
    const { exitCode, data } = await json(['check', '--level', '2', '--faults', '0', '--crashes', '0']);
    expect(exitCode).toBe(0);
    const [level] = (data as unknown as { levels: { states: number }[] }).levels;
    expect(level?.states).toBeLessThan(300_000);
    const { code, stderr } = await cli(['check', '--level', '2', '--limit', '500']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/error: more than 500 states: '\w+' took \d+ values/);
  });

  test("a user's module is checked with its own properties", async () => {
    await inFolder(async (folder) => {
      const module = join(folder, 'check-door.mjs');
      // A module outside of the package names xstate by its place.
      await writeFile(
        module,
        `import { createMachine } from ${JSON.stringify(import.meta.resolve('xstate'))};
         const machine = createMachine({ id: 'door', initial: 'shut', states: { shut: { on: { PUSH: 'open' } }, open: {} } });
         export default {
           name: 'door', machine,
           events: () => [{ by: 'visitor', label: 'pushes', event: { type: 'PUSH' } }],
           properties: [{ id: 'stays-shut', kind: 'always', requirement: null, says: 'It stays shut.', check: (s) => s.value === 'shut' }],
         };`,
      );
      const { code, stdout } = await cli(['check', module]);
      expect(code).toBe(17);
      expect(stdout).toContain('stays-shut is violated');
      expect(stdout).toMatch(/1\. visitor {2}pushes/);
    });
  });

  test.each([
    [['check', './nowhere.mjs'], 'There is no module ./nowhere.mjs.'],
    [['check', '--level', '5'], '--level takes one of 1, 2, 3, 4, all'],
    [['check', '--without', 'STATE-4'], '--without takes one of STATE-3, STATE-5, STATE-11, STATE-12'],
    [['check', '--faults', '-1'], '--faults takes a whole number, 0 to 8'],
  ])('%j is refused in one sentence', async (words, message) => {
    const { code, stderr } = await cli(words);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  test('the guards of the command line are those of the model', () => {
    expect(checkCommand.options.without.placeholder).toBe(guardNames.join('|'));
  });
});

describe('vmchart trace', () => {
  test('every requirement is covered by this repository', async () => {
    const { exitCode, data } = await json([
      'trace',
      '--tests',
      join(root, 'test'),
      '--tests',
      join(root, 'property-tests'),
    ]);
    expect(exitCode).toBe(0);
    const { requirements, uncovered } = data as unknown as {
      requirements: { id: string; tests: unknown[] }[];
      uncovered: string[];
    };
    expect(uncovered).toEqual([]);
    expect(requirements.length).toBe(12 + 5 + 2);
    expect(requirements.filter(({ tests }) => tests.length === 0)).toEqual([]);
  });

  test('a requirement that no test names is an error', async () => {
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'one.test.ts'), `test('STATE-${3} is the only one', () => {});`);
      const { code, stderr } = await cli(['trace', '--tests', folder]);
      expect(code).toBe(17);
      expect(stderr).toContain('STATE-1: no test is named after it');
      expect(stderr).not.toContain('STATE-3: ');
    });
  });
});

describe('the model for other checkers', () => {
  test('--format promela and --format smt2 write it', async () => {
    const promela = await cli(['graph', '--format', 'promela']);
    expect([promela.code, promela.stdout.includes('active proctype system()')]).toEqual([0, true]);
    expect(promela.stdout.match(/d_step/g)?.length).toBeGreaterThan(50);
    const smt2 = await cli(['graph', '--format', 'smt2']);
    expect(smt2.stdout.match(/\(check-sat\)/g)?.length).toBe(18);
  });

  test('they are of the whole model, not of a machine', async () => {
    const { code, stderr } = await cli(['graph', 'platform', '--format', 'promela']);
    expect([code, stderr.includes('writes the whole model')]).toEqual([2, true]);
  });
});
