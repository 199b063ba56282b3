import { inspect } from 'node:util';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Clock, Http, TokenMinter } from 'vmchart/effects';
import { Session } from 'vmchart/effects';
import { localFiles, manualClock } from 'vmchart/adapters';
import { quoted } from '../../effects/quoted.ts';
import { CountingMinter, DaemonRecorder, execBody, rejection, testSession } from './daemon-recorder.ts';

const never = () => new Promise<never>(() => undefined);

/** Answers a stream with a status and then, as often as it likes, a byte; the body never ends. */
function endlessAnswer(status: number, nextByte: () => Promise<void>): Http & { opened: number; closed: number } {
  const http = {
    opened: 0,
    closed: 0,
    send: () => Promise.reject(new Error('a stream is expected')),
    async openStream() {
      http.opened += 1;
      const body = (async function* () {
        for (;;) {
          await nextByte();
          yield Buffer.from('x');
        }
      })();
      return { status, headers: {}, body, close: () => void (http.closed += 1) };
    },
  };
  return http;
}

function sessionOver(http: Http, clock: Clock): Session {
  return Session.direct({
    endpoint: 'http://x',
    agentToken: 'agent-token-abcdef',
    http,
    clock,
    timeoutMs: 5_000,
    retries: 0,
    localFiles: localFiles(),
  });
}

type Work = (session: Session, options: { signal?: AbortSignal; target: string }) => Promise<unknown>;

const works: [string, Work][] = [
  ['downloadFile', async (session, { signal }) => await session.downloadFile('/x', { signal })],
  ['downloadDir', async (session, { signal, target }) => await session.downloadDir('/x', target, { signal })],
  [
    'a stream of an exec',
    async (session, { signal }) => {
      const handle = session.exec('e1');
      await handle.follow(() => undefined, { signal, reconnect: false });
    },
  ],
];

describe('an error whose body never comes', () => {
  describe.each(works)('%s', (_what, work) => {
    test.each([
      ['never a byte', () => never],
      ['a byte a second', (clock: Clock) => async () => await clock.sleep(1_000)],
    ])('C1 ends at the deadline and is told by its status alone: %s', async (_how, bytes) => {
      const clock = manualClock();
      const http = endlessAnswer(404, bytes(clock));
      const scratch = await mkdtemp(join(tmpdir(), 'vmchart-hostile-'));
      try {
        const outcome = rejection(work(sessionOver(http, clock), { target: join(scratch, 'target') }));
        for (let second = 0; second < 5; second += 1) await clock.advance(1_000);
        expect(await outcome).toMatchObject({ wireKind: 'NotFound', status: 404 });
        expect([http.opened, http.closed]).toEqual([1, 1]);
        expect(await readdir(scratch)).toEqual([]);
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    });

    test('C1 ends at the abort, with its reason', async () => {
      const http = endlessAnswer(500, never);
      const abort = new AbortController();
      const outcome = rejection(
        work(sessionOver(http, manualClock()), { signal: abort.signal, target: join(tmpdir(), 'vmchart-nothing') }),
      );
      while (http.opened === 0) await new Promise(setImmediate);
      abort.abort(new Error('enough'));
      expect((await outcome).message).toBe('enough');
      expect(http.closed).toBe(1);
    });
  });

  test('C1 without a deadline the silence that ends a body ends it', async () => {
    const clock = manualClock();
    const http = endlessAnswer(404, never);
    const { transport } = sessionOver(http, clock);
    const outcome = rejection(transport.openStream({ method: 'GET', path: '/x', timeoutMs: null }, 2_000));
    await clock.advance(2_000);
    expect(await outcome).toMatchObject({ status: 404 });
  });
});

describe('a stream of an exec that never gets anywhere', () => {
  const streamOver = (openStream: Http['openStream'], clock: Clock) =>
    sessionOver({ send: () => Promise.reject(new Error('a stream is expected')), openStream }, clock)
      .exec('e1')
      .follow(() => undefined);

  test.each([
    ['a 500', 500, 'Retryable'],
    ['an empty 200', 200, 'Retryable'],
  ])('C5 by default %s ends it after 20 re-attaches and 68 s', async (_what, status, kind) => {
    const clock = manualClock({ autoAdvance: true });
    let attached = 0;
    const outcome = streamOver(async () => {
      attached += 1;
      return { status, headers: {}, body: (async function* () {})(), close: () => undefined };
    }, clock);
    expect(await rejection(outcome)).toMatchObject({ kind });
    expect([attached, clock.now()]).toEqual([21, 67_750]);
  });

  test('C5 an answer that never begins ends it after 20 re-attaches, each of them bounded', async () => {
    const clock = manualClock();
    let attached = 0;
    let endedAt = 0;
    const outcome = rejection(
      streamOver(async () => {
        attached += 1;
        return await never();
      }, clock),
    ).finally(() => (endedAt = clock.now()));
    while (clock.now() < 200_000) await clock.advance(250);
    expect(await outcome).toMatchObject({ kind: 'Retryable' });
    expect([attached, endedAt]).toEqual([21, 67_750 + 21 * 5_000]);
  });

  test.each([Number.NaN, -1, 'x' as unknown as number])(
    'B3 a limit of %p is refused before anything is sent',
    (limit) => {
      const session = sessionOver(new DaemonRecorder(), manualClock());
      for (const options of [{ maxReconnects: limit }, { frameLimitBytes: limit }]) {
        expect(() => session.exec('e1').stream(options)).toThrow(expect.objectContaining({ reason: 'cap' }));
      }
    },
  );
});

describe('a file that never ends', () => {
  const mebibyte = Buffer.alloc(1024 * 1024);

  /** Sends a mebibyte as often as it is asked to. */
  function endlessFile(headers: Record<string, string> = {}): Http & { pieces: number; closed: number } {
    const http = {
      pieces: 0,
      closed: 0,
      send: () => Promise.reject(new Error('a stream is expected')),
      async openStream() {
        const body = (async function* () {
          for (;;) {
            http.pieces += 1;
            yield mebibyte;
          }
        })();
        return { status: 200, headers, body, close: () => void (http.closed += 1) };
      },
    };
    return http;
  }
  const tooLarge = { kind: 'Protocol', reason: 'file-too-large' };

  test('C4 downloadFile reads 64 MiB into memory and no more, unless told otherwise', async () => {
    const http = endlessFile();
    expect(await rejection(sessionOver(http, manualClock()).downloadFile('/x'))).toMatchObject(tooLarge);
    expect([http.pieces, http.closed]).toEqual([65, 1]);
    const small = endlessFile();
    const error = await rejection(sessionOver(small, manualClock()).downloadFile('/x', { maxBytes: 10 }));
    expect(error).toMatchObject(tooLarge);
    expect(error.message).toContain('/x is larger than the cap of 10 bytes');
    expect([small.pieces, small.closed]).toEqual([1, 1]);
  });

  test('C4 a file that says that it is too large is not read at all', async () => {
    const http = endlessFile({ 'content-length': '11' });
    expect(await rejection(sessionOver(http, manualClock()).openFile('/x', { maxBytes: 10 }))).toMatchObject(tooLarge);
    expect([http.pieces, http.closed]).toEqual([0, 1]);
  });

  test('C4 downloadTo and openFile take a cap, and leave nothing behind', async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'vmchart-hostile-'));
    try {
      const http = endlessFile();
      const session = sessionOver(http, manualClock());
      const maxBytes = 3 * mebibyte.length;
      expect(await rejection(session.downloadTo('/x', join(scratch, 'x'), { maxBytes }))).toMatchObject(tooLarge);
      expect(await readdir(scratch)).toEqual([]);
      const file = await session.openFile('/x', { maxBytes });
      const read = async () => {
        for await (const piece of file.body) expect(piece.length).toBe(mebibyte.length);
      };
      expect(await rejection(read())).toMatchObject(tooLarge);
      expect(http.pieces).toBe(8);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });

  test('C4 a file of exactly the cap is whole', async () => {
    const { session } = testSession(new DaemonRecorder({ chunks: ['abc', 'de'] }));
    expect(Buffer.from(await session.downloadFile('/x', { maxBytes: 5 })).toString()).toBe('abcde');
  });
});

const agentToken = 'agent-token-0123456789abcdef';

/** Answers every request with what it was sent, as a far end that echoes does. */
function echo(status: number, spell: (text: string) => string = (text) => text): Http {
  const answer = (headers: Readonly<Record<string, string>>) => spell(JSON.stringify(headers));
  return {
    send: async ({ headers }) => ({ status, headers: {}, body: Buffer.from(answer(headers)) }),
    openStream: async ({ headers }) => ({
      status,
      headers: {},
      close: () => undefined,
      body: (async function* () {
        for (const sign of answer(headers)) yield Buffer.from(sign);
      })(),
    }),
  };
}

/** Mints tokens that look like secrets and can be found again. */
const minter: TokenMinter = {
  mintForPorts: async () => ({ 'X-aws-proxy-auth': 'proxy-token-fedcba9876543210' }),
};

function everythingOf(error: Error): string {
  return [error.message, JSON.stringify(error), inspect(error, { depth: 9, showHidden: true })].join('\n');
}

describe('what a message quotes of the far end', () => {
  const shapes: [string, (text: string) => string][] = [
    ['whole', (text) => text],
    ['after much else', (text) => 'x'.repeat(150) + text],
    ['cut in the middle', (text) => text.slice(0, text.indexOf('Bearer ') + 20)],
    ['at the end of what is quoted', (text) => 'x'.repeat(495 - text.indexOf('Bearer ')) + text],
    ['as the slug of an error', () => JSON.stringify({ error: agentToken })],
    ['alone', () => agentToken],
  ];
  test.each(shapes)('D1 secrets that are echoed do not stand in errors: %s', async (_what, spell) => {
    for (const status of [200, 400, 403, 500]) {
      const { session } = testSession(echo(status, spell), { agentToken, minter });
      const errors = [await rejection(session.exec('e1').poll())];
      if (status !== 200) errors.push(await rejection(session.downloadFile('/x')));
      for (const error of errors) {
        expect(everythingOf(error)).not.toMatch(/agent-token|proxy-token/);
        if (status !== 200) expect(error.status).toBe(status);
      }
    }
  });

  test('D1 a token that was dropped is still a secret', async () => {
    const http = new DaemonRecorder(
      { body: execBody('running') },
      { body: execBody('running') },
      { status: 400, body: 'jwe-0 and jwe-1 and agent-token-abcdef' },
    );
    const { session } = testSession(http, { minter: new CountingMinter() });
    await session.exec('e1').poll();
    session.transport.rebind('https://vm.example');
    await session.exec('e1').poll();
    const error = await rejection(session.exec('e1').poll());
    expect(error.message).toContain('[redacted] and [redacted] and [redacted]');
  });

  test('D1 a header of the far end is quoted with the same care', async () => {
    const type = `text/${agentToken}\u001b[31m`;
    const http = new DaemonRecorder({ chunks: [], headers: { 'content-type': type } });
    const error = await rejection(testSession(http, { agentToken }).session.downloadFile('/x'));
    expect(error.message).toContain('answered text/[redacted]\\u{1b}[31m where');
  });

  test('D1 what is quoted is short and on one line', async () => {
    const http = new DaemonRecorder({ status: 400, body: `a\n\u001b[2J\u202e\u0000${'z'.repeat(100_000)}` });
    const { message } = await rejection(testSession(http).session.exec('e1').poll());
    expect(message).toContain('a\\n\\u{1b}[2J\\u{202e}\\u{0}zzz');
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(message.length).toBeLessThan(600);
  });

  test('D1 one secret that begins another leaves nothing of it, and no character is cut in two', () => {
    expect(quoted('x token-1-long x', ['token-1', 'token-1-long'])).toBe('x [redacted] x');
    expect(quoted('x toke', ['token-1'])).toBe('x [redacted]');
    expect(quoted('🚀🚀🚀', [], 2)).toBe('🚀🚀…');
    expect(quoted('plain', [])).toBe('plain');
  });
});
