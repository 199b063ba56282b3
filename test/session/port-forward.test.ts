import { createServer, request } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import { Session } from 'vmchart/effects';
import { forwardPort, gotHttp, systemClock } from 'vmchart/adapters';
import type { ForwardOptions } from 'vmchart/adapters';
import { CountingMinter, rejection } from './daemon-recorder.ts';

const closing: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** An endpoint that answers through a handler, and a forward to port 8080 behind it. */
async function forwarded(
  handler: (
    request: IncomingMessage,
    body: Buffer,
  ) => { status?: number; headers?: Record<string, string | string[]>; body?: string | Buffer },
  options: Partial<ForwardOptions> = {},
) {
  const seen: IncomingMessage[] = [];
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = [];
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      seen.push(incoming);
      const { status = 200, headers = {}, body = '' } = handler(incoming, Buffer.concat(pieces));
      response.writeHead(status, headers);
      response.end(body);
    });
  });
  const port = await listen(server);
  const minter = new CountingMinter();
  const http = gotHttp();
  const session = new Session({
    endpoint: `http://127.0.0.1:${port}`,
    agentToken: 'secret-agent',
    http,
    clock: systemClock(),
    minter,
  });
  const forward = await forwardPort(session, { guestPort: 8080, ...options });
  closing.push(async () => {
    await forward[Symbol.asyncDispose]();
    http.close?.();
  });
  return { server, seen, session, forward, minter, url: `http://127.0.0.1:${forward.port}` };
}

function call(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
) {
  return new Promise<{ status: number; headers: IncomingMessage['headers']; text: string }>((resolve, reject) => {
    const sent = request(
      url,
      { method: options.method ?? 'GET', headers: options.headers ?? {}, agent: false },
      (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(pieces).toString('utf8'),
          }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(options.body);
  });
}

describe('port forward', () => {
  test('a request and its answer cross whole, with the proxy headers and without the agent token', async () => {
    const { url, seen, forward } = await forwarded((_request, body) => ({
      headers: { 'set-cookie': ['a=1', 'b=2'], 'x-guest': 'yes' },
      body: `got ${body.length}`,
    }));
    const answer = await call(`${url}/path?q=1`, {
      method: 'POST',
      headers: { 'x-aws-proxy-auth': 'evil', authorization: 'Bearer guest', connection: 'x-drop', 'x-drop': '1' },
      body: Buffer.alloc(300_000, 'x'),
    });
    expect(answer).toMatchObject({ status: 200, text: 'got 300000' });
    expect(answer.headers).toMatchObject({ 'set-cookie': ['a=1', 'b=2'], 'x-guest': 'yes' });
    expect(seen[0]?.url).toBe('/path?q=1');
    expect(seen[0]?.headers).toMatchObject({
      'x-aws-proxy-auth': 'jwe-0',
      'x-aws-proxy-port': '8080',
      authorization: 'Bearer guest',
      host: new URL(seen[0]?.headers.host === undefined ? 'http://x' : `http://${seen[0].headers.host}`).host,
    });
    expect(seen[0]?.headers['x-drop']).toBeUndefined();
    expect(JSON.stringify(seen[0]?.rawHeaders)).not.toContain('secret-agent');
    forward.stop();
    expect(await forward.finished).toEqual({
      served: 1,
      refused: 0,
      upgrades: 0,
      proxyTokenMints: 1,
      stopReason: 'requested',
    });
  });

  test.each([
    [403, { 'x-aws-proxy-error': 'UNAUTHORIZED' }, 'Access to port denied', 'does not cover port 8080'],
    [403, { 'content-length': '21' }, 'Access to port denied', 'does not cover port 8080'],
    [401, { 'x-aws-proxy-error': 'UNAUTHORIZED' }, '', 'rejected the credential'],
    [502, { 'x-aws-proxy-error': 'APP_CONNECT_FAILED' }, '', 'listens on port 8080'],
    [502, { 'content-length': '0' }, '', 'listens on port 8080'],
  ])('a refusal %i %j is explained in plain text', async (status, headers, body, sentence) => {
    const { url, forward } = await forwarded(() => ({ status, headers, body }));
    const answer = await call(url);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(sentence);
    expect(answer.headers).toMatchObject({ connection: 'close', 'content-type': 'text/plain; charset=utf-8' });
    forward.stop();
    expect(await forward.finished).toMatchObject({ served: 0, refused: 1 });
  });

  test.each([
    [401, { 'www-authenticate': 'Basic' }, 'who are you'],
    [403, { 'content-length': '10' }, 'not for you'.slice(0, 10)],
    [502, { 'content-length': '3' }, 'bad'],
  ])("the program's own %i is passed on as it is", async (status, headers, body) => {
    const { url, forward } = await forwarded(() => ({ status, headers, body }));
    expect(await call(url)).toMatchObject({ status, text: body });
    forward.stop();
    expect(await forward.finished).toMatchObject({ served: 1, refused: 0 });
  });

  test('a WebSocket is spliced both ways', async () => {
    const { server, url, forward } = await forwarded(() => ({}));
    const guest = new WebSocketServer({ server });
    closing.push(() => guest.close());
    const offered: (string | undefined)[] = [];
    guest.on('connection', (socket, incoming) => {
      offered.push(String(incoming.headers['x-aws-proxy-port']));
      socket.on('message', (data) => socket.send(`echo ${String(data)}`));
    });
    const client = new WebSocket(url.replace('http', 'ws'), ['app']);
    const heard = await new Promise((resolve, reject) => {
      client.once('open', () => client.send('hello'));
      client.once('message', (data) => resolve(String(data)));
      client.once('error', reject);
    });
    expect([heard, client.protocol, offered]).toEqual(['echo hello', 'app', ['8080']]);
    client.close();
    forward.stop();
    expect(await forward.finished).toMatchObject({ upgrades: 1, served: 0 });
  });

  test('a refused upgrade is explained', async () => {
    const { server, url } = await forwarded(() => ({}));
    server.on('upgrade', (_request, socket) => {
      socket.end('HTTP/1.1 403 Forbidden\r\nx-aws-proxy-error: UNAUTHORIZED\r\ncontent-length: 0\r\n\r\n');
    });
    const client = new WebSocket(url.replace('http', 'ws'));
    const status = await new Promise((resolve) => {
      client.once('unexpected-response', (_request, response: IncomingMessage) => resolve(response.statusCode));
      client.on('error', () => undefined);
    });
    expect(status).toBe(403);
  });

  test('an endpoint that is gone is a 502 for the client, and the forward goes on', async () => {
    const { server, url, forward } = await forwarded(() => ({}));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    for (let round = 0; round < 2; round += 1) expect((await call(url)).status).toBe(502);
    forward.stop();
    expect((await forward.finished).served).toBe(0);
  });

  test('a limit of connections stops it after them', async () => {
    const { url, forward } = await forwarded(() => ({ body: 'ok' }), { limit: 2 });
    await call(url);
    await call(url);
    expect(await forward.finished).toMatchObject({ served: 2, stopReason: 'limit' });
    await expect(call(url)).rejects.toThrow();
  });

  test('a connection that closes before its first line is no error, and a broken one is answered 400', async () => {
    const { url, forward } = await forwarded(() => ({ body: 'ok' }));
    const silent = connect(forward.port, '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));
    silent.end();
    const broken = connect(forward.port, '127.0.0.1');
    const answer = await new Promise((resolve) => {
      broken.once('data', (data) => resolve(String(data)));
      broken.write('this is no HTTP\r\n\r\n');
    });
    expect(answer).toContain('400');
    broken.destroy();
    expect((await call(url)).text).toBe('ok');
  });

  test('a port that is taken is a mistake of the caller', async () => {
    const { forward, session } = await forwarded(() => ({}));
    const error = await rejection(forwardPort(session, { guestPort: 80, localPort: forward.port }));
    expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'listen' });
    expect(await rejection(forwardPort(session, { guestPort: 80, localPort: 99_999_999 }))).toMatchObject({
      reason: 'port',
    });
  });

  test('an exchange that takes too long ends with 504', async () => {
    const hanging = createServer(() => undefined);
    const port = await listen(hanging);
    const session = Session.direct({
      endpoint: `http://127.0.0.1:${port}`,
      agentToken: 't',
      http: gotHttp(),
      clock: systemClock(),
    });
    const forward = await forwardPort(session, { guestPort: port, exchangeTimeoutMs: 50 });
    closing.push(async () => await forward[Symbol.asyncDispose]());
    expect((await call(`http://127.0.0.1:${forward.port}`)).status).toBe(504);
  });
});
