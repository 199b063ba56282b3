/** What an interrupted command has printed is not lost under `--json`, where nothing has shown it. */
import { expect, test } from '@jest/globals';
import type { RunOptions, Session } from '../../effects/index.ts';
import { Terminal } from '../../adapters/cli/output/terminal.ts';
import { PartialExec, runLine } from '../../adapters/cli/life/run-line.ts';
import { Kept } from './harness.ts';

/** A session whose command prints some pieces and is then interrupted. */
function interruptedAfter(pieces: readonly (readonly ['stdout' | 'stderr', string])[]): Session {
  const run = async (_line: unknown, { onOutput }: RunOptions) => {
    let offset = 0;
    for (const [stream, text] of pieces) {
      const data = Buffer.from(text);
      await onOutput?.({ type: 'output', stream, data, offset });
      offset += data.length;
    }
    throw new Error('interrupted');
  };
  return { run } as unknown as Session;
}

async function partialOf(session: Session, json: boolean) {
  const stdout = new Kept();
  const terminal = new Terminal({ stdout, stderr: new Kept(), json, environment: {} });
  const partial = new PartialExec();
  expect(partial.data()).toBeNull();
  await expect(runLine(session, 'x', terminal, { execId: 'x-1', partial })).rejects.toThrow('interrupted');
  return { data: partial.data(), stdout: stdout.text };
}

test('both outputs and the exec id are kept', async () => {
  const session = interruptedAfter([
    ['stdout', 'so '],
    ['stderr', 'oops'],
    ['stdout', 'far'],
  ]);
  expect(await partialOf(session, true)).toEqual({
    data: { execId: 'x-1', done: false, stdout: 'so far', stderr: 'oops', truncated: false },
    stdout: '',
  });
});

test('of a flood the first mebibyte is kept, and that is told', async () => {
  const { data } = await partialOf(interruptedAfter([['stdout', 'x'.repeat(1_048_580)]]), true);
  expect([String(data?.['stdout']).length, data?.['truncated']]).toEqual([1_048_576, true]);
});

test('without --json it was shown as it came, and is not kept a second time', async () => {
  const { data, stdout } = await partialOf(interruptedAfter([['stdout', 'shown']]), false);
  expect(stdout).toBe('shown');
  expect(data).toMatchObject({ execId: 'x-1', stdout: '' });
});
