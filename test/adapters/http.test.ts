import { createHash } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Http, HttpRequest } from 'vmchart/effects';
import { gotHttp } from 'vmchart/adapters';
import type { GotHttpOptions } from 'vmchart/adapters';
import { bypassesProxy } from '../../adapters/http-agents.ts';
import { errorOf } from '../helpers/error-of.ts';
import { authority, certificate, key } from './tls-fixture.ts';

const endings: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  while (endings.length > 0) await endings.pop()?.();
});

async function listen(server: Server | TcpServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  endings.push(
    () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  );
  return (server.address() as AddressInfo).port;
}

async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createHttpServer(listener))}`;
}

/** A server that answers every connection with these bytes and then does what it is told. */
async function serveRaw(answer: string, then: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.once('data', () => {
      socket.write(answer, () => {
        then(socket);
      });
    });
  });
  return `http://127.0.0.1:${await listen(server)}`;
}

function client(options: GotHttpOptions = {}): Http {
  const http = gotHttp({ environment: {}, ...options });
  endings.push(() => http.close?.());
  return http;
}

const get = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  url,
  headers: {},
  ...more,
});

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('a request', () => {
  test('sends exactly the headers that it was given, and one host', async () => {
    const seen: string[][] = [];
    const url = await serve((request, response) => {
      seen.push(request.rawHeaders);
      response.end();
    });
    await client().send(get(`${url}/a%2Fb?x=%3D`, { headers: { accept: 'application/json', 'x-a': '1' } }));
    const names = (seen[0] ?? []).filter((_value, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual(['accept', 'connection', 'host', 'x-a']);
  });

  test('keeps the path as it was encoded', async () => {
    const url = await serve((request, response) => {
      response.end(request.url);
    });
    const path = '/2025-09-09/microvm-images/arn%3Aaws%3Alambda?nextToken=abc-_d%3D%3D&x=%28%29';
    expect(Buffer.from((await client().send(get(url + path))).body).toString()).toBe(path);
  });

  test.each(['POST', 'DELETE', 'PUT', 'PATCH'] as const)('%s without a body carries none', async (method) => {
    const url = await serve((request, response) => {
      void read(request).then((body) => {
        const { 'content-length': length, 'transfer-encoding': coding, 'content-type': type } = request.headers;
        response.end(JSON.stringify({ size: body.length, length, coding, type }));
      });
    });
    const answer = JSON.parse(Buffer.from((await client().send(get(url, { method }))).body).toString()) as object;
    expect(answer).toEqual(method === 'DELETE' ? { size: 0 } : { size: 0, length: '0' });
  });

  test.each<[string, () => HttpRequest['body']]>([
    ['text', () => 'é🚀'],
    ['bytes', () => Buffer.from('é🚀')],
    ['a stream', () => chunksOf(Buffer.from('é🚀'))],
    ['a factory of streams', () => () => chunksOf(Buffer.from('é🚀'))],
  ])('sends %s as they are', async (_what, body) => {
    const url = await serve((request, response) => {
      void read(request).then((bytes) => response.end(bytes));
    });
    const answer = await client().send(get(url, { method: 'POST', body: body() as NonNullable<HttpRequest['body']> }));
    expect(Buffer.from(answer.body).toString()).toBe('é🚀');
  });

  test('the error of a body of the caller stays the error of the caller', async () => {
    const url = await serve((request, response) => {
      request.on('error', () => {});
      request.resume();
      response.on('error', () => {});
    });
    const broken = new Error('the file vanished');
    const body = (async function* fail() {
      yield Buffer.from('some');
      throw broken;
    })();
    await expect(client().send(get(url, { method: 'PUT', body }))).rejects.toBe(broken);
  });

  test('follows no redirect and decodes nothing', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(302, { location: '/elsewhere', 'content-encoding': 'gzip', 'set-cookie': ['a=1', 'b=2'] });
      response.end('not gzip');
    });
    const answer = await client().send(get(url));
    expect(answer.status).toBe(302);
    expect(answer.headers).toMatchObject({ location: '/elsewhere', 'set-cookie': 'a=1, b=2' });
    expect(Buffer.from(answer.body).toString()).toBe('not gzip');
  });

  test('is sent once, whatever the status', async () => {
    let count = 0;
    const url = await serve((_request, response) => {
      count += 1;
      response.writeHead(503).end();
    });
    expect((await client().send(get(url))).status).toBe(503);
    expect(count).toBe(1);
  });

  test('connections are kept and used again, and a fresh one is fresh', async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      response.end();
    });
    const http = client();
    for (let turn = 0; turn < 3; turn += 1) await http.send(get(url));
    expect(ports.size).toBe(1);
    await http.send(get(url, { freshConnection: true }));
    expect(ports.size).toBe(2);
  });
});

describe('an answer that stops before its end', () => {
  const head = (more: string) => `HTTP/1.1 200 OK\r\n${more}\r\n\r\n`;

  test.each<[string, string, (socket: Socket) => void]>([
    ['FC-091 fewer bytes than announced', `${head('content-length: 10')}abc`, (socket) => socket.end()],
    [
      'FC-091 chunks without their last',
      `${head('transfer-encoding: chunked')}3\r\nabc\r\n`,
      (socket) => socket.destroy(),
    ],
    ['a reset in the middle', `${head('content-length: 10')}abc`, (socket) => socket.resetAndDestroy()],
    ['a chunk size that is none', `${head('transfer-encoding: chunked')}zz\r\n`, () => {}],
  ])('%s is a Transport error, for both forms of reading', async (_what, answer, then) => {
    const url = await serveRaw(answer, then);
    const http = client();
    expect(await errorOf(http.send(get(url)))).toMatchObject({ wireKind: 'Transport', kind: 'Retryable' });
    const collect = async () => {
      const stream = await http.openStream(get(url));
      for await (const chunk of stream.body) void chunk;
    };
    expect(await errorOf(collect())).toMatchObject({ wireKind: 'Transport' });
  });

  test('FC-091 no announcement and a clean end is complete', async () => {
    const url = await serveRaw(head('connection: close') + 'abcde', (socket) => socket.end());
    expect(Buffer.from((await client().send(get(url))).body).toString()).toBe('abcde');
  });

  test('no HTTP at all is a Transport error', async () => {
    const url = await serveRaw('SSH-2.0-OpenSSH\r\n', () => {});
    expect(await errorOf(client().send(get(url)))).toMatchObject({ wireKind: 'Transport' });
  });

  test('a connection that is closed without an answer is a Transport error that may have done something', async () => {
    const url = await serve((request) => {
      request.socket.destroy();
    });
    expect(await errorOf(client().send(get(url)))).toMatchObject({ wireKind: 'Transport', reason: 'transport' });
  });
});

describe('limits', () => {
  test('no answer in time', async () => {
    const url = await serve(() => {});
    expect(await errorOf(client().send(get(url, { timeoutMs: 40 })))).toMatchObject({
      wireKind: 'Transport',
      reason: 'timeout',
    });
  });

  test('an answer that begins and goes on for too long', async () => {
    const url = await serve((_request, response) => {
      response.write('a');
    });
    expect(await errorOf(client().send(get(url, { timeoutMs: 60 })))).toMatchObject({ reason: 'timeout' });
  });

  test('silence between two chunks of a stream', async () => {
    const url = await serve((_request, response) => {
      response.write('a');
    });
    const stream = await client().openStream(get(url, { idleTimeoutMs: 50 }));
    const seen: string[] = [];
    const collect = async () => {
      for await (const chunk of stream.body) seen.push(Buffer.from(chunk).toString());
    };
    expect(await errorOf(collect())).toMatchObject({ wireKind: 'Transport', reason: 'idle-timeout' });
    expect(seen).toEqual(['a']);
  });

  test('a connection refused was never a request', async () => {
    const server = createTcpServer();
    const port = await listen(server);
    await endings.pop()?.();
    expect(await errorOf(client().send(get(`http://127.0.0.1:${port}/`)))).toMatchObject({ reason: 'connect' });
  });

  test('a name that does not resolve was never a request', async () => {
    expect(await errorOf(client().send(get('http://nowhere.invalid/')))).toMatchObject({ reason: 'connect' });
  });

  test('an answer larger than what may be kept ends at once and is not retryable', async () => {
    const url = await serve((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    expect(await errorOf(client({ maxBufferedBytes: 100_000 }).send(get(url)))).toMatchObject({
      kind: 'Platform',
      reason: 'answer-too-large',
      retryable: false,
    });
  });
});

describe('an abort', () => {
  test('before anything was sent rejects with the reason', async () => {
    const reason = new Error('enough');
    await expect(client().send(get('http://127.0.0.1:1/', { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
  });

  test('FC-092 before the answer rejects with the reason and drops the connection', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const closed = gate();
    const url = await serve((request) => {
      request.socket.once('close', closed.open);
      stop.abort(reason);
    });
    await expect(client().send(get(url, { signal: stop.signal }))).rejects.toBe(reason);
    await closed.opened;
  });

  test('a signal that outlives many requests is left as it was', async () => {
    const stop = new AbortController();
    const url = await serve((_request, response) => {
      response.end('done');
    });
    const http = client();
    for (let turn = 0; turn < 5; turn += 1) {
      await http.send(get(url, { signal: stop.signal }));
      const stream = await http.openStream(get(url, { signal: stop.signal }));
      for await (const chunk of stream.body) expect(chunk.length).toBe(4);
    }
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });

  test('in the middle of a stream reaches its reader', async () => {
    const stop = new AbortController();
    const url = await serve((_request, response) => {
      response.write('a');
    });
    const stream = await client().openStream(get(url, { signal: stop.signal }));
    const reason = new Error('enough');
    const collect = async () => {
      for await (const chunk of stream.body) {
        expect(Buffer.from(chunk).toString()).toBe('a');
        stop.abort(reason);
      }
    };
    await expect(collect()).rejects.toBe(reason);
  });
});

describe('a stream', () => {
  test('hands over the head before the body has come', async () => {
    let finish = () => {};
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      finish = () => void response.end('data: 2\n\n');
    });
    const stream = await client().openStream(get(url));
    expect(stream.status).toBe(200);
    expect(stream.headers['content-type']).toBe('text/event-stream');
    const seen: string[] = [];
    for await (const chunk of stream.body) {
      seen.push(Buffer.from(chunk).toString());
      finish();
    }
    expect(seen.join('')).toBe('data: 1\n\ndata: 2\n\n');
  });

  test('FC-094 a reader that waits makes the server wait', async () => {
    let written = 0;
    const chunk = Buffer.alloc(65_536, 1);
    const total = 400;
    const url = await serve((_request, response) => {
      const more = () => {
        while (written < total) {
          written += 1;
          if (!response.write(chunk)) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
    });
    const stream = await client().openStream(get(url));
    const hash = createHash('sha256');
    let size = 0;
    let writtenAtFirst = 0;
    for await (const part of stream.body) {
      if (size === 0) {
        await untilStill(() => written);
        writtenAtFirst = written;
      }
      size += part.length;
      hash.update(part);
    }
    expect(writtenAtFirst).toBeLessThan(total / 2);
    expect(size).toBe(total * chunk.length);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(Buffer.alloc(size, 1)).digest('hex'));
  });

  test.each(['leaving the iteration', 'close'])('%s drops the connection', async (how) => {
    const closed = gate();
    const url = await serve((request, response) => {
      request.socket.once('close', closed.open);
      response.write('a');
    });
    const stream = await client().openStream(get(url));
    if (how === 'close') {
      stream.close();
      stream.close();
    } else {
      for await (const chunk of stream.body) {
        expect(chunk.length).toBe(1);
        break;
      }
    }
    await closed.opened;
  });

  test('a refused connection rejects the opening', async () => {
    expect(await errorOf(client().openStream(get('http://127.0.0.1:1/')))).toMatchObject({ reason: 'connect' });
  });
});

describe('trust and proxies', () => {
  const secure = async () => {
    const server = createHttpsServer({ cert: certificate, key }, (_request, response) => {
      response.end('secret garden');
    });
    return `https://localhost:${await listen(server)}`;
  };

  test('a certificate of an unknown authority is refused, and was never a request', async () => {
    const error = await errorOf(client().send(get(await secure())));
    expect(error).toMatchObject({ wireKind: 'Transport', reason: 'certificate' });
  });

  test('an authority of your own is trusted beside the usual ones', async () => {
    const url = await secure();
    for (const certificateAuthority of [authority, Buffer.from(authority), [authority]]) {
      expect((await client({ certificateAuthority }).send(get(url))).status).toBe(200);
    }
    const fresh = await client({ certificateAuthority: authority }).send(get(url, { freshConnection: true }));
    expect(fresh.status).toBe(200);
  });

  test('NODE_EXTRA_CA_CERTS counts beside an authority of your own; a file that is missing is named', async () => {
    const environment = { NODE_EXTRA_CA_CERTS: '/no/such/file.pem' };
    const error = await errorOf(
      client({ certificateAuthority: authority, environment }).send(get('https://localhost:1/')),
    );
    expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'unreadable-certificate' });
  });

  test('AWS_CA_BUNDLE names an authority, as for the AWS tools', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vmchart-ca-'));
    endings.push(() => rm(folder, { recursive: true }));
    const bundle = join(folder, 'ca.pem');
    await writeFile(bundle, authority);
    expect((await client({ environment: { AWS_CA_BUNDLE: bundle } }).send(get(await secure()))).status).toBe(200);
  });

  /** A proxy that knows only CONNECT. */
  const proxy = async () => {
    const asked: string[] = [];
    const server = createHttpServer();
    server.on('connect', (request: IncomingMessage, socket: Socket) => {
      asked.push(request.url ?? '');
      const [host = '', port] = (request.url ?? '').split(':');
      const upstream = connect(Number(port), host === 'localhost' ? '127.0.0.1' : host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on('error', () => socket.destroy());
    });
    return { url: `http://127.0.0.1:${await listen(server)}`, asked };
  };

  test('HTTPS_PROXY is used, NO_PROXY and plain HTTP are not', async () => {
    const url = await secure();
    const { url: proxyUrl, asked } = await proxy();
    const through = client({ certificateAuthority: authority, environment: { HTTPS_PROXY: proxyUrl } });
    expect(Buffer.from((await through.send(get(url))).body).toString()).toBe('secret garden');
    await through.send(get(url, { freshConnection: true }));
    expect(asked).toEqual([new URL(url).host, new URL(url).host]);
    await through.send(get(await serve((_request, response) => void response.end())));
    const around = client({
      certificateAuthority: authority,
      environment: { https_proxy: proxyUrl, no_proxy: 'example.com, localhost' },
    });
    await around.send(get(url));
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['https://a.example.com/', 'example.com', true],
    ['https://a.example.com/', '.example.com', true],
    ['https://a.example.com/', '*.example.com', true],
    ['https://example.com/', 'example.com', true],
    ['https://notexample.com/', 'example.com', false],
    ['https://a.example.com/', '*', true],
    ['https://a.example.com/', '', false],
    ['https://a.example.com:8443/', 'a.example.com:8443', true],
    ['https://a.example.com/', 'a.example.com:8443', false],
    ['https://a.example.com/', 'a.example.com:443', true],
    ['https://A.Example.Com/', 'a.EXAMPLE.com', true],
    ['https://[::1]/', '::1', true],
    ['https://127.0.0.1/', 'x y,127.0.0.1', true],
  ])('%s with NO_PROXY=%j', (url, noProxy, expected) => {
    expect(bypassesProxy(new URL(url), noProxy)).toBe(expected);
  });
});

test('nothing secret is in an error: no header, no query, no body', async () => {
  const url = await serve((request) => {
    request.socket.destroy();
  });
  const error = await errorOf(
    client().send(
      get(`${url}/path?token=marker-query`, {
        method: 'POST',
        headers: { authorization: 'Bearer marker-header' },
        body: 'marker-body',
      }),
    ),
  );
  const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error) + String(error.stack);
  expect(shown).toContain('/path');
  expect(shown).not.toContain('marker');
});

/** A promise that somebody else resolves. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Waits until a number has not changed for many turns of the event loop. */
async function untilStill(read: () => number): Promise<void> {
  for (let last = read(), still = 0; still < 200; still = read() === last ? still + 1 : 0) {
    last = read();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (const byte of bytes) yield Uint8Array.of(byte);
}
