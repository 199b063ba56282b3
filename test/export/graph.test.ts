import { mkdtempSync, readFileSync, rmSync, symlinkSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sandboxMachine } from '../../machines/index.ts';
import {
  toDot,
  toJson,
  toMermaid,
  toScxml,
  toStately,
  toTable,
  findMachine,
  machineCatalog,
} from '../../model/export/index.ts';
import { cli, json } from '../cli/harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'vmchart-graph-'));
const path = (name: string) => join(folder, name);

beforeAll(() => {
  mkdirSync(path('node_modules'));
  symlinkSync(dirname(new URL(import.meta.resolve('xstate/package.json')).pathname), path('node_modules/xstate'));
  const door = `createMachine({ id: 'door', initial: 'closed', states: { closed: { on: { OPEN: 'open' } }, open: { on: { CLOSE: 'closed' } } } })`;
  const head = `import { createMachine } from 'xstate';\n`;
  writeFileSync(path('door.mjs'), `${head}export const door = ${door};`);
  writeFileSync(path('two.mjs'), `${head}export const one = ${door};\nexport const two = ${door};`);
  writeFileSync(path('check.mjs'), `${head}export default { name: 'door', machine: ${door} };`);
  writeFileSync(path('none.mjs'), `export const nothing = 1;`);
  writeFileSync(path('broken.mjs'), `export const = ;`);
  writeFileSync(path('typed.ts'), `export const x: number = 1;`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('--list names every machine with what it is', async () => {
  const { data } = await json(['graph', '--list']);
  expect((data as { machines: { name: string }[] }).machines.map(({ name }) => name)).toEqual(
    machineCatalog.map(({ name }) => name),
  );
  const { stdout } = await cli(['graph', '--list']);
  for (const { name, title } of machineCatalog)
    expect(stdout).toMatch(new RegExp(`^${name} .*${title.slice(0, 20)}`, 'm'));
});

test('every format of the lifecycle is what its writer makes', async () => {
  const scope = findMachine('sandbox')?.scope ?? {};
  const expected = {
    mermaid: toMermaid(sandboxMachine),
    dot: toDot(sandboxMachine),
    stately: toStately(sandboxMachine, scope),
    scxml: toScxml(sandboxMachine),
    json: toJson(sandboxMachine),
    table: toTable(sandboxMachine),
  };
  for (const [format, text] of Object.entries(expected)) {
    const { code, stdout } = await cli(['graph', '--format', format]);
    expect({ format, code, same: stdout.trimEnd() === text.trimEnd() }).toEqual({ format, code: 0, same: true });
  }
  expect((await cli(['graph'])).stdout.trimEnd()).toBe(expected.mermaid.trimEnd());
  expect((await cli(['graph', '--format', 'svg', '--flat'])).stdout).toMatch(/^<svg /);
});

test('-o writes a file, and the envelope says which', async () => {
  const file = path('out.svg');
  const { exitCode, data } = await json([
    'graph',
    'exec',
    '--format',
    'svg',
    '--highlight',
    'running.alive',
    '-o',
    file,
  ]);
  expect({ exitCode, data }).toEqual({ exitCode: 0, data: { machine: 'exec', format: 'svg', file } });
  expect(readFileSync(file, 'utf8')).toMatch(/data-state="running.alive" class="node inner current"/);
  const { exitCode: failed, error } = await json(['graph', '-o', path('no/such/folder.svg')]);
  expect({ failed, code: error?.code }).toEqual({ failed: 15, code: 'ERR_CONFIG' });
});

test('--only draws one outermost state, --flat only the outermost', async () => {
  const only = (await cli(['graph', '--format', 'dot', '--only', 'SUSPENDED'])).stdout;
  expect(only).toContain('"SUSPENDED.settling"');
  expect(only).not.toContain('"PENDING.launching"');
  expect((await cli(['graph', '--flat', '--highlight', 'RUNNING'])).stdout).toContain('class RUNNING current');
});

test('a machine of the user’s own module is drawn', async () => {
  const { stdout } = await cli(['graph', path('door.mjs'), '--format', 'mermaid']);
  expect(stdout).toContain('closed --> open : OPEN');
  expect((await json(['graph', `${path('two.mjs')}#two`, '--format', 'dot'])).data).toMatchObject({ machine: 'two' });
});

describe('a counterexample as a drawing', () => {
  const report = (system: string, steps: readonly (readonly [by: string, what: string, state: string])[]) =>
    JSON.stringify({
      type: 'check',
      data: {
        counterexample: {
          property: 'never-open',
          requirement: null,
          says: 'The door is never open.',
          start: system.startsWith('composed') ? 'everything at its start' : 'closed',
          system,
          steps: steps.map(([by, what, state]) => ({ by, what, state, effects: [], event: null })),
        },
      },
    });

  test('one of the composed system shows the way of the client and of the VM, and names every step', async () => {
    writeFileSync(
      path('composed.json'),
      report('composedSystem({})', [
        ['caller 1', 'RUN', 'client = PENDING.launching, wire = a request'],
        ['service', 'makes a VM for the launch', 'vm = PENDING'],
        ['daemon', 'gets the run hook', 'vm = RUNNING'],
        ['host', 'asks where the VM is', 'report = RUNNING'],
        ['host', 'tells the client: RUNNING', 'client = RUNNING.idle'],
      ]),
    );
    const { data } = await json(['graph', '--replay', path('composed.json')]);
    const { machine, content } = data as { machine: string; content: string };
    expect(machine).toBe('sandbox, platform');
    expect(content.match(/data-state="RUNNING" class="seen node outer current"/g)).toHaveLength(2);
    expect(content.match(/data-move="PENDING RUNNING" class="way edge/g)).toHaveLength(2);
    expect(content).toMatch(/data-state="PENDING.launching" class="seen /);
    for (const step of ['caller 1: RUN → client PENDING.launching', 'host: asks where the VM is'])
      expect(content).toContain(`>${step}</text>`);
  });

  test('one of a module of the user’s own needs that module', async () => {
    writeFileSync(path('door.json'), report('moduleSystem(check)', [['somebody', 'opens', 'open']]));
    const { exitCode, error } = await json(['graph', '--replay', path('door.json')]);
    expect({ exitCode, suggestions: error?.suggestions }).toEqual({
      exitCode: 2,
      suggestions: ['Name the module that exports its machine, such as vmchart graph ./orders.js --replay FILE.'],
    });
    for (const module of ['door.mjs', 'check.mjs']) {
      const { data } = await json(['graph', path(module), '--replay', path('door.json')]);
      expect(data).toMatchObject({ machine: 'door' });
      expect((data as { content: string }).content).toMatch(/data-move="closed open" class="way edge/);
    }
  });
});

describe('what is asked wrongly is refused in one sentence', () => {
  test.each([
    [['graph', 'sandbo'], 'There is no machine "sandbo".', 'Did you mean sandbox?'],
    [['graph', '--format', 'pdf'], '--format takes one of', ''],
    [['graph', '--highlight', 'RUNING'], 'sandbox has no state "RUNING".', 'Did you mean RUNNING?'],
    [['graph', '--format', 'svg', '--only', 'RUNNING.idle'], 'sandbox has no state "RUNNING.idle".', ''],
    [['graph', '--format', 'scxml', '--flat'], '--flat is for mermaid, svg, dot', ''],
    [['graph', '--flat', '--format', 'dot', '--only', 'RUNNING'], 'they do not go together', ''],
    [['graph', './missing.mjs'], 'There is no module ./missing.mjs.', ''],
    [['graph', path('none.mjs')], 'exports no XState machine', 'Export the result of createMachine'],
    [['graph', path('two.mjs')], 'exports several machines: one, two', 'two.mjs#one'],
    [['graph', `${path('two.mjs')}#three`], 'exports no machine "three"', ''],
    [['graph', path('broken.mjs')], 'cannot be loaded', ''],
    [['graph', '--replay', path('door.mjs')], 'is neither a recording nor a report of vmchart check', ''],
    [['graph', '--replay', path('door.mjs'), '--format', 'dot'], '--replay draws svg', ''],
    [
      ['ui', '--replay', path('door.mjs')],
      'is neither a recording nor a report of vmchart check',
      'vmchart run --record',
    ],
    [['graph', '--replay', path('door.mjs'), '--highlight', 'RUNNING'], 'it has no use for --highlight', ''],
    [['ui', '--launch', '2', '--endpoint-url', 'http://127.0.0.1:1'], '--launch is for the emulator', ''],
    [['ui', '--machine', './door.mjs'], 'it needs --replay FILE', ''],
    [['ui', '--replay', path('missing')], 'there is no such file', ''],
    [['run', '--exec', 'true', '--inspect', 'nowhere'], '--inspect takes the address that vmchart ui prints', ''],
  ])('%p', async (words, sentence, hint) => {
    const { exitCode, error } = await json(words);
    expect(exitCode).toBe(2);
    expect(error?.message).toContain(sentence);
    expect(error?.message.split('\n')).toHaveLength(1);
    if (hint !== '') expect(error?.suggestions.join(' ')).toContain(hint);
  });
});

test('a picture that cannot be written names its file once', async () => {
  const { exitCode, error } = await json(['graph', '-o', '/nonexistent/x']);
  expect({ exitCode, message: error?.message }).toEqual({
    exitCode: 15,
    message: '/nonexistent/x cannot be written (ENOENT).',
  });
});
