/** Writing to a command's standard input. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { manualClock } from '../../adapters/clock.ts';
import { eventually, startGuest } from './guest-harness.ts';
import type { Answer, Harness } from './guest-harness.ts';

const clock = manualClock();
let vm: Harness;
beforeAll(async () => {
  vm = await startGuest({ clock });
});
afterAll(() => vm.close());

let ids = 0;
const start = async (command: string): Promise<string> => {
  const exec_id = `i${(ids += 1)}`;
  await vm.call('/v1/exec/start', {
    json: { exec_id, command: [command], shell: true, stdin: true, env: { PATH: '/usr/bin:/bin' } },
  });
  return exec_id;
};
const write = (id: string, body: Record<string, unknown>): Promise<Answer> =>
  vm.call(`/v1/exec/${id}/stdin`, { json: body });
const base64 = (data: string | Buffer): string => Buffer.from(data).toString('base64');
const brief = ({ status, text }: Answer): unknown[] => [status, (JSON.parse(text) as Record<string, unknown>)['error']];

test('9 bytes arrive as they were, and the end is explicit', async () => {
  const id = await start('cat');
  expect((await write(id, { data_b64: base64('one\n') })).json()).toEqual({ exec_id: id, written: 4, eof: false });
  expect((await write(id, {})).json()).toEqual({ exec_id: id, written: 0, eof: false });
  expect((await write(id, { data_b64: base64('two é'), signal: 'eof' })).json()).toEqual({
    exec_id: id,
    written: 6,
    eof: true,
  });
  expect(await vm.exited(id)).toMatchObject({ stdout: 'one\ntwo é', exit_code: 0 });
  expect(brief(await write(id, { signal: 'eof' }))).toEqual([410, 'stdin_closed']);
});

test('9 the checks come in their order', async () => {
  const plain = 'no-stdin';
  await vm.call('/v1/exec/start', { json: { exec_id: plain, command: ['true'], shell: true } });
  const id = await start('cat');
  const malformed = [400, 'malformed_request'];
  expect(brief(await write('none', { data_b64: 7 }))).toEqual(malformed);
  expect(brief(await write('none', { signal: 'stop' }))).toEqual([404, 'unknown_exec']);
  expect(brief(await write(plain, { signal: 'stop' }))).toEqual([409, 'stdin_not_requested']);
  expect(brief(await write(id, { signal: 'stop' }))).toEqual(malformed);
  for (const data_b64 of ['a', 'ab==c', 'YQ', 'YR==', 'Y Q=', 'YQ==\n', '_-8='])
    expect(brief(await write(id, { data_b64 }))).toEqual(malformed);
  expect(brief(await write(id, { data_b64: base64(Buffer.alloc(1_048_577)) }))).toEqual([413, 'stdin_write_too_large']);
  expect((await write(id, { data_b64: null, signal: null })).status).toBe(200);
  await write(id, { signal: 'eof' });
  await vm.exited(id);
});

test('9 a child that closed its input is 410, not a wait', async () => {
  const id = await start('exec 0<&-; sleep 1000');
  await eventually(async () => (await write(id, { data_b64: base64('x') })).status === 410);
  expect(brief(await write(id, { data_b64: base64('x') }))).toEqual([410, 'stdin_closed']);
  await vm.call(`/v1/exec/${id}/kill`, { method: 'POST' });
});

test('9 a child that does not read is 408 in time, and the pipe stays usable', async () => {
  const id = await start('while [ ! -e /tmp/go ]; do sleep 0.01; done; wc -c');
  const large = base64(Buffer.alloc(200_000, 'x'));
  const before = clock.now();
  let answer: Answer | null = null;
  void write(id, { data_b64: large }).then((given) => (answer = given));
  // Time passes in small steps, since nobody can see when the pipe is full.
  await eventually(async () => {
    await clock.advance(500);
    return answer !== null;
  });
  expect(brief(answer as unknown as Answer)).toEqual([408, 'stdin_write_timeout']);
  expect(clock.now() - before).toBeGreaterThanOrEqual(5_000);
  await vm.run('touch /tmp/go');
  expect((await write(id, { data_b64: base64('end'), signal: 'eof' })).status).toBe(200);
  const { stdout } = await vm.exited(id);
  expect(Number(stdout)).toBeGreaterThan(3);
  expect(Number(stdout)).toBeLessThan(200_003);
});

test('9 a megabyte goes through a slow reader whole, and writes at once do not mix', async () => {
  const id = await start('sleep 0.2; cat > /tmp/all');
  const parts = ['a', 'b', 'c'].map((letter) => Buffer.alloc(300_000, letter));
  const answers = await Promise.all(parts.map((part) => write(id, { data_b64: base64(part) })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  await write(id, { signal: 'eof' });
  await vm.exited(id);
  const { body } = await vm.call('/v1/fs/file?path=/tmp/all');
  expect(body).toHaveLength(900_000);
  expect(body.toString().replaceAll(/(.)\1*/g, '$1')).toHaveLength(3);
});

test('9 a child can open its input by name', async () => {
  const id = await start('cat /dev/stdin');
  await write(id, { data_b64: base64('named'), signal: 'eof' });
  expect(await vm.exited(id)).toMatchObject({ stdout: 'named' });
});
