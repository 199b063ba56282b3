import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Http, HttpRequest, UploadOwnership } from 'vmchart/effects';
import { Session, VmchartError } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';
import { DaemonRecorder, execBody, healthBody, outcome, rejection, testSession } from './daemon-recorder.ts';
import { diskSession } from './disk-session.ts';

const done = { status: 204 };

/** Reads each request's body to its end, as a server would, before it answers. */
function readingServer(...statuses: number[]): { http: Http; bodies: Buffer[]; requests: HttpRequest[] } {
  const bodies: Buffer[] = [];
  const requests: HttpRequest[] = [];
  return {
    bodies,
    requests,
    http: {
      async send(request) {
        requests.push(request);
        const { body } = request;
        const pieces: Uint8Array[] = [];
        if (typeof body === 'string' || body instanceof Uint8Array) pieces.push(Buffer.from(body));
        else if (body !== undefined)
          for await (const piece of typeof body === 'function' ? body() : body) pieces.push(piece);
        bodies.push(Buffer.concat(pieces));
        return { status: statuses.shift() ?? 204, headers: {}, body: new Uint8Array() };
      },
      openStream: () => Promise.reject(new Error('no stream is expected')),
    },
  };
}

async function* once(...pieces: string[]) {
  for (const piece of pieces) yield Buffer.from(piece);
}

describe('files', () => {
  test('FIL-01 a mode is in the query only when given, and the body is intact', async () => {
    const http = new DaemonRecorder(done, done, done);
    const { session } = testSession(http);
    await session.uploadFile('/tmp/x', 'body', { mode: '0644' });
    await session.uploadFile('/tmp/x', Uint8Array.of(0, 255), { mode: 0o755 });
    await session.uploadFile('/tmp/x', 'body');
    expect(http.routes).toEqual([
      'PUT /v1/fs/file?path=%2Ftmp%2Fx&mode=0644',
      'PUT /v1/fs/file?path=%2Ftmp%2Fx&mode=0755',
      'PUT /v1/fs/file?path=%2Ftmp%2Fx',
    ]);
    expect(Buffer.from(http.requests[0]?.body as Uint8Array).toString()).toBe('body');
    expect(http.requests[1]?.body).toEqual(Uint8Array.of(0, 255));
    expect(http.requests[0]?.headers['content-type']).toBe('application/octet-stream');
  });

  test('FIL-02 a path is escaped', async () => {
    const http = new DaemonRecorder({ chunks: ['x'] }, { chunks: ['x'] });
    const { session } = testSession(http);
    await session.downloadFile('/tmp/a&b c#d');
    await session.downloadFile("/é!'()*~");
    expect(http.routes).toEqual([
      'GET /v1/fs/file?path=%2Ftmp%2Fa%26b%20c%23d',
      'GET /v1/fs/file?path=%2F%C3%A9%21%27%28%29%2A~',
    ]);
  });

  test('FIL-03 a file is there, is not there, or the question was wrong', async () => {
    const http = new DaemonRecorder({ chunks: ['x'], after: 'stall' }, { status: 404 }, { status: 400 });
    const { session } = testSession(http);
    expect(await session.fileExists('/x')).toBe(true);
    expect(await session.fileExists('/x')).toBe(false);
    expect(await rejection(session.fileExists('/'))).toMatchObject({ wireKind: 'ProtocolError' });
    expect(http.openStreams).toBe(0);
  });

  test('FIL-04 lines are asked for by bounds that are given, and refused when they make no sense', async () => {
    const http = new DaemonRecorder({ chunks: ['b\nc\nd\n'] }, { chunks: ['x'] }, { chunks: ['x'] });
    const { session } = testSession(http);
    expect(Buffer.from(await session.downloadFileLines('/tmp/a b', { startLine: 2, endLine: 4 })).toString()).toBe(
      'b\nc\nd\n',
    );
    await session.downloadFileLines('/tmp/a b', {});
    await session.downloadFileLines('/tmp/a b', { startLine: 40 });
    expect(http.routes).toEqual([
      'GET /v1/fs/file?path=%2Ftmp%2Fa%20b&start_line=2&end_line=4',
      'GET /v1/fs/file?path=%2Ftmp%2Fa%20b',
      'GET /v1/fs/file?path=%2Ftmp%2Fa%20b&start_line=40',
    ]);
    for (const [range, message] of [
      [{ startLine: 0 }, 'start_line is 1-based'],
      [{ endLine: 0 }, 'end_line is 1-based'],
      [{ startLine: 5, endLine: 2 }, 'end_line 2 is before start_line 5'],
    ] as const) {
      const error = await rejection(session.downloadFileLines('/x', range));
      expect(error).toMatchObject({ kind: 'InvalidArg', wireKind: null });
      expect(error.message).toContain(message);
    }
    expect(http.requests.length).toBe(3);
  });

  test('FIL-05 too large, and a full disk', async () => {
    const full = { status: 507, body: '/tmp/x: 100 bytes available, 268435456 reserved' };
    const http = new DaemonRecorder({ status: 413 }, full, full);
    const { session } = testSession(http);
    expect(await rejection(session.uploadFile('/tmp/x', 'x'))).toMatchObject({ wireKind: 'TooLarge' });
    for (const upload of [session.uploadFile('/tmp/x', 'x'), session.uploadTar('/tmp', 'x')]) {
      const error = await rejection(upload);
      expect(error).toMatchObject({ wireKind: 'InsufficientStorage', code: 'ERR_PLATFORM', retryable: false });
      expect(error.message).toContain('268435456');
    }
    expect(http.requests.length).toBe(3);
  });

  test.each(['8', '77777', '9', 0o10000, -1, 'rw-r--r--'])(
    'refuses the mode %p before anything is sent',
    async (mode) => {
      const http = new DaemonRecorder();
      const work = testSession(http).session.uploadFile('/x', '', { mode });
      expect(await rejection(work)).toMatchObject({ kind: 'InvalidArg', reason: 'mode' });
      expect(http.requests.length).toBe(0);
    },
  );

  test('refuses a path that cannot be one', async () => {
    const { session } = testSession(new DaemonRecorder());
    for (const path of ['', 'a\0b']) {
      expect(await rejection(session.downloadFile(path))).toMatchObject({ kind: 'InvalidArg', reason: 'path' });
    }
  });

  test('FC-098 an answer of another type is no file, and a length is in bytes', async () => {
    const json = { body: { error: 'x' }, headers: { 'content-type': 'application/json' } };
    const http = new DaemonRecorder(json, done);
    const { session } = testSession(http);
    expect(await rejection(session.downloadFile('/x'))).toMatchObject({
      kind: 'Protocol',
      reason: 'unexpected-response',
    });
    await session.uploadFile('/x', 'é');
    expect(http.requests[1]?.headers['content-length']).toBe('2');
  });

  test('FC-100 a page that says 404 is no word on the file', async () => {
    const http = new DaemonRecorder({ status: 404, body: '<html>', headers: { 'content-type': 'text/html' } });
    expect(await rejection(testSession(http).session.fileExists('/x'))).toMatchObject({
      reason: 'unexpected-response',
    });
  });

  test('FC-101 what can be sent again is; what can be read only once is not', async () => {
    const single = readingServer(503);
    expect(await rejection(testSession(single.http).session.uploadFile('/x', once('a', 'b')))).toMatchObject({
      status: 503,
    });
    expect(single.requests.length).toBe(1);

    const big = Buffer.alloc(3 * 1024 * 1024, 'x');
    for (const body of [() => once('a', 'b'), 'text', big] as const) {
      const server = readingServer(503, 204);
      await testSession(server.http).session.uploadFile('/x', body);
      expect(server.requests.length).toBe(2);
      const digests = server.bodies.map((bytes) => createHash('sha256').update(bytes).digest('hex'));
      expect(new Set(digests).size).toBe(1);
      expect(server.bodies[0]?.length).toBeGreaterThan(0);
    }
  });

  test('an upload that nobody takes ends after the stall time; a slow source does not', async () => {
    const clock = manualClock();
    let pulled = 0;
    const stuck: Http = {
      async send(request) {
        const body = request.body as () => AsyncIterable<Uint8Array>;
        for await (const piece of body()) {
          pulled += piece.length;
          await new Promise((_resolve, reject) =>
            request.signal?.addEventListener('abort', () => reject(request.signal?.reason as Error)),
          );
        }
        throw new Error('unreachable');
      },
      openStream: () => Promise.reject(new Error()),
    };
    const session = Session.direct({ endpoint: 'http://x', agentToken: 't', http: stuck, clock, retries: 0 });
    const work = session.uploadFile('/x', () => once('abc', 'def'), { stallMs: 5_000 });
    work.catch(() => undefined);
    await clock.advance(5_000);
    expect(await rejection(work)).toMatchObject({ wireKind: 'Transport', reason: 'stalled' });
    expect(pulled).toBe(3);

    const server = readingServer(204);
    async function* slow() {
      yield Buffer.from('a');
      await clock.sleep(60_000);
      yield Buffer.from('b');
    }
    const patient = Session.direct({ endpoint: 'http://x', agentToken: 't', http: server.http, clock });
    const upload = patient.uploadFile('/x', () => slow(), { stallMs: 5_000 });
    await clock.advance(60_000);
    await upload;
    expect(server.bodies[0]?.toString()).toBe('ab');
  });

  test('progress is told in bytes', async () => {
    const server = readingServer(204, 204);
    const { session } = testSession(server.http);
    const told: unknown[] = [];
    await session.uploadFile('/x', () => once('abc', 'de'), {
      sizeBytes: 5,
      onProgress: (progress) => told.push(progress),
    });
    expect(told).toEqual([
      { bytes: 3, totalBytes: 5 },
      { bytes: 5, totalBytes: 5 },
    ]);
    const down = new DaemonRecorder({ chunks: ['abc', 'de'], headers: { 'content-length': '5' } });
    const heard: unknown[] = [];
    await testSession(down).session.downloadFile('/x', { onProgress: (progress) => heard.push(progress) });
    expect(heard).toEqual(told);
  });
});

describe('files on the local disk', () => {
  let scratch = '';
  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'vmchart-files-'));
  });
  afterEach(async () => {
    await rm(scratch, { recursive: true, force: true });
  });

  test('a file is sent with its size and its mode', async () => {
    await writeFile(join(scratch, 'tool'), 'é'.repeat(300_000), { mode: 0o750 });
    const server = readingServer(204);
    await diskSession(server.http).uploadFrom(join(scratch, 'tool'), '/bin/tool');
    expect(server.requests[0]?.url).toContain('&mode=0750');
    expect(server.requests[0]?.headers['content-length']).toBe('600000');
    expect(server.bodies[0]?.toString()).toBe('é'.repeat(300_000));
  });

  test('a missing local file is a mistake of the caller, and nothing is sent', async () => {
    const server = readingServer();
    for (const path of ['nowhere', '.']) {
      const work = diskSession(server.http).uploadFrom(join(scratch, path), '/x');
      expect(await rejection(work)).toMatchObject({ kind: 'InvalidArg' });
    }
    expect(server.requests.length).toBe(0);
  });

  test('FC-098 a file that did not arrive whole is not there, and what was there before still is', async () => {
    const failures = [
      { chunks: ['abc'], after: 'cut' } as const,
      { chunks: ['abc'], headers: { 'content-length': '10' } },
      { body: { error: 'x' }, headers: { 'content-type': 'application/json' } },
      { status: 404 },
    ];
    for (const before of [null, 'old']) {
      const target = join(scratch, 'target');
      if (before !== null) await writeFile(target, before);
      for (const failure of failures) {
        await expect(diskSession(new DaemonRecorder(failure)).downloadTo('/x', target)).rejects.toBeInstanceOf(
          VmchartError,
        );
        expect(await readdir(scratch)).toEqual(before === null ? [] : ['target']);
        if (before !== null) expect(await readFile(target, 'utf8')).toBe(before);
      }
    }
  });

  test('FC-091 fewer bytes than announced are an error that says how many', async () => {
    const short = { chunks: ['abc'], headers: { 'content-length': '10' } };
    const error = await rejection(diskSession(new DaemonRecorder(short)).downloadFile('/x'));
    expect(error).toMatchObject({ reason: 'body-truncated', retryable: true });
    expect(error.message).toContain('3 of 10 bytes');
    const whole = new DaemonRecorder({ chunks: ['abcde'] });
    expect(await diskSession(whole).downloadTo('/x', join(scratch, 'target'))).toBe(5);
    expect(await readFile(join(scratch, 'target'), 'utf8')).toBe('abcde');
  });

  test('a session without access to the disk says so', async () => {
    const { session } = testSession(new DaemonRecorder());
    expect(await rejection(session.downloadTo('/x', join(scratch, 'y')))).toMatchObject({ kind: 'Precondition' });
    expect(await rejection(session.uploadDir(scratch, '/x'))).toMatchObject({ reason: 'no-local-files' });
  });
});

describe('owners of uploads', () => {
  const health = (configured: boolean) => ({
    body: healthBody(),
    headers: configured ? { 'microvms-default-user-configured': '1' } : {},
  });
  const ran = (stdout: string, exitCode = 0) => [
    { body: execBody('running') },
    { body: execBody('exited', outcome(exitCode)) },
    { body: execBody('acked', outcome(exitCode, { stdout, stderr: 'no such user' })) },
  ];
  const owned = (http: DaemonRecorder, uploadOwner: UploadOwnership) =>
    Session.direct({
      endpoint: 'http://x',
      agentToken: 't',
      http,
      clock: manualClock({ autoAdvance: true }),
      uploadOwner,
    });
  const starts = (http: DaemonRecorder) =>
    http.requests
      .filter(({ url }) => url.endsWith('/start'))
      .map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);

  test('root owns uploads unless asked otherwise, and where no default user is configured', async () => {
    const plain = new DaemonRecorder(done);
    await testSession(plain).session.uploadFile('/x', '');
    expect(plain.requests.length).toBe(1);
    const none = new DaemonRecorder(done, health(false), done);
    const session = owned(none, 'default-user');
    await session.uploadFile('/x', '');
    await session.uploadFile('/y', '');
    expect(none.routes.map((route) => route.split('?')[0])).toEqual([
      'PUT /v1/fs/file',
      'GET /v1/health',
      'PUT /v1/fs/file',
    ]);
  });

  test('the default user is asked for once, and each upload is handed over by uid 0', async () => {
    const http = new DaemonRecorder(done, health(true), ...ran('1000\n1001\n'), ...ran(''), done, ...ran(''));
    const session = owned(http, 'default-user');
    await session.uploadFile('/a -b', '');
    await session.uploadTar('/workspace', '');
    expect(starts(http)).toMatchObject([
      { command: ['id -u && id -g'], user: null },
      { command: ['chown', '-h', '1000:1001', '--', '/a -b'], user: 0 },
      { command: ['chown', '-hR', '1000:1001', '--', '/workspace'], user: 0 },
    ]);
  });

  test('numbers can be given, and a failure says that the upload is there', async () => {
    const http = new DaemonRecorder(done, ...ran('', 1));
    const error = await rejection(owned(http, { uid: 5, gid: 6 }).uploadFile('/x', ''));
    expect(error).toMatchObject({ kind: 'Platform', reason: 'upload-owner' });
    expect(error.message).toContain('no such user');
    expect(starts(http)).toMatchObject([{ command: ['chown', '-h', '5:6', '--', '/x'] }]);
  });
});
