/** Help and docs/cli.md say what the commands really take; `UPDATE_DOCS=1` writes the page. */
import { describe, expect, test } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { optionName } from '../../adapters/cli/arguments/option-name.ts';
import { commands } from '../../adapters/cli/commands/index.ts';
import { exitTable } from '../../adapters/cli/exit-codes.ts';
import { cliReference } from '../../adapters/cli/reference.ts';
import { cli, json } from './harness.ts';

const page = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'docs', 'cli.md');
const loaded: Awaited<ReturnType<(typeof commands)[number]['load']>>[] = [];
for (const entry of commands) loaded.push(await entry.load());

test('docs/cli.md is what the declarations print', async () => {
  const printed = await format(cliReference(loaded), { parser: 'markdown', printWidth: 120 });
  if (process.env['UPDATE_DOCS'] === '1') await writeFile(page, printed);
  expect(await readFile(page, 'utf8')).toBe(printed);
});

test('the list of commands agrees with the commands', () => {
  for (const [index, entry] of commands.entries()) {
    const { name, summary } = loaded[index] ?? {};
    expect({ name, summary }).toEqual({ name: entry.name, summary: entry.summary });
  }
});

test('vmchart --help lists every command and goes to stdout', async () => {
  const { code, stdout, stderr } = await cli(['--help']);
  expect([code, stderr]).toEqual([0, '']);
  for (const { name, summary } of commands)
    expect(stdout).toMatch(new RegExp(`^ {2}${name} +${summary.replace('.', '\\.')}$`, 'm'));
  expect((await cli(['help'])).stdout).toBe(stdout);
});

describe.each(loaded.map((command) => [command.name, command] as const))('vmchart %s --help', (name, command) => {
  test('names every option and runs nothing', async () => {
    const { code, stdout, stderr } = await cli([name, '--help']);
    expect([code, stderr]).toEqual([0, '']);
    for (const key of Object.keys(command.options)) expect(stdout).toContain(`--${optionName(key)}`);
    for (const line of stdout.split('\n')) expect(line).toBe(line.trimEnd());
    expect((await cli(['help', name])).stdout).toBe(stdout);
  });

  test('its summaries are sentences', () => {
    const told = [...Object.values(command.options), ...(command.positionals ?? []).map(({ argument }) => argument)];
    for (const summary of [command.summary, ...told.map((argument) => argument.summary)]) {
      expect(summary).toMatch(/^[A-Z'"].*\.$/);
    }
  });
});

test('help and version are envelopes under --json', async () => {
  const help = await json(['--help']);
  expect(help).toMatchObject({ type: 'help', ok: true, exitCode: 0, data: { command: null } });
  expect(await json(['run', '--help'])).toMatchObject({ type: 'help', ok: true, data: { command: 'run' } });
  const { version } = JSON.parse(await readFile(join(dirname(page), '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  expect(await json(['--version'])).toMatchObject({ type: 'version', ok: true, data: { version } });
  expect((await cli(['-V'])).stdout).toBe(`${version}\n`);
});

test('the exit codes are those of the table, in its order', () => {
  expect(exitTable.map(({ exitCode, code }) => [exitCode, code])).toEqual([
    [1, 'ERR_UNEXPECTED'],
    [2, 'ERR_INVALID_ARG'],
    [3, 'ERR_RETRYABLE'],
    [4, 'ERR_CREDENTIALS'],
    [5, 'ERR_PROTOCOL'],
    [6, 'ERR_BUILD_WEDGED'],
    [7, 'ERR_LAUNCH_DIED'],
    [8, 'ERR_WINDOW_CLOSED'],
    [9, 'ERR_PLATFORM'],
    [10, 'ERR_TIMEOUT'],
    [11, 'ERR_INTERRUPTED'],
    [12, 'ERR_PRECONDITION'],
    [13, 'ERR_EXEC_FAILED'],
    [14, 'ERR_NAME_TAKEN'],
    [15, 'ERR_CONFIG'],
    [16, 'ERR_SYNC'],
    [17, 'ERR_VIOLATED'],
  ]);
});
