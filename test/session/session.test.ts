import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Session, referenceDaemonSchedule } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';
import { CountingMinter, DaemonRecorder, execBody, healthBody, rejection, testSession } from './daemon-recorder.ts';

const started = { body: execBody('running') };
const healthy = { body: healthBody() };

describe('construction', () => {
  test('SES-01 a builder refuses to build without an HTTP client or a clock', () => {
    const builder = Session.builder('vm.example', 'token');
    const http = new DaemonRecorder();
    const clock = manualClock();
    expect(() => builder.clock(clock).tryBuild()).toThrow(expect.objectContaining({ kind: 'Precondition' }));
    expect(() => builder.http(http).tryBuild()).toThrow(expect.objectContaining({ kind: 'Precondition' }));
    expect(builder.http(http).clock(clock).tryBuild()).toBeInstanceOf(Session);
  });

  test("SES-02 the caller's HTTP client wins over the one that fills gaps", async () => {
    const own = new DaemonRecorder(healthy);
    const other = new DaemonRecorder(healthy);
    const session = Session.builder('vm.example', 'token').http(own).buildWith({ http: other, clock: manualClock() });
    await session.health();
    expect([own.requests.length, other.requests.length]).toEqual([1, 0]);
  });

  test('SES-05 the agent token can be read back', () => {
    expect(testSession(new DaemonRecorder()).session.agentToken).toBe('agent-token-abcdef');
  });

  test('SES-25 a rendered session names its endpoint and hides its token', () => {
    const { session } = testSession(new DaemonRecorder(), { agentToken: 'super-secret-token' });
    for (const text of [inspect(session, { depth: 9, showHidden: true }), JSON.stringify(session), `${session}`]) {
      expect(text).not.toContain('super-secret');
    }
    expect(inspect(session)).toContain('vm.example');
  });

  test('a bare host means https, a spelled scheme is kept, slashes at the end are dropped', async () => {
    const http = new DaemonRecorder(healthy, healthy);
    for (const endpoint of ['vm.example//', 'http://127.0.0.1:4000/']) {
      await Session.direct({ endpoint, agentToken: 't', http, clock: manualClock() }).health();
    }
    expect(http.requests.map(({ url }) => url)).toEqual([
      'https://vm.example/v1/health',
      'http://127.0.0.1:4000/v1/health',
    ]);
  });

  test('FC-073 attach proves the token by an authenticated read before it answers', async () => {
    const options = { endpoint: 'vm.example', agentToken: 't', clock: manualClock() };
    const wrong = new DaemonRecorder({ status: 401 });
    expect(await rejection(Session.attach({ ...options, http: wrong }))).toMatchObject({ wireKind: 'Unauthorized' });
    const missing = new DaemonRecorder({ status: 404, body: 'no such file' });
    expect(await Session.attach({ ...options, http: missing })).toBeInstanceOf(Session);
    expect(missing.routes).toEqual(['GET /v1/fs/file?path=%2Fdev%2Fnull']);
    expect(missing.requests[0]?.headers).toMatchObject({ authorization: 'Bearer t' });
  });
});

describe('headers', () => {
  test('SES-04 a start keeps its content type beside the session’s headers', async () => {
    const http = new DaemonRecorder(started);
    await testSession(http).session.start('true', { execId: 'e1' });
    expect(http.requests[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer agent-token-abcdef',
    });
  });

  test('SES-06 every request carries both proxy headers', async () => {
    const http = new DaemonRecorder(healthy, started);
    const { session } = testSession(http);
    await session.health();
    await session.start('true');
    expect(http.requests.length).toBe(2);
    for (const { headers } of http.requests) {
      expect(headers).toMatchObject({ 'x-aws-proxy-auth': 'jwe-0', 'x-aws-proxy-port': '9000' });
    }
  });

  test('SES-07 health carries no bearer, and no trace of how that was chosen; a start carries it', async () => {
    const http = new DaemonRecorder(healthy, started);
    const { session } = testSession(http);
    await session.health();
    await session.start('true');
    expect(Object.keys(http.requests[0]?.headers ?? {}).sort()).toEqual(['x-aws-proxy-auth', 'x-aws-proxy-port']);
    expect(http.requests[1]?.headers['authorization']).toBe('Bearer agent-token-abcdef');
  });

  test('SES-09 a direct session sends no proxy headers', async () => {
    const http = new DaemonRecorder(healthy);
    const { session } = testSession(http, { minter: null });
    await session.health();
    expect(session.proxyAuth).toBeNull();
    expect(http.requests[0]?.headers).toEqual({});
  });

  test('SES-18 a port of its own widens the token and sends nothing to the VM', async () => {
    const http = new DaemonRecorder(healthy);
    const { session } = testSession(http);
    await session.health();
    expect(session.proxyAuth?.mintCount).toBe(1);
    expect(Object.fromEntries(await session.connectHeaders(8080))).toEqual({
      'x-aws-proxy-auth': 'jwe-1',
      'x-aws-proxy-port': '8080',
    });
    expect(await session.connectSubprotocols(8080)).toEqual([
      'lambda-microvms',
      'lambda-microvms.authentication.jwe-1',
      'lambda-microvms.port.8080',
    ]);
    expect([session.proxyAuth?.mintCount, http.requests.length]).toEqual([2, 1]);
  });

  test('SES-19 a direct session has no connect headers and no subprotocols at all', async () => {
    const { session } = testSession(new DaemonRecorder(), { minter: null });
    expect(await session.connectHeaders(9000)).toEqual([]);
    expect(await session.connectSubprotocols(9000)).toBeUndefined();
  });

  test('SES-20 the subprotocols follow a refresh', async () => {
    const { session, clock } = testSession(new DaemonRecorder());
    expect((await session.connectSubprotocols(9000))?.[1]).toMatch(/jwe-0$/);
    await clock.advance(30 * 60_000 + 1_000);
    expect((await session.connectSubprotocols(9000))?.[1]).toMatch(/jwe-1$/);
    expect(session.proxyAuth?.mintCount).toBe(2);
  });

  test("FC-068 the application's protocols come after the proxy's three", async () => {
    const { session } = testSession(new DaemonRecorder());
    expect(await session.connectSubprotocols(8080, ['p1'])).toEqual([
      'lambda-microvms',
      'lambda-microvms.authentication.jwe-0',
      'lambda-microvms.port.8080',
      'p1',
    ]);
  });
});

describe('failures', () => {
  test('SES-03 a mint that never comes ends at the timeout, and nothing is sent', async () => {
    const http = new DaemonRecorder();
    const clock = manualClock();
    const minter = { mintForPorts: () => new Promise<Record<string, string>>(() => undefined) };
    const { session } = testSession(http, { clock, minter, timeoutMs: 3_000 });
    for (const call of [session.health(), session.connectHeaders(9000), session.connectSubprotocols(9000)]) {
      call.catch(() => undefined);
      await clock.advance(4_000);
      expect(await rejection(call)).toMatchObject({ wireKind: 'Transport', retryable: true });
    }
    expect(http.requests.length).toBe(0);
  });

  test('SES-10 a failed mint is retryable and sends nothing; the next call mints', async () => {
    const http = new DaemonRecorder(healthy);
    const { session } = testSession(http, { minter: new CountingMinter(new Error('throttled')) });
    expect(await rejection(session.health())).toMatchObject({ kind: 'Retryable', wireKind: 'AuthTokenMint' });
    expect(http.requests.length).toBe(0);
    await session.health();
    expect(session.proxyAuth?.mintCount).toBe(1);
  });

  test.each([
    [401, 'Unauthorized'],
    [404, 'NotFound'],
    [409, 'Conflict'],
    [503, 'NotBootstrapped'],
  ])('SES-11 a health of %i is %s', async (status, wireKind) => {
    const http = new DaemonRecorder({ status });
    expect(await rejection(testSession(http).session.health())).toMatchObject({ wireKind, status });
    expect(http.requests.length).toBe(1);
  });

  test('SES-17 a success that cannot be read names the schema', async () => {
    const http = new DaemonRecorder({ body: { unexpected: true } });
    const error = await rejection(testSession(http).session.health());
    expect(error.wireKind).toBe('ProtocolError');
    expect(error.message).toContain('/v1/schema');
  });

  test('statuses from nowhere in particular have a kind and no wire kind; a message quotes 512 bytes, trimmed', async () => {
    for (const status of [402, 403, 405, 418, 429, 451, 301]) {
      const error = await rejection(testSession(new DaemonRecorder({ status })).session.procs());
      expect(error).toMatchObject({ kind: 'Protocol', wireKind: null, message: `GET /v1/procs answered ${status}` });
    }
    for (const status of [500, 502, 506, 508, 599]) {
      const error = await rejection(testSession(new DaemonRecorder({ status })).session.procs());
      expect(error.wireKind).toBe('ServerError');
    }
    const long = await rejection(
      testSession(new DaemonRecorder({ status: 400, body: `  ${'x'.repeat(600)}` })).session.procs(),
    );
    expect(long.message).toBe(`GET /v1/procs answered 400: ${'x'.repeat(510)}`);
  });

  test('FC-092 an abort before the first byte rejects with the reason, not with a parse error', async () => {
    const http = { send: () => new Promise<never>(() => undefined), openStream: () => Promise.reject(new Error()) };
    const abort = new AbortController();
    const call = testSession(http).session.health(abort.signal);
    abort.abort(new Error('enough'));
    expect((await rejection(call)).message).toBe('enough');
  });

  test('FC-092 closing a session rejects what is in flight, and leaves nothing unhandled', async () => {
    const unhandled: unknown[] = [];
    const remember = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', remember);
    const http = { send: () => new Promise<never>(() => undefined), openStream: () => Promise.reject(new Error()) };
    const { session } = testSession(http);
    const call = session.run('sleep 9');
    session.close();
    expect(await rejection(call)).toMatchObject({ kind: 'Interrupted', reason: 'gone' });
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    process.off('unhandledRejection', remember);
    expect(unhandled).toEqual([]);
  });
});

describe('readiness', () => {
  const patient = { timeoutMs: 120_000, poll: referenceDaemonSchedule };

  test('SES-12 waits through a cut, a 503 and an unfinished bootstrap', async () => {
    const http = new DaemonRecorder(
      { cut: 'reset' },
      { status: 503 },
      { body: healthBody({ bootstrapped: false }) },
      healthy,
    );
    expect((await testSession(http).session.waitUntilReady(patient)).bootstrapped).toBe(true);
    expect(http.requests.length).toBe(4);
  });

  test('SES-13 ends at once on a refused bearer', async () => {
    const http = new DaemonRecorder({ status: 401 });
    expect(await rejection(testSession(http).session.waitUntilReady(patient))).toMatchObject({ kind: 'Credentials' });
    expect(http.requests.length).toBe(1);
  });

  test('SES-14 times out naming the last retryable error', async () => {
    const cut = { cut: 'connection refused' };
    const http = new DaemonRecorder(cut, cut, cut);
    const error = await rejection(
      testSession(http).session.waitUntilReady({ timeoutMs: 4_000, poll: referenceDaemonSchedule }),
    );
    expect(error).toMatchObject({ kind: 'Timeout', wireKind: null });
    expect(error.message).toContain('connection refused');
    expect(http.requests.length).toBe(3);
  });

  test('SES-26 takes the longest duration there is', async () => {
    const http = new DaemonRecorder({ body: healthBody({ bootstrapped: false }) }, healthy);
    await testSession(http).session.waitUntilReady({ timeoutMs: Number.MAX_SAFE_INTEGER });
    expect(http.requests.length).toBe(2);
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 2 ** 64 * 1000])(
    'refuses a timeout of %d',
    async (timeoutMs) => {
      const http = new DaemonRecorder();
      expect(await rejection(testSession(http).session.waitUntilReady({ timeoutMs }))).toMatchObject({
        kind: 'InvalidArg',
        wireKind: null,
      });
      expect(http.requests.length).toBe(0);
    },
  );
});

describe('resume', () => {
  test('SES-15 a rebind drops the token, and the next request mints', async () => {
    const http = new DaemonRecorder(healthy, healthy);
    const { session } = testSession(http);
    await session.health();
    expect(session.proxyAuth?.mintCount).toBe(1);
    session.rebind(session.endpoint);
    expect(session.proxyAuth?.isCached()).toBe(false);
    await session.health();
    expect(session.proxyAuth?.mintCount).toBe(2);
    expect(http.requests.at(-1)?.headers['x-aws-proxy-auth']).toBe('jwe-1');
  });

  test('FC-031 after a resume a 503 is asked again on a fresh connection', async () => {
    const http = new DaemonRecorder({ status: 503 }, { body: { procs: [] } });
    const { session } = testSession(http);
    session.rebind(session.endpoint);
    expect(await session.procs()).toEqual([]);
    expect(http.requests.map(({ freshConnection }) => freshConnection ?? false)).toEqual([false, true]);
  });

  test('FC-031 after a resume a start is sent again under the same id', async () => {
    const http = new DaemonRecorder({ status: 502 }, started);
    const { session } = testSession(http);
    session.rebind(session.endpoint);
    await session.start('true', { execId: 'e1' });
    expect([http.json(0)['exec_id'], http.json(1)['exec_id']]).toEqual(['e1', 'e1']);
  });

  test('FC-031 outside the window nothing is asked again that may not be', async () => {
    const http = new DaemonRecorder({ status: 502 });
    const { session, clock } = testSession(http);
    session.rebind(session.endpoint);
    await clock.advance(30_001);
    expect(await rejection(session.exec('e1').writeStdin('x'))).toMatchObject({ status: 502 });
    expect(http.requests.length).toBe(1);
  });
});

describe('commands', () => {
  test('SES-16 the handle has the id that the daemon confirmed', async () => {
    const http = new DaemonRecorder({ body: execBody('running', {}, 'e-confirmed') });
    const handle = await testSession(http).session.start(['/bin/true'], { execId: 'e-asked' });
    expect(handle.execId).toBe('e-confirmed');
    expect(http.routes).toEqual(['POST /v1/exec/start']);
    expect(http.json(0)).toMatchObject({ exec_id: 'e-asked', command: ['/bin/true'], shell: false });
  });

  test('SES-21 procs come with the bearer', async () => {
    const entry = { exec_id: 'e1', pgid: 4242, started_at: 1, child_exited: true, reap: false, pids: [4243] };
    const http = new DaemonRecorder({ body: { procs: [entry] } });
    expect(await testSession(http).session.procs()).toEqual([
      { execId: 'e1', pgid: 4242, startedAtSec: 1, childExited: true, reap: false, pids: [4243] },
    ]);
    expect(http.routes).toEqual(['GET /v1/procs']);
    expect(http.requests[0]?.headers['authorization']).toBe('Bearer agent-token-abcdef');
  });

  test('SES-22 reapGroupOnExit goes out as it is', async () => {
    const http = new DaemonRecorder(started);
    await testSession(http).session.start('true', { reapGroupOnExit: true });
    expect(http.json(0)['reap_group_on_exit']).toBe(true);
  });

  test.each([undefined, '0', 'true', '2'])('SES-23 with the power-off header %p nothing is started', async (value) => {
    const headers: Record<string, string> = value === undefined ? {} : { 'microvm-poweroff-on-exit': value };
    const http = new DaemonRecorder({ body: {}, headers });
    const error = await rejection(testSession(http).session.start('true', { poweroffOnExit: true }));
    expect(error.kind).toBe('InvalidArg');
    expect(error.message).toContain('poweroff_on_exit');
    expect(http.routes).toEqual(['GET /v1/health']);
    expect(http.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  test('SES-24 the power-off flag is sent only when asked for and promised', async () => {
    const off = new DaemonRecorder(started);
    await testSession(off).session.start('true');
    expect(off.requests.length).toBe(1);
    expect(off.json(0)).not.toHaveProperty('poweroff_on_exit');
    const on = new DaemonRecorder({ body: {}, headers: { 'microvm-poweroff-on-exit': '1' } }, started);
    await testSession(on).session.start('true', { poweroffOnExit: true });
    expect(on.routes).toEqual(['GET /v1/health', 'POST /v1/exec/start']);
    expect(on.json(1)['poweroff_on_exit']).toBe(true);
  });

  test('FC-079 a start is repeated under its id; without that promise only when nothing was sent', async () => {
    const known = new DaemonRecorder({ status: 502 }, started);
    await testSession(known).session.start('true', { execId: 'e1' });
    expect([known.json(0)['exec_id'], known.json(1)['exec_id']]).toEqual(['e1', 'e1']);

    const unknown = new DaemonRecorder({ status: 502 });
    expect(
      await rejection(testSession(unknown).session.start('true', { execId: 'e1', idempotent: false })),
    ).toMatchObject({ status: 502 });
    expect(unknown.requests.length).toBe(1);

    const judged = new DaemonRecorder({ status: 500, body: { error: 'spawn_failed', detail: 'no such program' } });
    expect(await rejection(testSession(judged).session.start('true'))).toMatchObject({ reason: 'spawn_failed' });
    expect(judged.requests.length).toBe(1);

    const refused = new DaemonRecorder({ cut: 'ECONNREFUSED', reason: 'connect' }, started);
    await testSession(refused).session.start('true', { execId: 'e1', idempotent: false });
    expect(refused.requests.length).toBe(2);
  });
});

describe('programs in the VM', () => {
  const ok = { body: 'hello' };

  test("FC-071 the caller's proxy headers are dropped, its authorization is kept for the program", async () => {
    const http = new DaemonRecorder(ok);
    const { session } = testSession(http);
    const headers = { 'x-aws-PROXY-auth': 'evil', 'X-Aws-Proxy-Port': '1', authorization: 'Bearer g', Host: 'evil' };
    const response = await session.fetch(8080, { method: 'POST', path: 'run?x=1', headers, body: 'in' });
    expect(Buffer.from(response.body).toString()).toBe('hello');
    expect(http.routes).toEqual(['POST /run?x=1']);
    expect(http.requests[0]?.headers).toEqual({
      authorization: 'Bearer g',
      'x-aws-proxy-auth': 'jwe-0',
      'x-aws-proxy-port': '8080',
    });
  });

  test('FC-061 requests to several ports share one widened token', async () => {
    const http = new DaemonRecorder(ok, ok, ok, ok);
    const { session, minter } = testSession(http);
    for (const port of [9000, 9000, 8080, 9000]) await session.fetch(port);
    expect((minter as CountingMinter).requested).toEqual([[9000], [8080, 9000]]);
    expect(http.requests.at(-1)?.headers).toMatchObject({ 'x-aws-proxy-auth': 'jwe-1', 'x-aws-proxy-port': '9000' });
  });

  test('a direct session reaches the port on the host itself, with no proxy headers and no agent token', async () => {
    const http = new DaemonRecorder(ok);
    const session = Session.direct({ endpoint: 'http://10.0.0.7:9000', agentToken: 't', http, clock: manualClock() });
    await session.fetch(8080, { path: '/x' });
    expect(http.requests[0]).toMatchObject({ url: 'http://10.0.0.7:8080/x', headers: {} });
  });

  test('the proxy’s refusals have reasons', async () => {
    const refusals = [
      [{ status: 403, body: 'Access to port denied' }, 'token-scope'],
      [{ status: 403, body: 'Token authentication failed' }, 'token-rejected'],
      [{ status: 429 }, 'rate'],
      [{ status: 502, headers: { 'x-aws-proxy-error': 'APP_CONNECT_FAILED' } }, 'nothing-listening'],
      [{ status: 502, headers: { 'x-aws-proxy-error': 'MICROVM_CONNECT_FAILED' } }, 'vm-unreachable'],
    ] as const;
    for (const [reply, reason] of refusals) {
      expect(await rejection(testSession(new DaemonRecorder(reply)).session.procs())).toMatchObject({ reason });
    }
  });
});
