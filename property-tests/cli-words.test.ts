/** Whatever words are typed: one of the documented exit codes, one JSON object, never a stack. */
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { choice, flag, list, text, wholeNumber } from '../adapters/cli/arguments/argument.ts';
import { command } from '../adapters/cli/command.ts';
import { exitTable } from '../adapters/cli/exit-codes.ts';
import { Terminal } from '../adapters/cli/output/terminal.ts';
import { outputWanted, runProgram } from '../adapters/cli/program.ts';
import { HandSignals, Kept } from '../test/cli/harness.ts';

/** A command with an option of each kind, which gives back what it was given. */
const echo = command({
  name: 'echo',
  summary: 'Give back what was given.',
  positionals: [{ key: 'first', argument: text({ summary: 'A word.' }), required: false }],
  options: {
    someText: text({ summary: 'Text.', short: 't' }),
    count: wholeNumber({ summary: 'Number.' }, { min: 0, max: 9 }),
    kind: choice({ summary: 'Kind.' }, ['one', 'two']),
    item: list(text({ summary: 'Items.' })),
    loud: flag({ summary: 'Loud.' }),
  },
  takesRest: true,
  run: async (values) => ({ data: { ...values } }),
});
const commands = [{ name: 'echo', summary: echo.summary, load: async () => echo }];
const codes = [0, ...exitTable.map(({ exitCode }) => exitCode)];

async function type(words: readonly string[]) {
  const [stdout, stderr] = [new Kept(), new Kept()];
  const terminal = new Terminal({ stdout, stderr, ...outputWanted(words), environment: {} });
  const code = await runProgram(words, { terminal, interrupts: new HandSignals(), environment: {}, commands });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

const pieces = fc.oneof(
  fc.constantFrom('echo', '--', '-', '--some-text', '-t', '--count', '--count=3', '--kind', 'one', '--item', '--loud'),
  fc.constantFrom('--help', '-h', '--version', '-q', '--no-loud', '--__proto__', '--constructor=x', '--a.b=1', '-tq'),
  fc.string({ maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 8 }).map((value) => `--${value}`),
);
const seed = Number(process.env['FC_SEED'] ?? 20_250_909);

test(`any words under --json give one object and a documented code (seed ${seed})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 8 }), async (words) => {
      const { code, stdout, stderr } = await type(['--json', ...words]);
      const envelope = JSON.parse(stdout) as { ok: boolean; error?: { exitCode: number; message: string } };
      expect(codes).toContain(code);
      expect(envelope.ok).toBe(code === 0);
      if (!envelope.ok) expect(envelope.error).toMatchObject({ exitCode: code, code: 'ERR_INVALID_ARG' });
      expect(stdout.trimEnd()).not.toContain('\n');
      expect(stderr).not.toMatch(/\n\s+at /);
    }),
    { seed, numRuns: 1_500 },
  );
});

test(`a value arrives as it was typed (seed ${seed})`, async () => {
  const value = fc.string({ minLength: 1, maxLength: 30 }).filter((typed) => typed.trim() !== '');
  await fc.assert(
    fc.asyncProperty(value, fc.array(value, { maxLength: 4 }), async (typed, rest) => {
      const { stdout } = await type(['--json', 'echo', `--some-text=${typed}`, `--item=${typed}`, '--', ...rest]);
      expect(JSON.parse(stdout)).toMatchObject({ data: { someText: typed, item: [typed], rest } });
    }),
    { seed, numRuns: 1_000 },
  );
});
