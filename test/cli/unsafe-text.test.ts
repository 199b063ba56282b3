/** What a VM, a daemon or a service wrote does nothing to the terminal of whoever reads it. */
import { describe, expect, test } from '@jest/globals';
import { CliError } from '../../adapters/cli/cli-error.ts';
import { failureText } from '../../adapters/cli/output/failure-text.ts';
import { beginStep, durationText } from '../../adapters/cli/output/progress.ts';
import { table } from '../../adapters/cli/output/table.ts';
import { Terminal } from '../../adapters/cli/output/terminal.ts';
import { listProcs } from '../../effects/session/procs.ts';
import type { Transport } from '../../effects/session/transport.ts';
import { Kept } from './harness.ts';

const hostile = {
  'a colour': '\u001B[31m',
  'a title': '\u001B]0;mine\u0007',
  'a carriage return': '\r',
  'a line break': '\n',
  'a control of eight bits': '\u009B2J',
  'a line separator': '\u2028',
  'a turn of the reading order': '\u202E',
  'an isolate': '\u2066',
  DEL: '\u007F',
  NUL: '\u0000',
};

function terminalOn(tty: boolean) {
  const [stdout, stderr] = [new Kept(), new Kept()];
  stdout.isTTY = stderr.isTTY = tty;
  return { terminal: new Terminal({ stdout, stderr, json: false, environment: {} }), stdout, stderr };
}

/** What is left when the colours of ours are taken away. */
// eslint-disable-next-line no-control-regex
const uncoloured = (text: string) => text.replaceAll(/\u001B\[(?:[12]|22|3[1236]|39)m/g, '');

// eslint-disable-next-line no-control-regex
const acting = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/;

describe.each(Object.entries(hostile))('%s from elsewhere is written out', (_what, text) => {
  test.each([[true], [false]])('in a failure, its advice and its stack (terminal: %p)', (tty) => {
    const { terminal, stderr } = terminalOn(tty);
    const cause = new Error(`inner${text}x`);
    const error = new CliError('Protocol', `said${text}x`, { suggestions: [`try${text}x`], cause });
    terminal.note(failureText(error, terminal.paint, { stack: false }));
    expect(stderr.text).not.toContain(`said${text}`);
    expect(stderr.text).not.toContain(`try${text}`);
    expect(uncoloured(stderr.text)).not.toMatch(acting);
    expect(stderr.text.trimEnd().split('\n')).toHaveLength(3);
    terminal.note(failureText(error, terminal.paint, { stack: true }));
    expect(uncoloured(stderr.text)).not.toMatch(acting);
  });

  test('in a note, a step and a result', async () => {
    const { terminal, stdout, stderr } = terminalOn(false);
    terminal.note(`note${text}x`);
    beginStep(terminal, `step${text}x`).done();
    expect(stderr.text).not.toMatch(acting);
    expect(stderr.text.trimEnd().split('\n')).toHaveLength(2);
    await terminal.say(table([['NAME'], [`cell${text}x`]]));
    expect(stdout.text).not.toMatch(acting);
    expect(stdout.text.trimEnd().split('\n')).toHaveLength(2);
    const live = terminalOn(true);
    beginStep(live.terminal, `step${text}x`).done();
    expect(live.stderr.text).not.toContain(`step${text}`);
  });

  test("but not in a command's own output", async () => {
    const { terminal, stdout, stderr } = terminalOn(true);
    await terminal.out(text);
    await terminal.errorOutput(text);
    expect([stdout.text, stderr.text]).toEqual([text, text]);
  });
});

test('our own colours stay, in whatever is said', async () => {
  const { terminal, stdout, stderr } = terminalOn(true);
  terminal.note(terminal.paint.bad('red'));
  await terminal.say(table([[terminal.paintOut.good('green'), 'x']]));
  expect(stderr.text).toBe('\u001B[31mred\u001B[39m\n');
  expect(stdout.text).toBe('\u001B[32mgreen\u001B[39m  x\n');
});

describe('numbers that a daemon made up', () => {
  const group = { exec_id: 'x-1', pgid: 7, started_at: 1_700_000_000, child_exited: false, reap: false, pids: [7] };
  const listed = async (more: object) => {
    const transport = {
      sendJson: (_request: unknown, decode: (body: unknown) => unknown) =>
        Promise.resolve(decode({ procs: [{ ...group, ...more }] })),
    };
    return await listProcs(transport as unknown as Transport);
  };

  test.each([
    [{ started_at: 1e300 }],
    [{ started_at: -1 }],
    [{ started_at: 1.5 }],
    [{ pgid: 1e300 }],
    [{ pgid: 2 ** 32 }],
    [{ pgid: -7 }],
  ])('%j is no process group', async (more) => {
    await expect(listed(more)).rejects.toThrow(TypeError);
  });

  test('process ids out of range are left out, and the rest is read', async () => {
    const [read] = await listed({ pids: [7, 1e300, -1, 2.5, 8] });
    expect(read).toMatchObject({ pgid: 7, startedAtSec: 1_700_000_000, pids: [7, 8] });
  });

  test('a time without an end is told as unknown', () => {
    expect([durationText(Infinity), durationText(NaN)]).toEqual(['unknown', 'unknown']);
  });
});
