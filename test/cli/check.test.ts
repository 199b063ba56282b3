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

  /** A door that can be pushed, and a check of it with some parts replaced. */
  const doorCheck = (parts: Readonly<Record<string, string>>) => {
    const whole = {
      name: `'door'`,
      machine: `createMachine({ id: 'door', initial: 'shut', states: { shut: { on: { PUSH: { target: 'open', guard: () => { if (globalThis.stiff) throw new Error('stiff'); return true; } } } }, open: {} } })`,
      events: `() => [{ by: 'visitor', label: 'pushes', event: { type: 'PUSH' } }]`,
      properties: `[{ id: 'stays-shut', kind: 'always', requirement: null, says: 'It stays shut.', check: (s) => s.value === 'shut' }]`,
      ...parts,
    };
    const members = Object.entries(whole).map(([name, source]) => `${name}: ${source}`);
    return `import { createMachine } from ${JSON.stringify(import.meta.resolve('xstate'))};\nexport default { ${members.join(', ')} };\n`;
  };
  const property = (source: string) => `[{ id: 'mine', requirement: null, says: 'It is mine.', ${source} }]`;

  test.each<[string, Readonly<Record<string, string>>, string]>([
    [
      'a check that throws',
      { properties: property(`kind: 'always', check: () => { throw new Error('boom.'); }`) },
      `check of the property 'mine' threw: boom.`,
    ],
    [
      'a premise that throws',
      { properties: property(`kind: 'step', premise: (s) => s.nothing.here, check: () => true`) },
      `premise of the property 'mine' threw: Cannot read properties of undefined`,
    ],
    [
      'an unknown kind',
      { properties: property(`kind: 'allways', check: () => true`) },
      `the property 'mine' has the kind "allways": it must be one of always, step, sometimes.`,
    ],
    [
      'a step without a premise',
      { properties: property(`kind: 'step', check: () => true`) },
      `the property 'mine' lacks premise`,
    ],
    [
      'an event without a type',
      { events: `() => [{ by: 'visitor', label: 'pushes', event: {} }]` },
      `the event 'pushes' of 'door' has no type`,
    ],
    [
      'an event without a label',
      { events: `() => [{ by: 'visitor', event: { type: 'PUSH' } }]` },
      `the event {"by":"visitor","event":{"type":"PUSH"}} of 'door' needs by and label`,
    ],
    ['events that throw', { events: `() => { throw new Error('no idea'); }` }, `events() of 'door' threw: no idea.`],
    [
      'a guard that throws',
      {
        properties: property(`kind: 'always', check: () => true`),
        describe: `(globalThis.stiff = true, (s) => String(s.value))`,
      },
      `the machine, at the event 'pushes', threw: Unable to evaluate guard`,
    ],
    ['no properties', { properties: '[]' }, 'has no properties, so that nothing is put to the test.'],
    ['no events', { events: '() => []' }, `nothing can happen in 'door': its events() gives no event in any state`],
    ['no machine', { machine: '{}' }, 'is no XState machine'],
  ])('%s is the fault of the check: exit 2, and one sentence that names it', async (_, parts, message) => {
    if (parts['events'] === '() => []') parts = { ...parts, properties: property(`kind: 'always', check: () => true`) };
    await inFolder(async (folder) => {
      const module = join(folder, 'check-door.mjs');
      await writeFile(module, doorCheck(parts));
      try {
        const { exitCode, error } = await json(['check', module]);
        expect({ exitCode, code: error?.code }).toEqual({ exitCode: 2, code: 'ERR_INVALID_ARG' });
        expect(error?.message).toContain(message);
        expect(error?.message.split('\n')).toHaveLength(1);
      } finally {
        delete (globalThis as { stiff?: boolean }).stiff;
      }
    });
  });

  test('a violation of a check of one’s own: the mark, the suggestion, SARIF and JUnit are about that module', async () => {
    await inFolder(async (folder) => {
      const module = join(folder, 'check-door.mjs');
      const [junit, sarif] = [join(folder, 'report.xml'), join(folder, 'report.sarif')];
      const more = `{ id: 'later', kind: 'sometimes', requirement: null, says: 'It opens twice.', check: () => false }`;
      const shut = `{ id: 'stays-shut', kind: 'always', requirement: null, says: 'It stays shut.', check: (s) => s.value === 'shut' }`;
      await writeFile(module, doorCheck({ properties: `[${shut}, ${more}]` }));
      const { code, stderr, stdout } = await cli(['check', module, '--junit', junit, '--sarif', sarif]);
      expect(code).toBe(17);
      expect(stderr).toMatch(/^✗ checked: 1 wrong /);
      expect(stderr).not.toContain('✓');
      expect(stderr).toContain(`vmchart graph ${module} --replay FILE --format svg`);
      expect(stdout).not.toContain('[0]!');
      expect(await readFile(junit, 'utf8')).toContain('<skipped message="The search stopped at the first violation');
      const [run] = JSON.parse(await readFile(sarif, 'utf8')).runs;
      expect(run.tool.driver.rules.map(({ id }: { id: string }) => id)).toEqual(['stays-shut', 'later']);
      // What is suggested can be done.
      const report = join(folder, 'report.json');
      await writeFile(report, (await cli(['check', module, '--json'])).stdout);
      const drawn = await cli(['graph', module, '--replay', report, '--format', 'svg']);
      expect([drawn.code, drawn.stdout.includes('<svg')]).toEqual([0, true]);
    });
  });

  test('what never happened has no path to watch, and is not suggested to be watched', async () => {
    await inFolder(async (folder) => {
      const module = join(folder, 'check-door.mjs');
      await writeFile(module, doorCheck({ properties: property(`kind: 'sometimes', check: () => false`) }));
      const { exitCode, error } = await json(['check', module]);
      expect({ exitCode, suggestions: error?.suggestions }).toEqual({ exitCode: 17, suggestions: [] });
      expect(error?.message).toBe('mine never happens (level 1)');
    });
  });

  test('a syntax error is told with its line, and a limit that is met once', async () => {
    await inFolder(async (folder) => {
      const module = join(folder, 'check-door.mjs');
      await writeFile(module, 'export const a = 1;\nexport const b = ;\n');
      const broken = await json(['check', module]);
      expect(broken.error?.message).toMatch(/cannot be loaded: .*\(line 2 of .*check-door\.mjs\)\.$/);
      expect((await json(['graph', module])).error?.message).toBe(broken.error?.message);
      const sound = join(folder, 'check-sound.mjs');
      await writeFile(sound, doorCheck({ properties: property(`kind: 'always', check: () => true`) }));
      const { error } = await json(['check', sound, '--limit', '1']);
      expect(error?.message).toMatch(/^more than 1 states: .* or raise --limit\.$/);
      expect(error?.suggestions).toEqual([]);
    });
  });

  test.each([
    [['--level', '1'], '--level is'],
    [['--mutate'], '--mutate is'],
    [['--without', 'STATE-3', '--faults', '2'], '--without and --faults are'],
    [['--crashes', '0'], '--crashes is'],
  ])('%j with a module is refused, because it would do nothing', async (words, message) => {
    const { code, stderr } = await cli(['check', './mine.js', ...words]);
    expect(code).toBe(2);
    expect(stderr).toContain(`error: ${message} of the check of the lifecycle, not of a module's.`);
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

  test('outside of a checkout it says where it can be run', async () => {
    const { exitCode, error } = await json(['trace', '--tests', '/nonexistent/test']);
    expect(exitCode).toBe(2);
    expect(error?.message).toBe('The tests in /nonexistent/test cannot be read (ENOENT).');
    expect(error?.suggestions.join()).toMatch(/in a checkout of vmchart, or .* --tests/);
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
