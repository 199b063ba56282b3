import { describe, expect, test } from '@jest/globals';
import { ExecWaitTimeout, execIdAt, posixExitCode } from 'vmchart/effects';
import type { ExecEvent } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';
import { DaemonRecorder, execBody, frame, outcome, rejection, testSession } from './daemon-recorder.ts';

const running = { body: execBody('running') };
const exited = (exitCode: number | null, more = {}) => ({ body: execBody('exited', outcome(exitCode, more)) });
const acked = (exitCode: number | null, more = {}) => ({ body: execBody('acked', outcome(exitCode, more)) });
const cut = { cut: 'connection reset' };
const chunks = (...parts: string[]) => ({ chunks: parts });

async function collected(stream: AsyncIterable<ExecEvent>): Promise<ExecEvent[]> {
  const events: ExecEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

function textOf(events: readonly ExecEvent[]): string {
  return Buffer.concat(events.flatMap((event) => (event.type === 'output' ? [event.data] : []))).toString('utf8');
}

function streamOffsets(http: DaemonRecorder): number[] {
  return http.routes.flatMap((route) => {
    const match = /\/stream\?offset=(\d+)$/.exec(route);
    return match === null ? [] : [Number(match[1])];
  });
}

describe('streams', () => {
  test('EXE-01 a cut stream is attached again at the byte where it was cut', async () => {
    const http = new DaemonRecorder(
      chunks(frame.output(0, 'hello') + frame.output(5, 'world')),
      chunks(frame.output(10, 'again') + frame.exit(15)),
    );
    const events = await collected(testSession(http).session.exec('e1').stream());
    expect(textOf(events)).toBe('helloworldagain');
    expect(streamOffsets(http)).toEqual([0, 10]);
    expect(events.at(-1)).toMatchObject({ type: 'exit', exitCode: 0, offset: 15 });
  });

  test('EXE-02 an exit ends the stream after one request', async () => {
    const http = new DaemonRecorder(chunks(frame.output(0, 'x'), frame.exit(1)));
    const stream = testSession(http).session.exec('e1').stream();
    expect((await collected(stream)).map(({ type }) => type)).toEqual(['output', 'exit']);
    expect([http.requests.length, stream.end]).toEqual([1, { reason: 'Exited', cursor: 1 }]);
    expect(http.requests[0]?.headers).toMatchObject({ accept: 'text/event-stream', 'x-aws-proxy-auth': 'jwe-0' });
  });

  test('EXE-03 a gap is an event, and the next attach starts behind it', async () => {
    const http = new DaemonRecorder(
      chunks(frame.output(0, 'AA') + frame.gap(2, 900)),
      chunks(frame.output(900, 'B') + frame.exit(901)),
    );
    const events = await collected(testSession(http).session.exec('e1').stream());
    expect(events[1]).toEqual({ type: 'gap', from: 2, to: 900 });
    expect(streamOffsets(http)).toEqual([0, 900]);
  });

  test('EXE-04 a gap can be an error', async () => {
    const http = new DaemonRecorder(chunks(frame.output(0, 'AA') + frame.gap(2, 900) + frame.output(900, 'B')));
    const seen: ExecEvent[] = [];
    const stream = testSession(http).session.exec('e1').stream({ errorOnGap: true });
    const error = await rejection(stream.drive((event) => void seen.push(event)));
    expect(error).toMatchObject({ wireKind: 'OutputGap', kind: 'Platform' });
    expect(error.message).toContain('[2, 900)');
    expect([seen.length, http.openStreams, stream.end]).toEqual([1, 0, null]);
  });

  test('EXE-05 a failed attach is repeated with headers of its own, and the token is reused while it is fresh', async () => {
    const http = new DaemonRecorder(cut, chunks(frame.exit(0)));
    const { session } = testSession(http);
    await collected(session.exec('e1').stream());
    expect([http.requests.length, session.proxyAuth?.mintCount]).toEqual([2, 1]);
  });

  test('EXE-05 an attach after the refresh age carries a new token', async () => {
    const http = new DaemonRecorder(chunks(frame.output(0, 'x')), chunks(frame.exit(1)));
    const { session, clock } = testSession(http);
    for await (const event of session.exec('e1').stream()) {
      if (event.type === 'output') await clock.advance(1_800_001);
    }
    expect(http.requests.map(({ headers }) => headers['x-aws-proxy-auth'])).toEqual(['jwe-0', 'jwe-1']);
  });

  test('EXE-06 an unknown exec is an error at once', async () => {
    const http = new DaemonRecorder({ status: 404 });
    expect(await rejection(collected(testSession(http).session.exec('e1').stream()))).toMatchObject({
      wireKind: 'NotFound',
    });
    expect([http.requests.length, http.openStreams]).toEqual([1, 0]);
  });

  test('EXE-07 reconnects are limited over the whole life of a stream', async () => {
    const http = new DaemonRecorder(chunks(frame.output(0, 'ab')), chunks(), chunks());
    const error = await rejection(collected(testSession(http).session.exec('e1').stream({ maxReconnects: 2 })));
    expect(error).toMatchObject({ retryable: true, reason: 'stream-cut' });
    expect(error.message).toContain('last good offset 2');
    expect(http.requests.length).toBe(3);
  });

  test('EXE-08 without reconnects a cut ends quietly, and says that it was one', async () => {
    const http = new DaemonRecorder(chunks(frame.output(0, 'seven b')), chunks(frame.output(0, 'seven b')));
    const { session } = testSession(http);
    expect((await collected(session.exec('e1').stream({ reconnect: false }))).length).toBe(1);
    expect(http.requests.length).toBe(1);
    expect(await session.exec('e1').follow(() => undefined, { reconnect: false })).toEqual({
      reason: 'Cut',
      cursor: 7,
    });
  });

  test('EXE-09 a stream can start at an offset', async () => {
    const http = new DaemonRecorder(chunks(frame.exit(64)));
    await collected(testSession(http).session.exec('e1').stream({ offset: 64 }));
    expect(streamOffsets(http)).toEqual([64]);
  });

  test('EXE-16 a consumer that stops is told so, with the cursor behind what it got', async () => {
    const http = new DaemonRecorder(chunks(frame.output(0, 'first.') + frame.output(6, 'second') + frame.exit(12)));
    const seen: ExecEvent[] = [];
    const end = await testSession(http)
      .session.exec('e1')
      .follow((event) => {
        seen.push(event);
        return 'stop';
      });
    expect(end).toEqual({ reason: 'Stopped', cursor: 6 });
    expect([seen.length, http.openStreams]).toEqual([1, 0]);
  });

  test('EXE-17 a slow consumer gets everything in order', async () => {
    const parts = [0, 2, 4, 6].map((offset) => frame.output(offset, `${offset}.`));
    const http = new DaemonRecorder(chunks(...parts, frame.exit(8)));
    const seen: string[] = [];
    const end = await testSession(http)
      .session.exec('e1')
      .follow(async (event) => {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        seen.push(event.type === 'output' ? Buffer.from(event.data).toString() : event.type);
      });
    expect([seen, end.cursor]).toEqual([['0.', '2.', '4.', '6.', 'exit'], 8]);
  });

  test('FC-077 a body that ends without an exit is never a success', async () => {
    const http = new DaemonRecorder(chunks(frame.output(0, 'hi')), chunks(), chunks());
    expect(await rejection(collected(testSession(http).session.exec('e1').stream({ maxReconnects: 2 })))).toMatchObject(
      { reason: 'stream-cut' },
    );

    const again = new DaemonRecorder(chunks(frame.output(0, 'hi')), chunks(frame.exit(2, 3)));
    expect((await collected(testSession(again).session.exec('e1').stream())).at(-1)).toMatchObject({ exitCode: 3 });
    expect(streamOffsets(again)).toEqual([0, 2]);
  });

  test('FC-076 silence is a cut: the control plane tells whether there is anything left to attach to', async () => {
    for (const state of ['RUNNING', 'TERMINATED']) {
      const clock = manualClock();
      const http = new DaemonRecorder({ chunks: [frame.output(0, 'x')], after: 'stall' }, { chunks: [frame.exit(1)] });
      const { session } = testSession(http, { clock, vmState: async () => state });
      const work = collected(session.exec('e1').stream({ idleTimeoutMs: 30_000 }));
      work.catch(() => undefined);
      await clock.advance(29_999);
      expect(http.requests.length).toBe(1);
      await clock.advance(1_000);
      if (state === 'RUNNING') {
        expect((await work).length).toBe(2);
        expect(streamOffsets(http)).toEqual([0, 1]);
      } else {
        expect(await rejection(work)).toMatchObject({ reason: 'gone', kind: 'Interrupted' });
        expect(http.requests.length).toBe(1);
      }
    }
  });

  test('FC-076 an abort settles a silent stream at once and closes its connection', async () => {
    const clock = manualClock();
    const http = new DaemonRecorder({ chunks: [frame.output(0, 'x')], after: 'stall' });
    const abort = new AbortController();
    const work = collected(testSession(http, { clock }).session.exec('e1').stream({ signal: abort.signal }));
    work.catch(() => undefined);
    await clock.advance(10_000);
    abort.abort();
    expect(await rejection(work)).toMatchObject({ name: 'AbortError' });
    expect([clock.now(), http.openStreams]).toEqual([10_000, 0]);
  });

  test('FC-076 a keep-alive feeds the idle limit, and a slow consumer does not starve it', async () => {
    const clock = manualClock();
    const http = new DaemonRecorder(chunks(frame.output(0, 'x'), ':\n\n', frame.exit(1)));
    const seen: string[] = [];
    for await (const event of testSession(http, { clock }).session.exec('e1').stream({ idleTimeoutMs: 1_000 })) {
      seen.push(event.type);
      await clock.advance(5_000);
    }
    expect([seen, http.requests.length]).toEqual([['output', 'exit'], 1]);
  });

  test('a stream that is cut by a suspend is attached again only after the resume', async () => {
    const clock = manualClock();
    const http = new DaemonRecorder({ chunks: [frame.output(0, 'x')], after: 'cut' });
    const { session } = testSession(http, { clock });
    const work = collected(session.exec('e1').stream());
    await clock.advance(0);
    session.pause();
    await clock.advance(60_000);
    expect(http.requests.length).toBe(1);
    session.rebind(session.endpoint);
    http.push({ chunks: [frame.exit(1)] });
    await clock.advance(1_000);
    expect((await work).length).toBe(2);
    expect(streamOffsets(http)).toEqual([0, 1]);
  });

  test('a wait that begins while the VM is suspended asks once, and then not before the resume', async () => {
    const clock = manualClock();
    const http = new DaemonRecorder({ status: 502 });
    const { session } = testSession(http, { clock });
    session.pause();
    const wait = session.exec('e1').wait();
    await clock.advance(60_000);
    expect(http.requests.length).toBe(1);
    http.push(exited(0));
    session.rebind(session.endpoint);
    await clock.advance(1_000);
    expect((await wait).exitCode).toBe(0);
  });

  test('FC-094 leaving after three events closes the connection and reads no further', async () => {
    let written = 0;
    const closed = { count: 0 };
    const http = new DaemonRecorder();
    http.openStream = async () => ({
      status: 200,
      headers: {},
      close: () => void (closed.count += 1),
      body: (async function* () {
        for (; written < 1_000; written += 1) yield Buffer.from(frame.output(written * 65_536, Buffer.alloc(65_536)));
      })(),
    });
    let seen = 0;
    for await (const event of testSession(http).session.exec('e1').stream()) {
      if (event.type === 'output') seen += 1;
      if (seen === 3) break;
    }
    expect(written).toBeLessThanOrEqual(5);
    expect(closed.count).toBeGreaterThan(0);
    expect(http.routes.filter((route) => route.includes('kill'))).toEqual([]);
  });

  test('an output that cannot be decoded is an error naming its offset', async () => {
    const http = new DaemonRecorder(chunks('event: output\ndata: {"offset":7,"stream":"stdout","output":"%%%="}\n\n'));
    const error = await rejection(collected(testSession(http).session.exec('e1').stream({ offset: 7 })));
    expect(error.wireKind).toBe('ProtocolError');
    expect(error.message).toContain('offset 7');
  });

  test('unknown events, unreadable JSON and repeated bytes are passed over', async () => {
    const http = new DaemonRecorder(
      chunks(
        'event: news\ndata: {}\n\nevent: output\ndata: {\n\nevent: exit\ndata: {}\n\n',
        frame.output(0, 'abc'),
        frame.output(1, 'bcd'),
        frame.output(0, 'ab'),
        frame.exit(4),
      ),
    );
    expect(textOf(await collected(testSession(http).session.exec('e1').stream()))).toBe('abcd');
  });
});

describe('commands', () => {
  test('EXE-10 waitAndAck returns what the acknowledgement carries', async () => {
    const http = new DaemonRecorder(running, exited(0, { stdout: 'poll' }), acked(0, { stdout: 'ack' }));
    const result = await testSession(http).session.exec('e1').waitAndAck();
    expect(result).toMatchObject({ stdout: 'ack', done: true, succeeded: true });
    expect(http.routes).toEqual(['GET /v1/exec/e1', 'GET /v1/exec/e1', 'POST /v1/exec/e1/ack']);
  });

  test('EXE-11 a command that was acknowledged before is not acknowledged again', async () => {
    const http = new DaemonRecorder({ body: execBody('acked') });
    const result = await testSession(http).session.exec('e1').waitAndAck();
    expect([result.phase, result.outputReleased, http.requests.length]).toEqual(['acked', true, 1]);
  });

  test('EXE-12 a wait swallows a cut', async () => {
    const http = new DaemonRecorder(cut, exited(3, { stderr: 'bad' }));
    expect(await testSession(http).session.exec('e1').wait()).toMatchObject({
      exitCode: 3,
      stderr: 'bad',
      succeeded: false,
    });
  });

  test('EXE-13 a wait that elapses says so and leaves the command alone', async () => {
    const http = new DaemonRecorder(running, running, running, running);
    const error = await rejection(testSession(http).session.exec('e1').wait({ waitMs: 3_000 }));
    expect(error).toMatchObject({ kind: 'Timeout', wireKind: 'ExecTimeout' });
    expect(error.message).toContain('still running');
    expect(error.message).toContain('re-polled');
    expect(http.requests.length).toBe(4);
  });

  test('EXE-14 input is base64, and its end is explicit', async () => {
    const answer = { body: { exec_id: 'e1', written: 3, eof: true } };
    const http = new DaemonRecorder(answer, answer);
    const handle = testSession(http).session.exec('e1');
    expect(await handle.writeStdin('go\n', { eof: true })).toEqual({ writtenBytes: 3, eof: true });
    await handle.closeStdin();
    expect([http.json(0), http.json(1)]).toEqual([{ data_b64: 'Z28K', signal: 'eof' }, { signal: 'eof' }]);
  });

  test('input for a command that was started without any says how to start it', async () => {
    const http = new DaemonRecorder({
      status: 409,
      headers: { 'content-type': 'application/json' },
      body: { error: 'stdin_not_requested', detail: 'the exec was started without stdin' },
    });
    expect(await rejection(testSession(http).session.exec('e1').writeStdin('go'))).toMatchObject({
      wireKind: 'Conflict',
      reason: 'stdin_not_requested',
      suggestions: ['Start the command with `stdin: true`.'],
    });
  });

  test('EXE-15 a kill tells whether there was a group', async () => {
    const http = new DaemonRecorder(
      { body: { exec_id: 'e1', killed: true } },
      { body: { exec_id: 'e1', killed: false } },
    );
    const handle = testSession(http).session.exec('e1');
    expect([await handle.kill(), await handle.kill()]).toEqual([true, false]);
  });

  test('EXE-18 the longest wait there is works', async () => {
    const http = new DaemonRecorder(running, exited(0));
    const wait = testSession(http).session.exec('e1').wait({ waitMs: Number.MAX_SAFE_INTEGER });
    expect((await wait).exitCode).toBe(0);
    expect(http.requests.length).toBe(2);
  });

  test('FC-074 a client wait names the command and sends no kill unless asked to', async () => {
    const left = new DaemonRecorder(running, running, running);
    const error = await rejection(testSession(left).session.exec('e1').wait({ waitMs: 2_000 }));
    expect(error).toBeInstanceOf(ExecWaitTimeout);
    expect(error).toMatchObject({ reason: 'exec-wait-timeout', execId: 'e1', stillRunning: true, kill: null });
    expect(left.routes.filter((route) => route.startsWith('POST'))).toEqual([]);

    const killed = new DaemonRecorder(running, running, running, { body: { exec_id: 'e1', killed: true } });
    const asked = testSession(killed).session.exec('e1').wait({ waitMs: 2_000, killOnTimeout: true });
    expect(await rejection(asked)).toMatchObject({ stillRunning: false, kill: { kind: 'signalled' } });
    expect(killed.routes.filter((route) => route.startsWith('POST'))).toEqual(['POST /v1/exec/e1/kill']);
  });

  test('FC-074 the guest deadline is the result’s to tell', async () => {
    const http = new DaemonRecorder(
      running,
      exited(null, { timed_out: true, signal: 15 }),
      acked(null, { timed_out: true, signal: 15 }),
    );
    const result = await testSession(http).session.run('sleep 9', { deadlineMs: 2_000 });
    expect(result).toMatchObject({ timedOut: true, posixExitCode: 124, signal: 15, clientDeadline: null });
    expect(http.json(0)['timeout_sec']).toBe(2);
  });

  test('FC-089 start, poll, acknowledge are separate, and a second acknowledgement is no exception', async () => {
    const again = {
      status: 409,
      headers: { 'content-type': 'application/json' },
      body: { error: 'already_acked', detail: '' },
    };
    const http = new DaemonRecorder(
      running,
      running,
      exited(0, { stdout: 'out' }),
      acked(0, { stdout: 'out' }),
      again,
      again,
      {
        body: execBody('acked'),
      },
    );
    const handle = await testSession(http).session.start('true', { execId: 'e1' });
    expect(await handle.poll()).toMatchObject({ phase: 'running', done: false, stdout: '' });
    expect(await handle.poll()).toMatchObject({ phase: 'exited', stdout: 'out' });
    expect(await handle.ack()).toMatchObject({ phase: 'acked', stdout: 'out', outputReleased: false });
    expect(await handle.ack()).toMatchObject({ phase: 'acked', outputReleased: true });
    expect(await rejection(handle.ack({ whenAcked: 'throw' }))).toMatchObject({
      wireKind: 'Conflict',
      reason: 'already_acked',
    });
    expect(await handle.wait()).toMatchObject({ outputReleased: true });
  });

  test('an exec id is nanoseconds with a counter folded in', () => {
    expect(execIdAt(0x1234n, 0n)).toBe('x-0000000000001234');
    expect(execIdAt(0x1234n, 1n)).toBe('x-0000010000001234');
    expect(execIdAt(2n ** 64n + 5n, 1n << 24n)).toBe('x-0000000000000005');
  });

  test('the POSIX code follows the table', () => {
    const plain = { exitCode: null, signal: null, timedOut: false };
    const deadline = (kind: 'signalled' | 'already-gone' | 'failed', ackError: string | null = null) => ({
      afterMs: 1,
      ackError,
      kill: kind === 'failed' ? ({ kind, message: 'x' } as const) : { kind },
    });
    expect(posixExitCode({ ...plain, exitCode: 0 })).toBe(0);
    expect(posixExitCode({ ...plain, exitCode: 3 })).toBe(3);
    expect(posixExitCode({ ...plain, signal: 9 })).toBe(137);
    expect(posixExitCode({ ...plain, signal: 11 })).toBe(139);
    expect(posixExitCode({ ...plain, signal: 15, timedOut: true })).toBe(124);
    expect(posixExitCode({ ...plain, signal: 9, timedOut: true })).toBe(124);
    expect(posixExitCode({ ...plain, exitCode: 0, timedOut: true })).toBe(124);
    expect(posixExitCode({ ...plain, signal: 15 }, deadline('signalled'))).toBe(124);
    expect(posixExitCode({ ...plain, exitCode: 0 }, deadline('already-gone'))).toBe(0);
    expect(posixExitCode({ ...plain, signal: 11 }, deadline('failed'))).toBe(139);
    expect(posixExitCode(plain, deadline('already-gone', 'lost'))).toBe(124);
    expect(posixExitCode(plain)).toBeNull();
  });
});
