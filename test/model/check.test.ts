import { describe, expect, test } from '@jest/globals';
import { Script } from 'node:vm';
import { checkModule, defineCheck, readModule } from '../../model/check/module.ts';
import { pasteableTest } from '../../model/check/pasteable.ts';
import { renderJunit } from '../../model/check/junit.ts';
import { renderCounterexamples, renderJson, renderTable } from '../../model/check/render.ts';
import { failuresOf, type CheckReport } from '../../model/check/report.ts';
import { runCheck } from '../../model/check/run-check.ts';
import { renderSarif } from '../../model/check/sarif.ts';
import { planTasks } from '../../model/check/tasks.ts';
import { traceRequirements } from '../../model/check/trace.ts';
import { symspecFile } from '../../model/symspec.ts';
import leaseCheck from '../../examples/check-lease.ts';

/** A clock that moves by hand: durations are part of reports. */
function ticking(): () => number {
  let ms = 0;
  return () => (ms += 5);
}

describe('a check that goes well', () => {
  let report: CheckReport;
  test('level 3 alone: its properties, no mutants, no tables', async () => {
    report = await runCheck({ levels: [3] }, { now: ticking() });
    expect(report).toMatchObject({ ok: true, failures: [], mutants: [], table: [] });
    expect(report.levels).toEqual([
      expect.objectContaining({ level: 3, states: 124, transitions: 664, durationMs: 5, skipped: null }),
    ]);
  });

  test('the JSON has what it is documented to have', () => {
    const { levels, properties } = renderJson(report) as { levels: object[]; properties: object[] };
    expect(Object.keys(levels[0]!)).toEqual(expect.arrayContaining(['level', 'states', 'transitions', 'durationMs']));
    for (const property of properties) {
      expect(property).toMatchObject({
        id: expect.any(String),
        holds: true,
        witnesses: expect.any(Number),
        counterexample: null,
      });
    }
    expect(JSON.parse(JSON.stringify(renderJson(report)))).toEqual(renderJson(report));
  });

  test('the table shows states, successors, depth, properties, time and rate', () => {
    const text = renderTable(report);
    expect(text).toMatch(/^level +states +successors +depth +properties +time +rate$/m);
    expect(text).toMatch(/^3 {2}the daemon's machines +124 +664 +7 +17\/17/m);
    expect(text).toContain('All is well');
    expect(renderCounterexamples(report)).toBe('');
  });

  test('the host may run the tasks as it likes: they are plain data', async () => {
    const seen: string[] = [];
    await runCheck(
      { levels: [3], mutate: true },
      {
        now: ticking(),
        run: (tasks) => {
          seen.push(...tasks.map((task) => (task.kind === 'mutant' ? task.id : `level ${task.level}`)));
          expect(JSON.parse(JSON.stringify(tasks))).toEqual(tasks);
          return Promise.resolve([]);
        },
      },
    );
    expect(seen.length).toBe(13);
    expect(planTasks([1, 2, 3, 4], false, {}).length).toBe(6);
  });
});

describe('a check that finds something', () => {
  let report: CheckReport;
  test('--without STATE-12: violated, with a scenario and a test to paste', async () => {
    report = await runCheck({ levels: [1], without: 'STATE-12' }, { now: ticking() });
    expect(report.ok).toBe(false);
    expect(report.failures).toEqual([expect.stringContaining('no-resume-past-window is violated (level 1)')]);
    const broken = report.properties.find(({ counterexample }) => counterexample !== null);
    expect(broken).toMatchObject({ id: 'no-resume-past-window', requirement: 'STATE-12', holds: false });
    expect(broken?.counterexample?.steps.map(({ by, what }) => `${by}: ${what}`)).toEqual([
      'caller: RUN without waiting, in time',
      'service: launch succeeds and says PENDING, in time',
      'platform: reported SUSPENDED, in time',
      'caller: RESUME, too late',
    ]);
    const pasted = pasteableTest(broken!.counterexample!);
    expect(pasted).toContain(`sandboxSystem({"policy":{}}, withoutGuard('STATE-12'))`);
    expect(pasted).toContain(
      `import { firstViolation, replay, sandboxPropertiesOf, sandboxSystem, withoutGuard } from 'vmchart/model';`,
    );
    const text = renderCounterexamples(report);
    expect(text).toContain('4. caller');
    expect(text).toContain('A test to paste:');
  });

  test('JUnit and SARIF say so, too', () => {
    const junit = renderJunit(report);
    expect(junit).toMatch(/<testsuite name="level 1: [^>]* failures="1"/);
    expect(junit).toContain('<failure message="violated">no-resume-past-window is violated: ');
    expect(junit.match(/<testcase/g)?.length).toBe(report.properties.length);
    const sarif = JSON.parse(renderSarif(report, { version: '1.2.3' })) as {
      version: string;
      runs: {
        tool: { driver: { rules: { id: string }[] } };
        results: { ruleId: string; ruleIndex: number; level: string }[];
      }[];
    };
    expect(sarif.version).toBe('2.1.0');
    const [run] = sarif.runs;
    expect(run?.results[0]).toMatchObject({ ruleId: 'no-resume-past-window', level: 'error' });
    expect(run?.tool.driver.rules[run.results[0]!.ruleIndex]?.id).toBe('no-resume-past-window');
    expect(run?.tool.driver.rules.map(({ id }) => id)).not.toContain('surviving-mutant');
  });

  test.each([
    ['./check-lease.ts', 'check-lease.ts'],
    ['.//src/my check.js', 'src/my%20check.js'],
    ['src\\check.js', 'src/check.js'],
    ['../other/check.js', '../other/check.js'],
  ])('SARIF names the file %s as code hosts do', (file, uri) => {
    const { runs } = JSON.parse(renderSarif(report, { version: '1.2.3', file })) as {
      runs: { results: { locations: { physicalLocation: { artifactLocation: { uri: string } } }[] }[] }[];
    };
    expect(runs[0]?.results[0]?.locations[0]?.physicalLocation.artifactLocation.uri).toBe(uri);
  });

  test('a test to paste is JavaScript as well as strict TypeScript', () => {
    const broken = report.properties.find(({ counterexample }) => counterexample !== null);
    const test = pasteableTest(broken!.counterexample!, { path: './check.js' })!;
    const body = test.replaceAll(/^import .*$/gm, '');
    expect(() => new Script(body)).not.toThrow();
    // An index may be out of bounds, which strict TypeScript wants to see handled.
    expect(body).toMatch(/const start = system\.initial\(\)\[0\];\n {2}if \(start === undefined\) throw/);
    expect(body).toContain('replay(system, start, [');
  });

  test('what was never put to the test, a cell that differs and a mutant that lives are failures', () => {
    const property = { kind: 'step' as const, requirement: null, says: '…', level: 1, counterexample: null };
    const failures = failuresOf({
      properties: [
        { ...property, id: 'idle', holds: true, witnesses: 0 },
        { ...property, id: 'never', kind: 'sometimes', holds: false, witnesses: 0 },
        { ...property, id: 'fine', holds: true, witnesses: 3 },
      ],
      mutants: [
        {
          id: 'm',
          says: 'a fault',
          killed: false,
          level: null,
          property: null,
          path: [],
          counterexample: null,
          durationMs: 0,
        },
      ],
      table: [
        {
          table: 'commands',
          state: 'RUNNING.idle',
          event: 'RUN',
          condition: null,
          expected: 'accepted',
          witnesses: 1,
          found: 'no-op',
          holds: false,
        },
      ],
    });
    expect(failures).toEqual([
      'idle was never put to the test (level 1): witnesses 0',
      'never never happens (level 1)',
      `RUNNING.idle × RUN: 'accepted' expected, 'no-op' found`,
      'the mutant m survived: a fault',
    ]);
  });
});

describe("a user's own machine", () => {
  test('the lease of the example has a bug, and the checker finds it', () => {
    const report = checkModule(readModule({ default: leaseCheck }, './check-lease.ts'), { now: ticking() });
    expect(report.ok).toBe(false);
    const [broken] = report.properties;
    expect(broken).toMatchObject({ id: 'held-vm-lives', holds: false });
    expect(broken?.counterexample?.steps.length).toBe(5);
    const places = {
      'check-lease.ts': './check-lease.ts',
      '../lease.mjs': '../lease.mjs',
      '@orders/lease': '@orders/lease',
    };
    for (const [path, imported] of Object.entries(places)) {
      expect(pasteableTest(broken!.counterexample!, { path })).toContain(`import check from '${imported}';`);
    }
    expect(pasteableTest(broken!.counterexample!, { path: './check-lease.ts' })).toContain(
      `import check from './check-lease.ts';`,
    );
  });

  test('a machine of another kind, and a limit, are checked as well', () => {
    const check = defineCheck({ ...leaseCheck, limit: 20 });
    expect(() => checkModule(check as never, { now: ticking() })).toThrow(expect.objectContaining({ reason: 'limit' }));
  });

  test.each([
    [{}, 'has no check'],
    [{ default: { name: 'x' } }, 'lacks machine, events, properties'],
    [{ check: null }, 'has no check'],
  ])('%j is no check', (exports, message) => {
    expect(() => readModule(exports, './x.js')).toThrow(message);
  });
});

describe('the trace of requirements', () => {
  test('every requirement is carried by a transition or a guard and checked by a property', () => {
    const tests = symspecFile.requirements.map(({ id }) => ({ file: 'x', title: `${id} is tested` }));
    const traces = traceRequirements(tests);
    expect(traces.filter(({ missing }) => missing.length > 0)).toEqual([]);
    expect(traces.map(({ id }) => id)).toEqual(expect.arrayContaining(['STATE-1', 'STATE-12', 'ENV-5', 'EXT-2']));
  });

  test('a test that is named after STATE-11 is none of STATE-1, and no test at all is a lack', () => {
    const traces = traceRequirements([{ file: 'x', title: 'STATE-11 never runs again' }]);
    expect(traces.find(({ id }) => id === 'STATE-11')?.missing).toEqual([]);
    expect(traces.find(({ id }) => id === 'STATE-1')?.missing).toEqual(['no test is named after it']);
  });
});
