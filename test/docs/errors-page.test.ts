/** docs/errors.md is printed from the tables of the code; `UPDATE_DOCS=1` writes it. */
import { expect, test } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitTable } from '../../adapters/cli/exit-codes.ts';
import { allWireKinds, codeOf, kindOf } from '../../effects/index.ts';

const page = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'docs', 'errors.md');

const wireMeanings: Readonly<Record<string, string>> = {
  ProtocolError: 'the daemon could not use the request, or its answer could not be read',
  Unauthorized: 'the bearer is not the installed agent token',
  NotFound: 'no such exec, file or directory',
  RequestTimeout: 'the command did not take its input in time; a part may be in',
  Conflict: 'the target is in another state than the request needs',
  StdinClosed: 'the input is at its end, or the command stopped reading',
  TooLarge: 'over a configured limit',
  ServerError: 'the daemon broke',
  NotBootstrapped: 'the run hook has not delivered the token yet',
  InsufficientStorage: 'the write would take the disk below its reserve',
  Transport: 'there was no answer at all',
  AuthTokenMint: 'no token for the endpoint proxy could be had',
  ExecTimeout: 'the wait for a command ended; the command goes on',
  OutputGap: 'bytes of the output are gone for good',
};

function rendered(): string {
  return [
    '# Errors',
    '',
    'Every failure is a `VmchartError`. Match on `code` or `kind`; messages are for people. `retryable` follows from the',
    'kind alone: `true` means that sending the identical request again can help. `reason` is a finer, stable slug, and',
    '`requirement` names the rule that refused a command. Nothing secret is ever in an error.',
    '',
    'The exit status belongs to the command line; 0 is success. `run --exec-status` passes a command’s own status through.',
    '',
    '| exit | code | kind | retryable | what it means |',
    '| ---: | --- | --- | --- | --- |',
    ...exitTable.map(
      ({ exitCode, code, kind, meaning }) =>
        `| ${exitCode} | \`${code}\` | ${kind} | ${kind === 'Retryable' ? 'yes' : 'no'} | ${meaning} |`,
    ),
    '',
    '## What the daemon’s wire adds',
    '',
    'Errors of the in-VM client also carry a `wireKind`.',
    '',
    '| wire kind | code | meaning |',
    '| --- | --- | --- |',
    ...allWireKinds().map((kind) => `| \`${kind}\` | \`${codeOf(kindOf(kind))}\` | ${wireMeanings[kind]} |`),
    '',
  ].join('\n');
}

test('docs/errors.md lists every code as the code has it', async () => {
  if (process.env['UPDATE_DOCS'] === '1') await writeFile(page, rendered());
  expect(await readFile(page, 'utf8')).toBe(rendered());
});
