import { describe, expect, test } from '@jest/globals';
import { completionPlan } from 'vmchart/effects';
import type { OutputEvent } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';
import { DaemonRecorder, execBody, frame, outcome, rejection, testSession } from './daemon-recorder.ts';

const running = { body: execBody('running') };
const exited = (exitCode: number | null, more = {}) => ({ body: execBody('exited', outcome(exitCode, more)) });
const acked = (exitCode: number | null, more = {}) => ({ body: execBody('acked', outcome(exitCode, more)) });
const killed = (yes: boolean) => ({ body: { exec_id: 'e1', killed: yes } });
const cut = { cut: 'connection reset' };
const chunks = (...parts: string[]) => ({ chunks: parts });

/** The last part of each route: `start`, `stream`, `poll`, `ack`, `kill`, `stdin`. */
function steps(http: DaemonRecorder): string[] {
  return http.routes.map((route) => /(start|stream|ack|kill|stdin)(\?.*)?$/.exec(route)?.[1] ?? 'poll');
}

function listening(): { texts: string[]; onOutput: (event: OutputEvent) => void } {
  const texts: string[] = [];
  return { texts, onOutput: (event) => void texts.push(Buffer.from(event.data).toString('utf8')) };
}

describe('to completion', () => {
  test('CMP-01 a streamed run starts, streams and acknowledges', async () => {
    const http = new DaemonRecorder(
      running,
      chunks(frame.output(0, 'one'), frame.output(3, 'two'), frame.exit(6)),
      acked(0, { stdout: 'onetwo' }),
    );
    const { texts, onOutput } = listening();
    const result = await testSession(http).session.run('x', { onOutput });
    expect(steps(http)).toEqual(['start', 'stream', 'ack']);
    expect([texts, result.stdout, result.posixExitCode, result.notes]).toEqual([['one', 'two'], 'onetwo', 0, []]);
  });

  test('CMP-02 a stream that is cut for good leaves the result to the poll', async () => {
    const http = new DaemonRecorder(running, chunks(frame.output(0, 'o')), exited(0), acked(0, { stdout: 'one' }));
    const { texts, onOutput } = listening();
    const result = await testSession(http).session.run('x', { onOutput, stream: { reconnect: false } });
    expect(steps(http)).toEqual(['start', 'stream', 'poll', 'ack']);
    expect([texts, result.stdout]).toEqual([['o'], 'one']);
  });

  test('CMP-03 an acknowledgement that is cut after the exit is made good', async () => {
    const http = new DaemonRecorder(running, chunks(frame.exit(0, 7)), cut, exited(7), acked(7));
    const result = await testSession(http).session.run('x', listening());
    expect(steps(http)).toEqual(['start', 'stream', 'ack', 'poll', 'ack']);
    expect(result.posixExitCode).toBe(7);
  });

  test('CMP-04 a callback that has had enough still gets the whole result', async () => {
    const http = new DaemonRecorder(
      running,
      chunks(frame.output(0, 'one') + frame.output(3, 'two') + frame.exit(6)),
      exited(0),
      acked(0, { stdout: 'onetwo' }),
    );
    const seen: OutputEvent[] = [];
    const result = await testSession(http).session.run('x', {
      onOutput: (event) => {
        seen.push(event);
        return 'stop';
      },
    });
    expect([seen.length, steps(http).at(-1), result.stdout]).toEqual([1, 'ack', 'onetwo']);
  });

  test('CMP-05 without a callback nothing is streamed; a signal is 128 and its number', async () => {
    const http = new DaemonRecorder(running, exited(null, { signal: 11 }), acked(null, { signal: 11 }));
    expect((await testSession(http).session.run('x')).posixExitCode).toBe(139);
    expect(steps(http)).toEqual(['start', 'poll', 'ack']);
  });

  test('CMP-06 a dropped acknowledgement is made again after a look at the phase', async () => {
    const http = new DaemonRecorder(running, exited(0), cut, exited(0), acked(0));
    const result = await testSession(http).session.run('x');
    expect(steps(http)).toEqual(['start', 'poll', 'ack', 'poll', 'ack']);
    expect(result.clientDeadline).toBeNull();
  });

  test('CMP-07 the client deadline kills, then collects', async () => {
    const http = new DaemonRecorder(
      running,
      running,
      running,
      running,
      killed(true),
      exited(null, { signal: 15 }),
      acked(null, { signal: 15 }),
    );
    const result = await testSession(http).session.run('x', { deadlineMs: 1_000, graceMs: 1_000 });
    expect(steps(http)).toEqual(['start', 'poll', 'poll', 'poll', 'kill', 'poll', 'ack']);
    expect(result).toMatchObject({
      posixExitCode: 124,
      synthesized: false,
      clientDeadline: { afterMs: 2_000, kill: { kind: 'signalled' }, ackError: null },
    });
    expect(result.notes.join()).toContain('client deadline of 2s');
  });

  test('CMP-08 a stalled stream ends at the client deadline', async () => {
    const clock = manualClock();
    const http = new DaemonRecorder(
      running,
      { chunks: [frame.output(0, 'x')], after: 'stall' },
      killed(true),
      exited(null, { signal: 15 }),
      acked(null, { signal: 15 }),
    );
    const run = testSession(http, { clock }).session.run('x', { deadlineMs: 1_000, graceMs: 500, ...listening() });
    await clock.advance(1_500);
    const result = await run;
    expect(steps(http)).toEqual(['start', 'stream', 'kill', 'poll', 'ack']);
    expect([result.posixExitCode, http.openStreams]).toEqual([124, 0]);
    expect(result.notes.join()).toContain('client deadline of 1.5s');
  });

  test('CMP-09 a failed kill and a clean end are no timeout', async () => {
    const http = new DaemonRecorder(running, running, running, { status: 500 }, exited(0), acked(0));
    const result = await testSession(http).session.run('x', { waitMs: 1_000 });
    expect(result).toMatchObject({
      posixExitCode: 0,
      synthesized: false,
      clientDeadline: { kill: { kind: 'failed' } },
    });
  });

  test('CMP-10 a killed command that never ends gets a made-up result that says 124', async () => {
    const http = new DaemonRecorder(running, running, running, killed(true), running, running);
    const result = await testSession(http).session.run('x', { waitMs: 1_000, graceMs: 1_000 });
    expect(result).toMatchObject({ posixExitCode: 124, synthesized: true, phase: 'running', exitCode: null });
    expect(steps(http).at(-1)).toBe('poll');
    expect(result.notes.join()).toContain('synthesized');
  });

  test('CMP-11 a failed kill and failed polls are named in the notes', async () => {
    const http = new DaemonRecorder(running, running, running, { cut: 'no route to kill' }, cut, cut);
    const result = await testSession(http).session.run('x', { waitMs: 1_000, graceMs: 1_000 });
    expect(result).toMatchObject({ posixExitCode: 124, synthesized: true });
    expect(result.notes.join()).toContain('no route to kill');
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 0])('CMP-12 refuses a deadline of %d', async (deadlineMs) => {
    const http = new DaemonRecorder();
    expect(await rejection(testSession(http).session.run('x', { deadlineMs }))).toMatchObject({ kind: 'InvalidArg' });
    expect(http.requests.length).toBe(0);
  });

  test('CMP-12 the client deadline is the guest’s and the grace, or eight hours', () => {
    expect(completionPlan({ deadlineMs: 30_000, graceMs: 60_000 }).clientDeadlineMs).toBe(90_000);
    expect(completionPlan({}).clientDeadlineMs).toBe(28_800_000);
    expect(completionPlan({ graceMs: 5 }).clientDeadlineMs).toBe(28_800_000);
  });

  test('FC-080 once the exit is known, a lost record is a note and not a failure', async () => {
    const clock = manualClock();
    const http = new DaemonRecorder(
      running,
      chunks(frame.output(0, 'streamed'), frame.exit(8)),
      cut,
      cut,
      cut,
      cut,
      cut,
    );
    const run = testSession(http, { clock }).session.run('x', { waitMs: 1_000, graceMs: 2_000, ...listening() });
    await clock.advance(60_000);
    const result = await run;
    expect(result).toMatchObject({
      exitCode: 0,
      posixExitCode: 0,
      succeeded: true,
      stdout: 'streamed',
      clientDeadline: null,
    });
    expect(result.notes.join()).toContain('log-fetch-failed');
    expect(steps(http)).not.toContain('kill');
  });

  test('FC-029 an active deadline stands still while the VM is suspended, and nothing is asked of it', async () => {
    const clock = manualClock();
    const http = new DaemonRecorder(running, ...Array<object>(45).fill(running));
    const { session } = testSession(http, { clock });
    const run = session.run('x', { deadlineMs: 30_000, deadlinePolicy: 'active' });
    await clock.advance(10_000);
    session.pause();
    await clock.advance(1_000);
    const asked = http.requests.length;
    await clock.advance(123_000);
    expect([clock.now(), http.requests.length]).toEqual([134_000, asked]);
    session.rebind(session.endpoint);
    await clock.advance(19_000);
    expect(steps(http)).not.toContain('kill');
    http.send = async (request) => {
      http.requests.push(request);
      const { body } =
        { kill: killed(true), ack: acked(null, { signal: 15 }) }[steps(http).at(-1) ?? ''] ??
        exited(null, { signal: 15 });
      const answer = steps(http).includes('kill') ? body : execBody('running');
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) };
    };
    await clock.advance(1_000);
    expect(steps(http)).toContain('kill');
    expect([await run, clock.now()]).toMatchObject([
      { posixExitCode: 124, clientDeadline: { afterMs: 30_000 } },
      154_000,
    ]);
    expect(http.json(0)['timeout_sec']).toBeNull();
  });

  test('FC-029 a wall deadline is the daemon’s, which fires right at the resume', async () => {
    const clock = manualClock();
    const timedOut = { timed_out: true, signal: 15 };
    const http = new DaemonRecorder(running, ...Array<object>(11).fill(running));
    const { session } = testSession(http, { clock });
    const run = session.run('x', { deadlineMs: 30_000 });
    await clock.advance(10_000);
    session.pause();
    await clock.advance(124_000);
    http.push(exited(null, timedOut), acked(null, timedOut));
    session.rebind(session.endpoint);
    await clock.advance(1_000);
    expect(await run).toMatchObject({ timedOut: true, posixExitCode: 124, clientDeadline: null });
    expect([http.json(0)['timeout_sec'], clock.now()]).toEqual([30, 135_000]);
  });

  test('a VM that answers a command of its own accord is awake: the run goes on', async () => {
    const http = new DaemonRecorder(running, exited(0), acked(0));
    const { session } = testSession(http);
    session.pause();
    expect((await session.run('x')).posixExitCode).toBe(0);
    expect(session.transport.pause.paused).toBe(false);
  });

  test('a callback that throws ends the run with its own error', async () => {
    const http = new DaemonRecorder(running, chunks(frame.output(0, 'x'), frame.exit(1)));
    const onOutput = () => {
      throw new Error('my own');
    };
    expect((await rejection(testSession(http).session.run('x', { onOutput }))).message).toBe('my own');
    expect(http.openStreams).toBe(0);
  });

  test('input is written in order and closed, while the command is waited for', async () => {
    const http = new DaemonRecorder();
    const written: unknown[] = [];
    http.send = async (request) => {
      http.requests.push(request);
      const step = steps(http).at(-1);
      if (step === 'stdin') written.push(JSON.parse(String(request.body)));
      const body =
        step === 'stdin'
          ? { exec_id: 'e1', written: 1, eof: false }
          : step === 'ack'
            ? acked(0).body
            : written.length === 3 && step === 'poll'
              ? exited(0).body
              : running.body;
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) };
    };
    async function* pieces() {
      yield Buffer.from('a');
      yield Buffer.from('b');
    }
    const result = await testSession(http).session.run('cat', { input: pieces() });
    expect([result.posixExitCode, result.notes]).toEqual([0, []]);
    expect(http.json(0)['stdin']).toBe(true);
    expect(written).toEqual([{ data_b64: 'YQ==' }, { data_b64: 'Yg==' }, { signal: 'eof' }]);
  });

  test.each([
    [410, 0],
    [408, 1],
  ])('an input that is answered %i leaves %i notes', async (status, notes) => {
    const http = new DaemonRecorder();
    let fed = false;
    http.send = async (request) => {
      http.requests.push(request);
      const step = steps(http).at(-1);
      if (step === 'stdin') fed = true;
      const body = step === 'ack' ? acked(0).body : fed && step === 'poll' ? exited(0).body : running.body;
      return { status: step === 'stdin' ? status : 200, headers: {}, body: Buffer.from(JSON.stringify(body)) };
    };
    const result = await testSession(http).session.run('true', { input: 'never read' });
    expect(result.notes.length).toBe(notes);
    expect(steps(http).filter((step) => step === 'stdin').length).toBe(1);
  });
});
