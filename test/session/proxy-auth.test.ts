import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { ProxyAuth, VmchartError } from 'vmchart/effects';
import type { TokenMinter } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';
import { CountingMinter, DaemonRecorder, healthBody, rejection, testSession } from './daemon-recorder.ts';

const minuteMs = 60_000;

function auth(minter: TokenMinter = new CountingMinter(), refreshAfterMs?: number) {
  const clock = manualClock();
  const proxyAuth = new ProxyAuth({ minter, clock, ...(refreshAfterMs === undefined ? {} : { refreshAfterMs }) });
  return { clock, proxyAuth, token: async () => (await proxyAuth.headers())['x-aws-proxy-auth'] };
}

/** A minter whose mints are settled by hand. */
function slowMinter() {
  const asked: {
    ports: readonly number[];
    signal: AbortSignal | undefined;
    settle: (token: string | Error) => void;
  }[] = [];
  const minter: TokenMinter = {
    mintForPorts: (ports, signal) =>
      new Promise((resolve, reject) => {
        asked.push({
          ports,
          signal,
          settle: (token) => (typeof token === 'string' ? resolve({ 'X-aws-proxy-auth': token }) : reject(token)),
        });
      }),
  };
  return { asked, minter };
}

const settled = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

describe('proxy token', () => {
  test('PRX-01 the refresh age must be below the ceiling', () => {
    expect(() => auth(undefined, 3_600_000)).toThrow(/ceiling/);
    expect(() => auth(undefined, 3_600_000)).toThrow(expect.objectContaining({ kind: 'InvalidArg' }));
    expect(auth(undefined, 3_599_000).proxyAuth.mintCount).toBe(0);
  });

  test('PRX-02 a token is reused up to the refresh age, inclusive, and minted anew past it', async () => {
    const { clock, proxyAuth, token } = auth();
    expect(await token()).toBe('jwe-0');
    await clock.advance(30 * minuteMs);
    expect([await token(), proxyAuth.mintCount]).toEqual(['jwe-0', 1]);
    await clock.advance(1);
    expect(proxyAuth.isCached()).toBe(false);
    expect([await token(), proxyAuth.mintCount]).toEqual(['jwe-1', 2]);
  });

  test('PRX-03 two hours of a request a minute take four mints, and no token is ever an hour old', async () => {
    const mintedAt: number[] = [];
    const clock = manualClock();
    const minter: TokenMinter = {
      async mintForPorts() {
        mintedAt.push(clock.now());
        return { 'x-aws-proxy-auth': String(clock.now()) };
      },
    };
    const proxyAuth = new ProxyAuth({ minter, clock });
    let oldest = 0;
    for (let minute = 0; minute < 120; minute += 1) {
      const token = (await proxyAuth.headers())['x-aws-proxy-auth'];
      oldest = Math.max(oldest, clock.now() - Number(token));
      await clock.advance(minuteMs);
    }
    expect(mintedAt.map((at) => at / minuteMs)).toEqual([0, 31, 62, 93]);
    expect(proxyAuth.mintCount).toBe(4);
    expect(oldest).toBeLessThan(3_600_000);
  });

  test('PRX-04 an answer without the header is no mint', async () => {
    const { proxyAuth } = auth({ mintForPorts: async () => ({ 'x-other': 'jwe' }) });
    const error = await rejection(proxyAuth.headers());
    expect(error.wireKind).toBe('AuthTokenMint');
    expect(error.message).toContain('X-aws-proxy-auth');
    expect([proxyAuth.mintCount, proxyAuth.isCached()]).toEqual([0, false]);
  });

  test('PRX-05 a refused identity stays one, keeps its cause and promises no retry', async () => {
    const { proxyAuth } = auth(new CountingMinter(new VmchartError('Credentials', 'access denied', { status: 403 })));
    const error = await rejection(proxyAuth.headers());
    expect(error).toMatchObject({ kind: 'Credentials', wireKind: null, retryable: false });
    expect(error.message).toContain('access denied');
    expect(proxyAuth.mintCount).toBe(0);
  });

  test('PRX-06 eight at once on a cold cache mint once', async () => {
    const { proxyAuth, token } = auth();
    const tokens = await Promise.all(Array.from({ length: 8 }, token));
    expect([new Set(tokens).size, proxyAuth.mintCount]).toEqual([1, 1]);
  });

  test('PRX-07 another port widens the scope, and the wide token serves both', async () => {
    const minter = new CountingMinter();
    const { proxyAuth } = auth(minter);
    const counts: number[] = [];
    for (const ports of [[9000, 9000], [3000], [9000, 3000]]) {
      for (const port of ports) await proxyAuth.headersForPort(port);
      counts.push(proxyAuth.mintCount);
    }
    expect(counts).toEqual([1, 2, 2]);
    expect(minter.requested).toEqual([[9000], [3000, 9000]]);
  });

  test('FC-061 a hit is fresh and covering, and the last request uses the wide token', async () => {
    const minter = new CountingMinter();
    const { proxyAuth } = auth(minter);
    const tokens: (string | undefined)[] = [];
    for (const port of [9000, 9000, 8080, 9000])
      tokens.push((await proxyAuth.headersForPort(port))['x-aws-proxy-auth']);
    expect(tokens).toEqual(['jwe-0', 'jwe-0', 'jwe-1', 'jwe-1']);
    expect(minter.requested.at(-1)).toEqual([8080, 9000]);
  });

  test('a port that is asked for while a mint is under way gets one of its own', async () => {
    const { asked, minter } = slowMinter();
    const { proxyAuth } = auth(minter);
    const first = proxyAuth.headersForPort(9000);
    const others = [proxyAuth.headersForPort(8080), proxyAuth.headersForPort(3000)];
    await settled();
    asked[0]?.settle('narrow');
    expect((await first)['x-aws-proxy-auth']).toBe('narrow');
    await settled();
    asked[1]?.settle('wide');
    expect((await Promise.all(others)).map((headers) => headers['x-aws-proxy-auth'])).toEqual(['wide', 'wide']);
    expect(asked.map(({ ports }) => ports)).toEqual([[9000], [3000, 8080, 9000]]);
  });

  test('while a wider token is being minted, the narrow one goes on serving', async () => {
    const { asked, minter } = slowMinter();
    const { proxyAuth } = auth(minter);
    const first = proxyAuth.headers();
    await settled();
    asked[0]?.settle('narrow');
    await first;
    const wide = proxyAuth.headersForPort(8080);
    expect((await proxyAuth.headers())['x-aws-proxy-auth']).toBe('narrow');
    await settled();
    asked[1]?.settle('wide');
    await wide;
  });

  test('a token that was invalidated while it was being minted is not handed out', async () => {
    const { asked, minter } = slowMinter();
    const { proxyAuth } = auth(minter);
    const call = proxyAuth.headers();
    await settled();
    proxyAuth.invalidate();
    asked[0]?.settle('before the resume');
    await settled();
    asked[1]?.settle('after the resume');
    expect((await call)['x-aws-proxy-auth']).toBe('after the resume');
    expect(proxyAuth.mintCount).toBe(2);
  });

  test('when all who waited gave up, the mint is dropped and the next one starts afresh', async () => {
    const { asked, minter } = slowMinter();
    const { proxyAuth } = auth(minter);
    const abort = new AbortController();
    const call = proxyAuth.headers(abort.signal);
    const other = proxyAuth.headers(abort.signal);
    await settled();
    abort.abort(new Error('enough'));
    expect((await rejection(call)).message).toBe('enough');
    expect((await rejection(other)).message).toBe('enough');
    expect(asked[0]?.signal?.aborted).toBe(true);
    const next = proxyAuth.headers();
    await settled();
    asked[0]?.settle('late');
    asked[1]?.settle('fresh');
    expect((await next)['x-aws-proxy-auth']).toBe('fresh');
  });

  test('FC-064 a failed mint keeps what it was about', async () => {
    const gone = new VmchartError('Platform', 'no such VM', { status: 404 });
    const conflict = new VmchartError('Platform', 'it is SUSPENDING', { status: 409 });
    const { proxyAuth } = auth(new CountingMinter(gone, conflict, new Error('connection reset')));
    expect(await rejection(proxyAuth.headers())).toMatchObject({ wireKind: 'AuthTokenMint', reason: 'gone' });
    expect(await rejection(proxyAuth.headers())).toMatchObject({ wireKind: 'AuthTokenMint', reason: 'wrong-state' });
    expect(await rejection(proxyAuth.headers())).toMatchObject({ retryable: true, reason: 'token-unavailable' });
  });

  test('FC-065 when a refresh fails, a token that has not expired stays usable, and one that has does not', async () => {
    const failure = new Error('service unavailable');
    const minter: TokenMinter = {
      mintForPorts: async () => {
        if (clock.now() > 0) throw failure;
        return { 'x-aws-proxy-auth': 'old' };
      },
    };
    const { clock, proxyAuth, token } = auth(minter);
    expect(await token()).toBe('old');
    await clock.advance(100_000);
    expect(await token()).toBe('old');
    await clock.advance(3_600_000 - 100_001);
    expect(await token()).toBe('old');
    await clock.advance(1);
    expect(await rejection(proxyAuth.headers())).toMatchObject({ reason: 'token-unavailable' });
    expect(await rejection(proxyAuth.headersForPort(8080))).toMatchObject({ reason: 'token-unavailable' });
  });

  test('FC-065 a refused identity ends the use of a token at its refresh', async () => {
    const refused = new VmchartError('Credentials', 'denied', { status: 403 });
    const minter: TokenMinter = {
      mintForPorts: async () => {
        if (clock.now() > 0) throw refused;
        return { 'x-aws-proxy-auth': 'old' };
      },
    };
    const { clock, proxyAuth, token } = auth(minter);
    await token();
    await clock.advance(30 * minuteMs + 1);
    expect(await rejection(proxyAuth.headers())).toMatchObject({ kind: 'Credentials' });
  });

  test("the map's own port header stands for the daemon, and the port asked for wins elsewhere", async () => {
    const { proxyAuth } = auth({
      mintForPorts: async () => ({ 'X-Aws-Proxy-Auth': 'jwe', 'X-AWS-PROXY-PORT': '7', 'x-more': 'y' }),
    });
    expect(await proxyAuth.headers()).toEqual({ 'x-aws-proxy-auth': 'jwe', 'x-aws-proxy-port': '7', 'x-more': 'y' });
    expect(await proxyAuth.headersForPort(9000)).toMatchObject({ 'x-aws-proxy-port': '9000' });
  });

  test.each([0, -1, 65_536, 1.5, Number.NaN])('refuses the port %d and mints nothing', async (port) => {
    const minter = new CountingMinter();
    const { proxyAuth } = auth(minter);
    expect(await rejection(proxyAuth.headersForPort(port))).toMatchObject({ kind: 'InvalidArg' });
    expect(await rejection(proxyAuth.subprotocols(port))).toMatchObject({ kind: 'InvalidArg' });
    expect(minter.requested).toEqual([]);
  });

  test('FC-070 a token shows in nothing that is printed', async () => {
    const minter: TokenMinter = { mintForPorts: async () => ({ 'x-aws-proxy-auth': 'eyJhbGciOi-secret' }) };
    const http = new DaemonRecorder({ status: 500 }, { body: healthBody() });
    const { session } = testSession(http, { minter });
    const error = await rejection(session.health());
    await session.health();
    const shown = [
      session,
      session.proxyAuth,
      session.transport,
      session.exec('e1'),
      session.exec('e1').stream(),
      error,
    ];
    for (const thing of shown) {
      const texts = [inspect(thing, { depth: 9, showHidden: true }), JSON.stringify(thing), String(thing)];
      for (const text of [...texts, error.stack ?? '']) {
        expect(text).not.toContain('eyJhbGci');
        expect(text).not.toContain('agent-token');
      }
    }
  });
});
