/** What was typed wrongly gets one clear sentence, something to try and exit code 2, before any call is made. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { cli, json } from './harness.ts';

let server: Server;
let address = '';
let connections = 0;

beforeAll(async () => {
  server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
});

const aws = ['run', '--region', 'us-east-1'];
const arn = 'arn:aws:lambda:us-east-1:123456789012:microvm-image:job';

/** Words, a part of the sentence, and a part of what is suggested. `ADDRESS` is a server that counts. */
const cases: readonly (readonly [readonly string[], string, string])[] = [
  [['dmeo'], 'no command "dmeo"', 'Did you mean demo?'],
  [['terminat', 'x'], 'no command "terminat"', 'Did you mean terminate?'],
  [[], 'No command was given', 'vmchart demo'],
  [['--regoin'], 'no option --regoin', 'after it'],
  [['run', '--regoin', 'us-east-1'], 'no option --regoin', 'Did you mean --region?'],
  [['run', '--susspended-sec=5'], 'no option --susspended-sec', 'Did you mean --suspended-sec?'],
  [['run', '-x'], 'no option -x', 'run --help'],
  [['run', '--region', 'mars-1'], 'called "mars-1"', 'Known are us-east-1'],
  [['run', '--region', 'us-esat-1'], 'called "us-esat-1"', 'Did you mean us-east-1?'],
  [['run', '--region', ''], '--region must not be empty', ''],
  [['run', '--region', 'Mars', '--unlisted-region'], 'called "Mars"', 'us-east-1'],
  [['run', '--endpoint-url', 'ADDRESS', '--region', 'mars-1'], 'called "mars-1"', '--unlisted-region'],
  [
    ['run', '--endpoint-url', 'ADDRESS', '--suspended-sec', '-1'],
    '--suspended-sec takes a whole number, 0 or more',
    '',
  ],
  [['run', '--endpoint-url', 'ADDRESS', '--max-idle-sec', '59'], '--max-idle-sec takes a whole number, 60 or more', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--max-duration-sec', '28801'], '1 to 28800; got "28801"', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--max-duration-sec', '0'], '1 to 28800', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--max-duration-sec', '1.5'], 'a whole number', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--suspended-sec', 'ten'], 'got "ten"', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--suspended-sec', '0x10'], 'got "0x10"', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--timeout', '0', '--exec', 'true'], '--timeout takes a number', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--timeout', 'Infinity', '--exec', 'true'], 'got "Infinity"', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--egress', '--deny-egress'], 'opposite things', 'Leave one out'],
  [['run', '--endpoint-url', 'ADDRESS', '--exec', ''], '--exec must not be empty', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--exec', '   '], '--exec must not be empty', ''],
  [['run', '--endpoint-url', 'ADDRESS', '--exec'], '--exec needs a value', '--exec=VALUE'],
  [['run', '--exec', 'a', '--exec', 'b'], '--exec was given 2 times', ''],
  [['run', '--endpoint-url', 'ftp://somewhere'], '--endpoint-url takes an http or https address', 'vmchart emulator'],
  [['run', '--endpoint-url', 'not an address'], '--endpoint-url takes', 'http://127.0.0.1:9100'],
  [['run', '--endpoint-url', 'http://user:pw@host/'], 'without user and query', ''],
  [['run', 'uname', '-a'], "vmchart run takes a shell line by --exec 'uname -a'.", 'run --help'],
  [['run', '--timeout', '5', 'uname', '-a', '--quiet'], "by --exec 'uname -a'.", ''],
  [['run', 'uname'], "by --exec 'uname'.", ''],
  [['run', 'uname -a'], "by --exec 'uname -a'.", ''],
  [['run', "echo 'a b'"], `by --exec "echo 'a b'".`, ''],
  [['run', '--', 'uname', '-a'], "by --exec 'uname -a'.", ''],
  [['demo', 'ls', '/'], "vmchart demo takes a shell line by --exec 'ls /'.", ''],
  [['exec', '--name', 'box', 'ls', '-la'], "vmchart exec takes a shell line as one word: 'ls -la'.", 'exec --help'],
  [['exec', 'ls', '/', '--name', 'box'], "as one word: 'ls /'.", ''],
  [['exec', '--name', '-x', 'true'], '--name needs a value', '--name=VALUE'],
  [['run', '--keep=no'], '--keep is a switch', 'leave it out'],
  [['run', '--quiet=maybe'], '--quiet is a switch and takes true or false at most; got "maybe"', ''],
  [['run', '--env-file', '/dev/null'], 'no option --env-file', ''],
  [['run', '--name', 'box'], '--name is for a VM that stays', '--keep'],
  [['run', '--keep'], '--keep needs a name', '--name NAME'],
  [['run', '--keep', '--name', 'box'], 'of no use on the embedded platform', 'vmchart emulator --port 9100'],
  [['run', '--keep', '--name', 'microvm-1', '--endpoint-url', 'ADDRESS'], 'takes a name', 'microvm-'],
  [['run', '--keep', '--name', '../up', '--endpoint-url', 'ADDRESS'], 'takes a name', ''],
  [aws, 'On AWS the image has to be named', '--image arn:aws:lambda:us-east-1'],
  [[...aws, '--image', 'job'], '"job" is none', 'embedded platform'],
  [[...aws, '--image', 'arn:aws:s3:::bucket'], 'is none', '--image arn:aws:lambda'],
  [['run', '--region', 'eu-west-1', '--image', arn], 'of region us-east-1', '--region us-east-1'],
  [['run', '--env', '1X=2'], '--env takes NAME=VALUE', 'letters'],
  [['run', '--env', 'NOT_SET_ANYWHERE'], 'NOT_SET_ANYWHERE is to be passed on', 'Export'],
  [['run', '--vars-file', '/nonexistent/file'], 'there is no such file', 'Check the path'],
  [['run', '--vars-file', '/'], 'it is a folder', ''],
  [['emulator', '--port', '99999999'], '--port takes a whole number, 0 to 65535; got "99999999"', ''],
  [['emulator', '--port', '-1'], '0 to 65535', ''],
  [['emulator', '--region', 'mars-1'], 'called "mars-1"', 'Known are us-east-1'],
  [['emulator', '--pots', '1'], 'no option --pots', 'Did you mean --port?'],
  [['emulator', '--clock', 'fsat'], '--clock takes one of real, fast, manual', 'Did you mean fast?'],
  [['emulator', '--launch-delay', '-5'], '--launch-delay takes a whole number', ''],
  [['exec', 'true'], 'needs the name of a VM', '--name NAME'],
  [['exec', '--name', 'box'], 'needs a shell line', 'uname -a'],
  [['exec', '--name', 'box', 'true', '--poll', 'x-1'], 'takes one of', ''],
  [['exec', '--name', 'box', 'true', '--wait'], '--wait goes with --poll', 'EXEC_ID'],
  [['cp', 'a'], 'needs DEST', 'cp --help'],
  [['cp', 'a', 'b', '--name', 'box'], 'Neither path is in the VM', 'vm:/workspace/b'],
  [['cp', 'vm:/a', 'vm:/b', '--name', 'box'], 'Both paths are in the VM', 'vmchart exec'],
  [['cp', 'vm:a', 'b', '--name', 'box'], 'no absolute path in the VM', 'vm:/a'],
  [['cp', '/nonexistent', 'vm:/b', '--name', 'box'], 'there is no such file', 'Check the path'],
  [['cp', '-', 'vm:/b/', '--name', 'box'], 'Standard input has no name', ''],

  [['forward', '8080:80'], 'needs the name of a VM', 'vmchart forward --name NAME'],
  [['exec', '--detach', 'true', '--poll', 'x-1', '--name', 'box'], 'takes one of: a shell line', ''],
  [['forward', '80:99999999', '--name', 'box'], 'LOCAL:REMOTE takes two ports', '8080:80'],
  [['forward', '80:0', '--name', 'box'], 'LOCAL:REMOTE takes two ports', ''],
  [['forward', '1:2:3', '--name', 'box'], 'got "1:2:3"', ''],
  [['forward', '80', '--tcp', '--verified', '--name', 'box'], 'over TCP anyway', 'Leave out --tcp'],
  [['check', '--level', '9'], '--level takes one of 1, 2, 3, 4, all; got "9".', ''],
  [['suspend'], 'needs the name of a VM', 'vmchart ls'],
  [['suspend', 'a', '--name', 'b'], 'Two names were given', 'Give one'],
  [['suspend', 'a', 'b'], 'does not take the word "b"', ''],
];

describe.each(
  cases.map(([words, sentence, suggestion]) => [words.join(' ') || '(nothing)', words, sentence, suggestion]),
)('vmchart %s', (_name, words, sentence, suggestion) => {
  const typed = () => (words as readonly string[]).map((word) => (word === 'ADDRESS' ? address : word));

  test('is refused in words that help', async () => {
    const before = connections;
    const { error, ok, exitCode } = await json(typed());
    expect({ ok, exitCode }).toEqual({ ok: false, exitCode: 2 });
    expect(error).toMatchObject({ code: 'ERR_INVALID_ARG', kind: 'InvalidArg', exitCode: 2 });
    expect(error?.message).toContain(sentence);
    expect(error?.message).toMatch(/\.$/);
    expect(error?.suggestions.join(' ')).toContain(suggestion);
    const human = await cli(typed());
    expect([human.code, human.stdout]).toEqual([2, '']);
    expect(human.stderr).toContain(`error: ${error?.message}`);
    expect(human.stderr).not.toMatch(/\n\s+at |Error:/);
    expect(connections).toBe(before);
  });
});

test('VMCHART_DEBUG shows where a failure was thrown, and nothing else does', async () => {
  const { stderr } = await cli(['dmeo'], { environment: { VMCHART_DEBUG: '1' } });
  expect(stderr).toMatch(/\n\s*CliError: .*\n\s+at /);
});

test('a value that begins with a dash is given with an equals sign', async () => {
  const { error } = await json(['run', '--region', 'mars-1', '--exec=-v']);
  expect(error?.message).toContain('mars-1');
});

test('AWS_REGION alone does not leave the embedded platform; an endpoint in the environment does', async () => {
  const keep = ['run', '--keep', '--name', 'box'];
  const { error } = await json(keep, { environment: { AWS_REGION: 'us-east-1' } });
  expect(error?.message).toContain('embedded platform');
  const before = connections;
  const environment = { AWS_ENDPOINT_URL_LAMBDA_MICROVMS: address, VMCHART_HOME: '/dev/null/state' };
  const other = await json(keep, { environment });
  expect(other.error?.code).toBe('ERR_CONFIG');
  expect(other.exitCode).toBe(15);
  expect(connections).toBe(before);
});

test.each(['terminate', 'resume', 'suspend'])(
  'vmchart %s of a name that nobody kept points to vmchart ls',
  async (name) => {
    const { exitCode, error } = await json([name, 'nobox'], { environment: { VMCHART_HOME: '/nonexistent/state' } });
    expect(exitCode).toBe(12);
    expect(error?.suggestions.join()).toContain('vmchart ls');
  },
);

test('a word without a letter in common is no slip of another', async () => {
  const { error } = await json(['check', '--level', '9']);
  expect(error?.suggestions).toEqual([]);
});
