import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import type { Page } from '../../adapters/ui/index.ts';
import { openEmulatorPage, openPage, ToldSource, until, type EmulatorPage } from './page-fixture.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request with exactly the headers that are given. */
function ask(
  page: Page,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const { hostname, port, host } = new URL(page.origin);
  return new Promise((resolve, reject) => {
    const sent = request(
      { hostname, port, path, method: options.method ?? 'GET', headers: { host, ...options.headers } },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      },
    );
    sent.on('error', reject);
    sent.end(options.body);
  });
}

const json = { 'content-type': 'application/json' };

describe('who may do what', () => {
  let page: Page;
  beforeAll(async () => {
    page = await openPage([new ToldSource()]);
  });
  afterAll(() => page.close());

  test('the page listens on loopback only, and its address carries the token behind the #', () => {
    expect(page.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(page.address).toBe(`${page.origin}/#token=${page.token}`);
    expect(page.token.length).toBeGreaterThan(30);
  });

  test('anybody on this machine may look; the policy lets the page load nothing from elsewhere', async () => {
    const { status, headers, body } = await ask(page, '/');
    expect(status).toBe(200);
    expect(body).toContain('<title>vmchart</title>');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
  });

  test.each(['evil.example', 'evil.example:80', '127.0.0.1', 'localhost:1'])(
    'a Host of %s is another name: refused',
    async (host) => {
      const { status, body } = await ask(page, '/', { headers: { host } });
      expect(status).toBe(403);
      expect(JSON.parse(body)).toMatchObject({
        error: { sentence: expect.stringContaining('answers to http://127.0.0.1') },
      });
    },
  );

  test.each(['http://evil.example', 'null', 'https://127.0.0.1'])(
    'an Origin of %s is another page: refused',
    async (origin) => {
      for (const path of ['/', '/events', '/lives/x'])
        expect((await ask(page, path, { headers: { origin } })).status).toBe(403);
    },
  );

  test('another page may link here but not fetch from here', async () => {
    const cross = { 'sec-fetch-site': 'cross-site' };
    expect((await ask(page, '/', { headers: { ...cross, 'sec-fetch-mode': 'navigate' } })).status).toBe(200);
    expect((await ask(page, '/events', { headers: { ...cross, 'sec-fetch-mode': 'cors' } })).status).toBe(403);
  });

  test.each([{}, { 'x-vmchart-token': '' }, { 'x-vmchart-token': 'wrong' }])(
    'nothing changes without the token: %p',
    async (headers) => {
      for (const path of ['/lives', '/lives/x/commands', '/lives/x/lines']) {
        const { status, body } = await ask(page, path, {
          method: 'POST',
          headers: { ...json, ...headers },
          body: '{}',
        });
        expect(status).toBe(403);
        expect(body).toContain('without it this page can only be looked at');
      }
    },
  );

  test('what cannot be served is told in one sentence', async () => {
    const headers = { ...json, 'x-vmchart-token': page.token };
    const post = (path: string, body: string, more = {}) =>
      ask(page, path, { method: 'POST', headers: { ...headers, ...more }, body });
    expect(await ask(page, '/nothing')).toMatchObject({
      status: 404,
      body: expect.stringContaining('nothing at this address'),
    });
    expect(await ask(page, '/lives/unknown')).toMatchObject({ status: 404 });
    expect(await ask(page, '/lives/%E0%A4%A')).toMatchObject({
      status: 400,
      body: expect.stringContaining('This address is not well-formed.'),
    });
    expect(await ask(page, '/charts/unknown')).toMatchObject({
      status: 404,
      body: expect.stringContaining('No chart of unknown'),
    });
    expect(await ask(page, '/', { method: 'DELETE' })).toMatchObject({ status: 405 });
    expect(await post('/lives/x/commands', '{}')).toMatchObject({
      status: 404,
      body: expect.stringContaining('Nothing is known of x'),
    });
    expect(await post('/lives', '{}')).toMatchObject({ status: 409 });
    expect(await post('/lives', '{"a')).toMatchObject({ status: 400, body: expect.stringContaining('no JSON') });
    expect(await post('/lives', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({
      status: 415,
    });
    expect(await post('/lives', JSON.stringify('x'.repeat(70_000)))).toMatchObject({ status: 413 });
  });

  test('a path that leaves the folder of the page finds nothing', async () => {
    for (const path of ['/../server.ts', '/%2e%2e/server.ts', '/fold.d.ts'])
      expect((await ask(page, path)).status).toBe(404);
  });

  test.each([
    ['no token', () => '/feed', {}],
    ['a wrong token', () => '/feed?token=wrong', {}],
    ['another page', (token: string) => `/feed?token=${token}`, { origin: 'http://evil.example' }],
    ['another path', (token: string) => `/other?token=${token}`, {}],
  ])('a feed with %s is not taken', async (_, path, headers) => {
    const socket = new WebSocket(`${page.origin.replace('http', 'ws')}${path(page.token)}`, { headers });
    const status = await new Promise((resolve) => {
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
      socket.on('open', () => resolve('open'));
      socket.on('error', () => undefined);
    });
    socket.terminate();
    expect(status).toBe(403);
  });
});

describe('no secret is shown', () => {
  let opened: EmulatorPage;
  beforeAll(async () => {
    opened = await openEmulatorPage();
  });
  afterAll(async () => await opened[Symbol.asyncDispose]());

  test('neither keys nor tokens reach the page, whatever a life does', async () => {
    const { page, source, emulator, kept } = opened;
    const life = await source.launch();
    const seen = async () => (await ask(page, `/lives/${life}`)).body;
    await until(async () => (await seen()).includes('GET /v1/health'));
    await source.run(life, 'echo printed');
    await until(async () => (await seen()).includes('"end"'));
    const told = await seen();
    const { accessKeyId, secretAccessKey } = emulator.credentials;
    for (const secret of [accessKeyId, secretAccessKey, emulator.adminToken, page.token, ...kept])
      expect(told).not.toContain(secret);
    expect(kept.length).toBeGreaterThan(0);
    expect(told).not.toMatch(/"authToken"|authorization|Bearer|runHookPayload/i);
    expect(told).toContain('printed');
  });
});
