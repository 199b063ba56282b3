/** Input that no well-meaning client sends: each gets an answer or a closed connection, and the daemon goes on. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { startGuest, token } from './guest-harness.ts';
import type { Harness } from './guest-harness.ts';

let vm: Harness;
const rejections: unknown[] = [];
const remember = (reason: unknown): void => void rejections.push(reason);
beforeAll(async () => {
  process.on('unhandledRejection', remember);
  vm = await startGuest({ isolation: 'plain' });
});
afterAll(async () => {
  await vm.close();
  process.off('unhandledRejection', remember);
  expect(rejections).toEqual([]);
});

/** Sends raw bytes and returns what came back until the connection ended. */
async function raw(bytes: string | Buffer): Promise<string> {
  const socket = connect(vm.port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => (text += data.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(bytes);
  setTimeout(() => socket.end(), 50);
  await once(socket, 'close');
  return text;
}
const alive = async (): Promise<void> => expect((await vm.call('/v1/health', { bearer: null })).status).toBe(200);
const authorised = `authorization: Bearer ${token}\r\nhost: x\r\n`;

test('weird targets are 404, never a crash', async () => {
  for (const target of [
    '/',
    '//',
    '/v1',
    '/v1/exec//',
    '/v1/exec/%',
    '/v1/exec/%zz/ack',
    '/v1/../v1/health',
    '/v1/health%00',
    '*',
    '/%2e%2e/',
    '/v1/exec/%ff',
    `/${'a'.repeat(8_000)}`,
  ]) {
    const answer = await raw(`GET ${target} HTTP/1.1\r\n${authorised}connection: close\r\n\r\n`);
    expect([target, answer.split(' ')[1]]).toEqual([target, expect.stringMatching(/^40[045]$/)]);
  }
  expect(await raw(`GET http://elsewhere/v1/health HTTP/1.1\r\n${authorised}connection: close\r\n\r\n`)).toMatch(
    /^HTTP\/1.1 200/,
  );
  await alive();
});

test('bytes that are no HTTP are refused, and the listener lives', async () => {
  for (const bytes of [
    Buffer.from('16030100a5010000a1', 'hex'),
    Buffer.alloc(5_000, 0xff),
    '\r\n\r\n',
    `GET / HTTP/1.1\r\n${'x: y\r\n'.repeat(9_000)}\r\n`,
  ]) {
    const answer = await raw(bytes);
    expect(answer === '' || /^HTTP\/1.1 4\d\d/.test(answer)).toBe(true);
  }
  await alive();
});

test('each malformed JSON body is a 400 with its slug', async () => {
  const json = { 'content-type': 'application/json' };
  const bodies = [
    '',
    '{',
    'null',
    '[]',
    '7',
    '"x"',
    '{"exec_id":1}',
    '{"exec_id":"x"}',
    '{"exec_id":"x","command":"ls"}',
    '{"exec_id":"x","command":[1]}',
    '{"exec_id":"","command":["ls"]}',
    '{"exec_id":"x","command":[]}',
    '{"exec_id":"x","command":["ls"],"env":null}',
    '{"exec_id":"x","command":["ls"],"env":{"A":1}}',
    '{"exec_id":"x","command":["ls"],"shell":null}',
    '{"exec_id":"x","command":["ls"],"shell":""}',
    '{"exec_id":"x","command":["ls"],"stdin":null}',
    '{"exec_id":"x","command":["ls"],"user":-1}',
    '{"exec_id":"x","command":["ls"],"user":4294967296}',
    '{"exec_id":"x","command":["ls"],"user":1.5}',
    '{"exec_id":"x","command":["ls"],"timeout_sec":0}',
    '{"exec_id":"x","command":["ls"],"timeout_sec":-1}',
    '{"exec_id":"x","command":["ls"],"timeout_sec":1e999}',
    '{"exec_id":"x","command":["ls"],"timeout_sec":"1"}',
    '{"exec_id":"\\ud800","command":["ls"]}',
    `${'['.repeat(100_000)}`,
    '{"exec_id":"x","command":["ls"]} trailing',
    Buffer.from('{"exec_id":"\xff","command":["ls"]}', 'latin1'),
    Buffer.from('\ufeff{"exec_id":"x","command":["ls"]}'),
  ];
  for (const body of bodies) {
    const answer = await vm.call('/v1/exec/start', { method: 'POST', body, headers: json });
    expect([String(body).slice(0, 60), answer.status, answer.json()['error']]).toEqual([
      String(body).slice(0, 60),
      400,
      'malformed_request',
    ]);
  }
  for (const type of ['text/plain', 'application/jsonx', 'application/x-json', '']) {
    const answer = await vm.call('/v1/exec/start', {
      body: '{"exec_id":"x","command":["ls"]}',
      headers: { 'content-type': type },
    });
    expect([type, answer.status]).toEqual([type, 400]);
  }
  expect((await vm.call('/v1/exec/x')).status).toBe(404);
  const accepted = {
    body: '{"exec_id":"ok","command":["/bin/true"],"unknown":1}',
    headers: { 'content-type': 'Application/vnd.x+JSON; charset=utf-8' },
  };
  expect((await vm.call('/v1/exec/start', accepted)).status).toBe(200);
});

test('a body that ends early, or never, is answered or dropped and leaves nothing behind', async () => {
  const head = `POST /v1/exec/start HTTP/1.1\r\n${authorised}content-type: application/json\r\ncontent-length: 100\r\n\r\n`;
  await raw(`${head}{"exec_id":"cut"`);
  await raw(`PUT /v1/fs/tar?path=/workspace/cut HTTP/1.1\r\n${authorised}content-length: 100000\r\n\r\nhalf`);
  await raw(
    `PUT /v1/fs/file?path=/workspace/cut HTTP/1.1\r\n${authorised}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`,
  );
  expect((await vm.call('/v1/exec/cut')).status).toBe(404);
  await alive();
});

test('1.5 a refused body is read to a limit, and the answer still arrives', async () => {
  const small = await vm.call('/v1/procs', { bearer: null, method: 'POST', body: Buffer.alloc(60_000) });
  expect(small.status).toBe(401);
  const socket = connect(vm.port, '127.0.0.1');
  let text = '';
  socket.on('data', (data) => (text += data.toString('latin1')));
  const closed = new Promise((resolve) => {
    socket.on('error', resolve);
    socket.on('close', resolve);
  });
  let sent = 0;
  socket.write(`POST /v1/exec/start HTTP/1.1\r\nhost: x\r\ncontent-length: 400000000\r\n\r\n`);
  const flood = (): void => {
    while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536;
  };
  socket.on('drain', flood);
  flood();
  await closed;
  expect(text).toMatch(/^HTTP\/1.1 401 /);
  // Most of it was never taken.
  expect(sent).toBeLessThan(100_000_000);
  await alive();
});

test('ids of any spelling work, and are only names', async () => {
  for (const exec_id of [
    '../../etc/passwd',
    'a b',
    'é',
    '%2F',
    '__proto__',
    'constructor',
    'x'.repeat(2_000),
    '?',
    '#',
  ]) {
    const start = { exec_id, command: ['/bin/sh', '-c', 'exit 3'] };
    expect((await vm.call('/v1/exec/start', { json: start })).status).toBe(200);
    const path = `/v1/exec/${encodeURIComponent(exec_id)}`;
    let answer = (await vm.call(path)).json();
    while (answer['phase'] === 'running') answer = (await vm.call(path)).json();
    expect(answer).toMatchObject({ exec_id, exit_code: 3 });
  }
});

test('an upgrade to what is no WebSocket route is answered as a request', async () => {
  const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n';
  expect(await raw(`GET /v1/nope HTTP/1.1\r\n${authorised}${upgrade}\r\n`)).toMatch(/^HTTP\/1.1 404 /);
  expect(await raw(`GET /v1/health HTTP/1.1\r\n${authorised}${upgrade}\r\n`)).toMatch(/^HTTP\/1.1 200 /);
  expect(await raw(`GET /v1/tcp?port=1 HTTP/1.1\r\nhost: x\r\n${upgrade}\r\n`)).toMatch(/^HTTP\/1.1 401 /);
  expect(await raw(`GET /v1/tcp?port=1 HTTP/1.1\r\n${authorised}${upgrade}\r\n`)).toMatch(/^HTTP\/1.1 400 /);
  await alive();
});
