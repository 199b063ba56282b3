/** What is written where: colours, progress, tables, broken outputs. */
import { describe, expect, test } from '@jest/globals';
import { Writable } from 'node:stream';
import { editDistance, nearest } from '../../adapters/cli/did-you-mean.ts';
import { beginStep, durationText } from '../../adapters/cli/output/progress.ts';
import { pad, table, widthOf } from '../../adapters/cli/output/table.ts';
import { Terminal } from '../../adapters/cli/output/terminal.ts';
import { bytesText, transferText } from '../../adapters/cli/output/transfer.ts';
import { Kept, cli } from './harness.ts';

function terminalOn(options: { tty?: boolean; json?: boolean; quiet?: boolean; environment?: Record<string, string> }) {
  const [stdout, stderr] = [new Kept(), new Kept()];
  stdout.isTTY = stderr.isTTY = options.tty === true;
  const { json = false, quiet = false, environment = {} } = options;
  return { terminal: new Terminal({ stdout, stderr, json, quiet, environment }), stdout, stderr };
}

describe('colours', () => {
  test.each([
    ['on a terminal', true, {}, true],
    ['not in a pipe', false, {}, false],
    ['not with NO_COLOR', true, { NO_COLOR: '1' }, false],
    ['yes with an empty NO_COLOR', true, { NO_COLOR: '' }, true],
    ['not on a dumb terminal', true, { TERM: 'dumb' }, false],
  ])('%s', async (_when, tty, environment, coloured) => {
    const { terminal } = terminalOn({ tty, environment });
    expect(terminal.paint.bad('x') !== 'x').toBe(coloured);
    const help = await cli(['--help'], { tty, environment });
    expect(help.stdout.includes('\u001B[')).toBe(coloured);
  });
});

describe('progress', () => {
  test('is one line a step in a log, without escape sequences', () => {
    const { terminal, stdout, stderr } = terminalOn({});
    const step = beginStep(terminal, 'launching');
    step.update('still launching');
    step.done('launched');
    step.failed('never said');
    expect(stderr.text).toMatch(/^✓ launched \d+ ms\n$/);
    expect(stdout.text).toBe('');
  });

  test('turns on a terminal, and wipes what it drew', () => {
    const { terminal, stderr } = terminalOn({ tty: true, environment: { NO_COLOR: '1' } });
    beginStep(terminal, 'launching').failed();
    expect(stderr.text.replaceAll('\u001B', 'ESC')).toMatch(
      /^\rESC\[2K\S launching \d+ ms\rESC\[2K✗ launching \d+ ms\n$/,
    );
  });

  test.each([
    [undefined, 80],
    [0, 80],
    [132, 132],
  ])('a terminal that says a width of %p is drawn for %p columns', (columns, drawn) => {
    const stderr = Object.assign(new Kept(), columns === undefined ? {} : { columns });
    expect(new Terminal({ stdout: new Kept(), stderr, json: false, environment: {} }).columns).toBe(drawn);
  });

  test('many updates at once are drawn once', () => {
    const { terminal, stderr } = terminalOn({ tty: true });
    const step = beginStep(terminal, 'copying');
    for (let index = 0; index < 1_000; index += 1) step.update(`copying ${index}`);
    expect(stderr.chunks.length).toBeLessThan(20);
    step.done();
    expect(stderr.text).toContain('copying 999');
  });

  test('is silent when quiet, and does not turn under --json', () => {
    const quiet = terminalOn({ tty: true, quiet: true });
    beginStep(quiet.terminal, 'launching').done();
    quiet.terminal.note('seen all the same');
    expect(quiet.stderr.text).toBe('seen all the same\n');
    const json = terminalOn({ tty: true, json: true, environment: { NO_COLOR: '1' } });
    beginStep(json.terminal, 'launching').done();
    expect(json.stderr.text).toMatch(/^✓ launching/);
  });
});

test('an output that breaks swallows the rest, and nobody waits for ever', async () => {
  const gone = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
  });
  const terminal = new Terminal({ stdout: gone, stderr: new Kept(), json: false, environment: {} });
  await terminal.out('first');
  await terminal.out('second');
  expect(gone.destroyed).toBe(true);
});

test('a slow reader slows what writes', async () => {
  const takers: (() => void)[] = [];
  const slow = new Writable({ write: (_chunk, _encoding, done) => void takers.push(done) });
  const terminal = new Terminal({ stdout: slow, stderr: new Kept(), json: false, environment: {} });
  let written = false;
  const writing = terminal.out('x').then(() => {
    written = true;
  });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(written).toBe(false);
  takers[0]?.();
  await writing;
});

describe('tables', () => {
  test('line up by what is seen, whatever it is made of', () => {
    expect(widthOf('\u001B[1mabc\u001B[22m')).toBe(3);
    expect(widthOf('日本')).toBe(4);
    expect(widthOf('e\u0301')).toBe(1);
    expect(pad('日', 4)).toBe('日  ');
    const rows = [
      ['NAME', 'N'],
      ['\u001B[31mbox\u001B[39m', '5'],
      ['日本', '12'],
    ];
    expect(table(rows, { right: [1], indent: '  ' })).toBe('  NAME   N\n  \u001B[31mbox\u001B[39m    5\n  日本  12');
    expect(table([['a', ''], ['b']])).toBe('a\nb');
  });
});

test('times, sizes and transfers in words', () => {
  expect([0, 85.4, 1_240, 59_994, 200_000].map(durationText)).toEqual([
    '0 ms',
    '85 ms',
    '1.24 s',
    '59.99 s',
    '3 min 20 s',
  ]);
  expect([0, 1023, 1536, 10 * 1024 ** 2, 3 * 1024 ** 3].map(bytesText)).toEqual([
    '0 B',
    '1023 B',
    '1.5 KiB',
    '10 MiB',
    '3.0 GiB',
  ]);
  expect(transferText(512, 1024, 1_000)).toBe(`[${'█'.repeat(12)}${'░'.repeat(12)}]  50 %  512 B of 1.0 KiB  512 B/s`);
  expect(transferText(512, null, 1_000)).toBe('512 B  512 B/s');
});

describe('guesses', () => {
  test.each([
    ['demo', 'demo', 0],
    ['dmeo', 'demo', 1],
    ['', 'abc', 3],
    ['kitten', 'sitting', 3],
  ])('%s is %s after %d edits', (from, to, edits) => {
    expect(editDistance(from, to)).toBe(edits);
  });

  test('name the nearest word, or none', () => {
    const known = ['demo', 'emulator', 'terminate'];
    expect(['dmo', 'EMULATER', 'term', 'zzz', 'x'].map((word) => nearest(word, known))).toEqual([
      'demo',
      'emulator',
      'terminate',
      null,
      null,
    ]);
  });
});
