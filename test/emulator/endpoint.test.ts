import { createServer } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { bench, listen, policy, send } from './bench.ts';
import type { Bench } from './bench.ts';

/** What the guest saw, as the fake guest echoes it. */
interface Echo {
  readonly headers: Record<string, string>;
}

function get(on: Bench, id: string, headers: Record<string, string>) {
  return send(`${on.endpoint(id)}/`, { headers });
}

describe('who may pass the endpoint', () => {
  test('refusals: no token, a bad one, another VM, another port, a port that is none', async () => {
    await using on = await bench();
    const [id, other] = [await on.runToRunning(), await on.runToRunning()];
    const token = await on.token(id, [{ port: 9000 }]);
    const port = { 'x-aws-proxy-port': '9000' };
    const rows: [Record<string, string>, number, string][] = [
      [port, 403, 'Request missing authentication'],
      [{ ...port, 'x-aws-proxy-auth': 'nonsense' }, 403, 'Request missing authentication'],
      [{ ...port, 'x-aws-proxy-auth': await on.token(other) }, 403, 'Token authentication failed'],
      [{ ...port, 'x-aws-proxy-auth': `${token.slice(0, -4)}AAAA` }, 403, 'Token authentication failed'],
      [{ 'x-aws-proxy-port': '8080', 'x-aws-proxy-auth': token }, 403, 'Access to port denied'],
      [{ 'x-aws-proxy-auth': token }, 403, 'Access to port denied'],
      [{ 'x-aws-proxy-port': 'ssh', 'x-aws-proxy-auth': token }, 400, 'Invalid x-aws-proxy-port: ssh'],
      [{ 'x-aws-proxy-port': '65536', 'x-aws-proxy-auth': token }, 400, 'Invalid x-aws-proxy-port: 65536'],
      [{ 'x-aws-proxy-port': '0', 'x-aws-proxy-auth': token }, 400, 'Invalid x-aws-proxy-port: 0'],
    ];
    for (const [headers, status, text] of rows) {
      const reply = await get(on, id, headers);
      expect([headers, reply.status, reply.text]).toEqual([headers, status, text]);
      expect(reply.headers['x-amzn-requestid']).toMatch(/^[0-9a-f-]{36}$/);
      expect(reply.headers['cache-control']).toBe('private, no-store');
      expect(reply.headers['x-aws-proxy-error']).toBe(status === 403 ? 'UNAUTHORIZED' : undefined);
    }
    expect((await get(on, id, { ...port, 'x-aws-proxy-auth': token })).status).toBe(200);
  });

  test('the port matrix of tokens', async () => {
    await using on = await bench();
    const listener = createServer((_request, response) => response.end('here'));
    const port = await listen(listener);
    const id = await on.runToRunning();
    const status = async (ports: object[], headers = { 'x-aws-proxy-port': String(port) }) =>
      (await get(on, id, { ...headers, 'x-aws-proxy-auth': await on.token(id, ports) })).status;
    expect(await status([{ port: 9000 }])).toBe(403);
    expect(await status([{ port: 9000 }, { port }])).toBe(200);
    expect(await status([{ allPorts: {} }])).toBe(200);
    expect(await status([{ range: { startPort: port - 5, endPort: Math.min(65_535, port + 5) } }])).toBe(200);
    listener.close();
    listener.closeAllConnections();
    expect(await status([{ port }])).toBe(502);
  });

  test('several tokens live side by side, each until its own end', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const [short, long] = [await on.token(id, [{ port: 9000 }], 1), await on.token(id, [{ port: 9000 }], 60)];
    expect(short).not.toBe(long);
    expect((await on.through(id, '/', short)).status).toBe(200);
    await on.emulator.advance(60_000);
    expect(await on.through(id, '/', short)).toMatchObject({ status: 403, text: 'Token authentication failed' });
    expect((await on.through(id, '/', long)).status).toBe(200);
  });

  test('a token has the shape of a compact JWE of 823 bytes', async () => {
    await using on = await bench();
    const token = await on.token(await on.run());
    const parts = token.split('.');
    expect([token.length, parts.length, parts[1]]).toEqual([823, 5, '']);
    expect(JSON.parse(Buffer.from(parts[0] ?? '', 'base64url').toString())).toMatchObject({
      alg: 'dir',
      enc: 'A256GCM',
    });
  });

  test('the daemon is behind port 9000 only; without a port it is 8080', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const auth = { 'x-aws-proxy-auth': await on.token(id) };
    expect((await get(on, id, { ...auth, 'x-aws-proxy-port': '9000' })).status).toBe(200);
    expect(await get(on, id, { ...auth, 'x-aws-proxy-port': '1' })).toMatchObject({
      status: 502,
      text: '',
      headers: { 'x-aws-proxy-error': 'APP_CONNECT_FAILED' },
    });
  });

  test('a VM without HTTP ingress lets nobody in', async () => {
    await using on = await bench();
    const connector = 'arn:aws:lambda:us-east-1:aws:network-connector:aws-network-connector:NO_INGRESS';
    const id = await on.runToRunning({ ingressNetworkConnectors: [connector] });
    expect((await on.through(id)).status).toBe(403);
    expect(on.guest(id).hooks).toHaveLength(1);
  });
});

describe('what passes the endpoint', () => {
  test('FC-071 proxy headers stop there in any spelling, everything else goes through', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const reply = await get(on, id, {
      'X-aws-PROXY-auth': await on.token(id),
      'x-AWS-proxy-port': '9000',
      'x-aws-proxy-anything': 'else',
      authorization: 'Bearer guest',
      traceparent: '00-abc-def-01',
      host: 'my.host',
    });
    const seen = (reply.json as Echo).headers;
    expect(Object.keys(seen).filter((name) => name.startsWith('x-aws-proxy'))).toEqual([]);
    expect(seen).toMatchObject({ authorization: 'Bearer guest', traceparent: '00-abc-def-01', host: 'my.host' });
    expect(seen['x-amzn-requestid']).toBe(reply.headers['x-amzn-requestid']);
    expect(seen['x-forwarded-for']).toBeUndefined();
  });

  test('repeated headers, odd statuses and empty answers arrive as they were sent', async () => {
    await using on = await bench();
    on.guests.serve = (request, response) => {
      if (request.url === '/empty') response.writeHead(204).end();
      else response.writeHead(418, 'Short And Stout', ['set-cookie', 'a=1', 'set-cookie', 'b=2']).end('tea');
    };
    const id = await on.runToRunning();
    expect(await on.through(id)).toMatchObject({ status: 418, text: 'tea', headers: { 'set-cookie': ['a=1', 'b=2'] } });
    expect(await on.through(id, '/empty')).toMatchObject({ status: 204, text: '' });
  });

  test('bodies stream both ways, and a slow reader slows the writer down', async () => {
    await using on = await bench();
    const total = 24 * 1024 * 1024;
    let [written, received] = [0, 0];
    on.guests.serve = (request, response) => {
      if (request.method === 'PUT') {
        request.on('data', (chunk: Buffer) => (received += chunk.length));
        request.on('end', () => response.end(String(received)));
        return;
      }
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const write = () => {
        while (written < total) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
    };
    const id = await on.runToRunning();
    const headers = { 'x-aws-proxy-auth': await on.token(id), 'x-aws-proxy-port': '9000' };
    const upload = await send(`${on.endpoint(id)}/`, { method: 'PUT', headers, body: Buffer.alloc(5_000_000) });
    expect(upload.text).toBe('5000000');
    received = 0;
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    expect((await send(`${on.endpoint(id)}/`, { method: 'PUT', headers: chunked, body: 'abc' })).text).toBe('3');

    const response = await fetch(on.endpoint(id), { headers });
    const reader = response.body?.getReader();
    await reader?.read();
    // Until nothing moves any more.
    for (let [last, still] = [-1, 0]; still < 50; still = written === last ? still + 1 : 0) {
      last = written;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    // What is under way fits into buffers; the rest waits.
    expect(written).toBeLessThan(total);
    let read = 0;
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) read += part.value.length;
    expect(written).toBe(total);
    expect(read).toBeGreaterThan(total - 1024 * 1024);
  });

  test('bytes of an open stream keep the VM awake; their absence does not', async () => {
    await using on = await bench({ suspendDelayMs: 0 });
    let tick = () => {};
    on.guests.serve = (_request, response) => {
      response.writeHead(200).flushHeaders();
      tick = () => void response.write('.');
    };
    const id = await on.runToRunning(policy(60, 600, false));
    const headers = { 'x-aws-proxy-auth': await on.token(id), 'x-aws-proxy-port': '9000' };
    const response = await fetch(on.endpoint(id), { headers });
    const reader = response.body?.getReader();
    for (let round = 0; round < 5; round += 1) {
      await on.emulator.advance(50_000);
      tick();
      await reader?.read();
    }
    expect(await on.state(id)).toBe('RUNNING');
    await on.emulator.advance(59_000);
    expect(await on.state(id)).toBe('RUNNING');
    await on.emulator.advance(1000);
    expect(await on.state(id)).toBe('SUSPENDED');
    // The suspension broke the stream.
    await expect(reader?.read()).rejects.toThrow('terminated');
  });

  test('a client that leaves is noticed by the guest', async () => {
    await using on = await bench();
    const left = new Promise<void>((resolve) => {
      on.guests.serve = (_request, response) => {
        response.writeHead(200).flushHeaders();
        response.on('close', resolve);
      };
    });
    const id = await on.runToRunning();
    const headers = { 'x-aws-proxy-auth': await on.token(id), 'x-aws-proxy-port': '9000' };
    const stop = new AbortController();
    await fetch(on.endpoint(id), { headers, signal: stop.signal });
    stop.abort();
    await left;
  });
});

describe('a VM that is away', () => {
  test('auto-resume holds the request, answers it, and reads say RUNNING', async () => {
    await using on = await bench();
    const id = await on.runToRunning(policy(60, 600, true));
    const token = await on.token(id);
    await on.suspend(id);
    await on.emulator.advance(1000);
    let answered = false;
    const held = on.through(id, '/late', token).finally(() => (answered = true));
    await on.emulator.advance(0);
    expect(answered).toBe(false);
    while (on.emulator.recorder.count('Endpoint') === 0) await on.emulator.advance(0);
    await on.emulator.advance(1000);
    expect(await held).toMatchObject({ status: 200, json: { url: '/late' } });
    expect(await on.state(id)).toBe('RUNNING');
    expect(on.guest(id).hooks.map(({ name }) => name)).toEqual(['run', 'suspend', 'resume']);
    expect(on.emulator.vms()[0]?.cause).toBe('platform');
  });

  test('without auto-resume it is 502 without a body, and the VM stays SUSPENDED', async () => {
    await using on = await bench();
    const id = await on.runToRunning(policy(60, 600, false));
    await on.suspend(id);
    await on.emulator.advance(1000);
    expect(await on.through(id)).toMatchObject({ status: 502, text: '' });
    await on.emulator.advance(1000);
    expect(await on.state(id)).toBe('SUSPENDED');
  });

  test('a resume that fails answers 502 to whoever was held', async () => {
    await using on = await bench();
    const id = await on.runToRunning(policy(60, 600, true));
    const token = await on.token(id);
    on.guests.answers.resume = 500;
    await on.suspend(id);
    await on.emulator.advance(1000);
    const held = on.through(id, '/', token);
    while (on.emulator.recorder.count('Endpoint') === 0) await on.emulator.advance(0);
    await on.emulator.advance(1000);
    expect(await held).toMatchObject({ status: 502, text: '' });
  });

  test('PENDING and TERMINATED answer 502, with the slug of a VM that cannot be reached', async () => {
    await using on = await bench();
    const id = await on.run();
    const token = await on.token(id);
    const away = { status: 502, text: '', headers: { 'x-aws-proxy-error': 'MICROVM_CONNECT_FAILED' } };
    expect(await on.through(id, '/', token)).toMatchObject(away);
    await on.emulator.advance(100);
    await on.terminate(id);
    await on.emulator.advance(100);
    expect(await on.through(id, '/', token)).toMatchObject(away);
  });
});

describe('addresses', () => {
  test('FC-145 bare hosts as on AWS, routed by the Host header', async () => {
    await using on = await bench({ endpointForm: 'bare-host' });
    const id = await on.runToRunning();
    const { endpoint } = (await on.get(id)).json;
    expect(id).toMatch(/^microvm-[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
    expect(endpoint).toMatch(/^[0-9a-f-]{36}\.lambda-microvm\.us-east-1\.on\.aws$/);
    expect(endpoint).not.toContain(id.slice('microvm-'.length));
    const headers = { host: endpoint, 'x-aws-proxy-auth': await on.token(id), 'x-aws-proxy-port': '9000' };
    expect((await send(`${on.emulator.endpoint}/x`, { headers })).json).toMatchObject({ url: '/x' });
    const stranger = { ...headers, host: '0-0.lambda-microvm.us-east-1.on.aws' };
    expect(await send(on.emulator.endpoint, { headers: stranger })).toMatchObject({
      status: 403,
      text: 'Token authentication failed',
    });
  });

  test('the default endpoint is a loopback URL of its own for each VM', async () => {
    await using on = await bench();
    const endpoints = [on.endpoint(await on.run()), on.endpoint(await on.run())];
    for (const endpoint of endpoints) expect(endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(new Set(endpoints).size).toBe(2);
  });
});
