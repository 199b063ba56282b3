import { connect } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { bench, send } from './bench.ts';
import type { Bench } from './bench.ts';

/** Writes raw bytes and reads until the other side ends, or until `enough` of them came. */
function raw(port: number, bytes: string | Buffer, enough = /$^/): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (enough.test(text)) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
}

const portOf = (url: string) => Number(new URL(url).port);

async function stillServes(on: Bench): Promise<void> {
  expect((await on.call('GET', '/microvms')).status).toBe(200);
}

describe('whatever comes in, the emulator stands', () => {
  test('bodies that are no JSON, or not the JSON that was meant', async () => {
    await using on = await bench();
    const post = (body: string | Buffer) =>
      send(`${on.emulator.endpoint}/2025-09-09/microvms`, { method: 'POST', body });
    const bodies = [
      '{',
      'null',
      '[]',
      '"text"',
      '12',
      '\u0000',
      Buffer.from([0xff, 0xfe, 0x00]),
      '{"imageIdentifier":7}',
      '[[[[',
      '{"idlePolicy":[]}',
    ];
    for (const body of bodies) {
      expect(await post(body)).toMatchObject({ status: 400, error: null, json: { message: null } });
    }
    expect((await post('{"__proto__":{"imageIdentifier":"arn:x"}}')).status).toBe(400);
    expect((await post(`${'['.repeat(100_000)}`)).status).toBe(400);
    const deep = `{"a":`.repeat(100_000) + '1' + '}'.repeat(100_000);
    const launch = `{"imageIdentifier":"${on.emulator.imageArn}","clientToken":"t","more":${deep}}`;
    expect(await post(launch)).toMatchObject({ status: 400, error: null, json: { message: null } });
    await stillServes(on);
    expect(on.emulator.vms()).toEqual([]);
  });

  test('a body that is too large, announced or not', async () => {
    await using on = await bench({ maxBodyBytes: 1000 });
    const url = `${on.emulator.endpoint}/2025-09-09/microvms`;
    expect((await send(url, { method: 'POST', body: 'x'.repeat(2000) })).status).toBe(413);
    const chunked = await send(url, {
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked' },
      body: 'x'.repeat(2000),
    });
    expect(chunked.status).toBe(413);
    await stillServes(on);
  });

  test('routes that nobody knows, and paths that cannot be read', async () => {
    await using on = await bench();
    const paths = [
      '/',
      '/2025-09-09',
      '/2025-09-09/microvms/',
      '/2025-09-09/microvms/%ZZ',
      '//',
      '/%00',
      '/2025-09-09/microvms/a/b/c/d',
      '/2099-01-01/microvms',
    ];
    for (const path of paths) expect((await send(`${on.emulator.endpoint}${path}`)).status).toBe(404);
    expect((await send(`${on.emulator.endpoint}/2025-09-09/microvms`, { method: 'PATCH' })).status).toBe(404);
    expect((await send(`${on.emulator.endpoint}/2025-09-09/microvms?a=%ZZ`)).status).toBe(400);
    expect((await on.call('GET', '/microvms/__proto__')).status).toBe(404);
    expect((await on.call('GET', '/microvm-images/constructor')).status).toBe(400);
    await stillServes(on);
  });

  test('bytes that are no HTTP, a TLS greeting, and headers without end', async () => {
    await using on = await bench();
    const port = portOf(on.emulator.endpoint);
    expect(await raw(port, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(await raw(port, Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]))).toMatch(/^HTTP\/1\.1 400 /);
    expect(await raw(port, `GET / HTTP/1.1\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
    expect(
      await raw(port, 'GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n'),
    ).toMatch(/^HTTP\/1\.1 400 /);
    await stillServes(on);
  });

  test('clients that stop in mid-request, or reset', async () => {
    await using on = await bench();
    const port = portOf(on.emulator.endpoint);
    const halves = Array.from({ length: 50 }, () => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write('POST /2025-09-09/microvms HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{"image');
      return socket;
    });
    await stillServes(on);
    for (const [index, socket] of halves.entries()) {
      if (index % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
    await stillServes(on);
    expect(on.emulator.vms()).toEqual([]);
  });

  test('an upgrade to something else than a WebSocket is served as if not asked for', async () => {
    await using on = await bench();
    const upgrade =
      'host: a\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n';
    const reply = await raw(portOf(on.emulator.endpoint), `GET /2025-09-09/microvms HTTP/1.1\r\n${upgrade}`);
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK[^]*"items":\[\]/);
    const id = await on.runToRunning();
    const auth = `x-aws-proxy-auth: ${await on.token(id)}\r\nx-aws-proxy-port: 9000\r\n`;
    expect(await raw(portOf(on.endpoint(id)), `GET /there HTTP/1.1\r\n${auth}${upgrade}`)).toMatch(/"url":"\/there"/);
    const socket = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n';
    expect(await raw(portOf(on.emulator.endpoint), socket)).toMatch(/^HTTP\/1\.1 403 /);
    await stillServes(on);
  });

  test('endpoints withstand the same, and a guest that misbehaves', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const port = portOf(on.endpoint(id));
    expect(await raw(port, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(
      await raw(port, 'GET / HTTP/1.1\r\nhost: a\r\nsec-websocket-protocol: ,,,\r\n\r\n', /denied|missing/),
    ).toMatch(/ 403 /);
    const token = await on.token(id);
    on.guests.serve = (_request, response) => response.destroy();
    expect((await on.through(id, '/', token)).status).toBe(502);
    on.guests.serve = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setImmediate(() => response.destroy());
    };
    await expect(on.through(id, '/', token)).rejects.toThrow('aborted');
    on.guests.serve = (_request, response) => void response.socket?.write('HTTP/1.1 999 \u0001\r\nbad header\r\n\r\n');
    expect((await on.through(id, '/', token)).status).toBe(502);
    on.guests.serve = () => {
      throw new Error('a bug in the guest');
    };
    expect((await on.through(id, '/', token)).status).toBe(502);
    await stillServes(on);
  });

  test('closing twice is one closing, and ends what is open', async () => {
    const on = await bench();
    on.guests.serve = (_request, response) => void response.writeHead(200).flushHeaders();
    const id = await on.runToRunning();
    const open = fetch(on.endpoint(id), {
      headers: { 'x-aws-proxy-auth': await on.token(id), 'x-aws-proxy-port': '9000' },
    });
    const body = (await open).text();
    const ended = expect(body).rejects.toThrow('terminated');
    await Promise.all([on.emulator.close(), on.emulator.close()]);
    await ended;
    expect(on.guest(id).destroyed).toBe(true);
    await expect(on.call('GET', '/microvms')).rejects.toThrow('ECONNREFUSED');
  });
});
