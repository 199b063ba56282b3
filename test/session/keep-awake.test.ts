import { describe, expect, test } from '@jest/globals';
import { manualClock } from 'vmchart/adapters';
import { DaemonRecorder, healthBody, rejection, testSession } from './daemon-recorder.ts';
import type { Reply } from './daemon-recorder.ts';

const health = (busy: boolean): Reply => ({ body: healthBody({ busy }) });
const cut: Reply = { cut: 'connection reset' };

/** A recorder that also notes at which second each poll came. */
function polled(...replies: Reply[]) {
  const clock = manualClock();
  const http = new DaemonRecorder(...replies);
  const seconds: number[] = [];
  const send = http.send.bind(http);
  http.send = async (request) => {
    seconds.push(clock.now() / 1_000);
    return await send(request);
  };
  return { clock, http, seconds, session: testSession(http, { clock }).session };
}

describe('keep awake', () => {
  test('SES-08 while busy: it ends once nothing runs, and polls without a bearer through the proxy', async () => {
    const { clock, http, session } = polled(health(true), health(true), health(false));
    const awake = session.keepAwake({ whileBusy: true });
    await clock.advance(60_000);
    expect(await awake.finished).toMatchObject({ end: 'idle', polls: 3 });
    expect(http.routes).toEqual(Array<string>(3).fill('GET /v1/health'));
    for (const { headers } of http.requests) {
      expect(headers).toEqual({ 'x-aws-proxy-auth': 'jwe-0', 'x-aws-proxy-port': '9000' });
    }
  });

  test('KPA-01 polls at once and at every interval until it is stopped', async () => {
    const { clock, seconds, session } = polled(...Array<Reply>(9).fill(health(true)));
    const awake = session.keepAwake({ intervalMs: 10_000 });
    await clock.advance(45_000);
    awake.requestStop();
    awake.requestStop();
    expect(await awake.finished).toEqual({
      end: 'stopped',
      polls: 5,
      lastBusy: true,
      elapsedMs: 45_000,
      generation: 1,
    });
    await clock.advance(60_000);
    expect(seconds).toEqual([0, 10, 20, 30, 40]);
  });

  test('KPA-02 busy, busy, idle: three polls in forty seconds', async () => {
    const { clock, session } = polled(health(true), health(true), health(false));
    const awake = session.keepAwake({ whileBusy: true });
    await clock.advance(100_000);
    expect(await awake.finished).toMatchObject({ end: 'idle', polls: 3, elapsedMs: 40_000, lastBusy: false });
  });

  test('KPA-03 idle answers do not end it by themselves; the longest duration clips the last sleep', async () => {
    const { clock, seconds, session } = polled(...Array<Reply>(9).fill(health(false)));
    const awake = session.keepAwake({ maxDurationMs: 50_000 });
    await clock.advance(100_000);
    expect(await awake.finished).toMatchObject({ end: 'elapsed', polls: 3, elapsedMs: 50_000 });
    expect(seconds).toEqual([0, 20, 40]);
  });

  test('KPA-04 three failures in a row are waited through, a fourth is not', async () => {
    const tolerated = polled(cut, cut, health(true), cut, cut, cut, health(true));
    const awake = tolerated.session.keepAwake();
    await tolerated.clock.advance(25_000);
    awake.requestStop();
    expect(await awake.finished).toMatchObject({ end: 'stopped', polls: 2 });
    expect(tolerated.seconds).toEqual([0, 1, 2, 22, 23, 24, 25]);

    const failing = polled(cut, cut, cut, cut);
    const doomed = failing.session.keepAwake();
    await failing.clock.advance(60_000);
    expect(await rejection(doomed.finished)).toMatchObject({ wireKind: 'Transport' });
    expect(failing.seconds).toEqual([0, 1, 2, 3]);
  });

  test('KPA-04 a fatal error is not waited through', async () => {
    const { clock, http, session } = polled({ status: 401 });
    const awake = session.keepAwake();
    await clock.advance(60_000);
    expect(await rejection(awake.finished)).toMatchObject({ wireKind: 'Unauthorized' });
    expect(http.requests.length).toBe(1);
  });

  test('KPA-05 a VM that does not run any more gets no request', async () => {
    const { clock, seconds, session } = polled(...Array<Reply>(9).fill(health(true)));
    const awake = session.keepAwake({ intervalMs: 10_000, isRunning: () => clock.now() < 15_000 });
    await clock.advance(60_000);
    expect(await awake.finished).toMatchObject({ end: 'not-running', polls: 2 });
    expect(seconds).toEqual([0, 10]);
  });

  test('KPA-05 leaving its scope stops it, and so does a signal, even one that aborted before', async () => {
    const { clock, seconds, session } = polled(...Array<Reply>(9).fill(health(true)));
    const abort = new AbortController();
    const signalled = session.keepAwake({ signal: abort.signal });
    let scoped;
    {
      using awake = session.keepAwake();
      scoped = awake.finished;
      await clock.advance(0);
    }
    abort.abort();
    const never = session.keepAwake({ signal: abort.signal });
    await clock.advance(60_000);
    for (const finished of [scoped, signalled.finished, never.finished]) {
      expect(await finished).toMatchObject({ end: 'stopped' });
    }
    expect(seconds).toEqual([0, 0]);
  });

  test.each([
    [{ idleWindowMs: 59_999 }],
    [{ intervalMs: 999 }],
    [{ intervalMs: 31_000 }],
    [{ maxDurationMs: 0 }],
    [{ maxDurationMs: Number.NaN }],
    [{ toleratedErrors: -1 }],
  ])('KPA-05 refuses the policy %j before any poll', async (options) => {
    const { http, session } = polled();
    expect(() => session.keepAwake(options)).toThrow(expect.objectContaining({ kind: 'InvalidArg' }));
    expect(http.requests.length).toBe(0);
  });

  test('half the idle window is the longest interval', () => {
    const { session } = polled(health(true));
    session.keepAwake({ intervalMs: 30_000 }).requestStop();
  });

  test('FC-034 word of idleness from before a resume is not acted on', async () => {
    const told: number[] = [];
    const onIdle = ({ generation }: { generation: number }) => void told.push(generation);
    const late = polled(health(false));
    const send = late.http.send.bind(late.http);
    late.http.send = async (request) => {
      late.session.rebind(late.session.endpoint);
      return await send(request);
    };
    await late.session.keepAwake({ whileBusy: true, onIdle }).finished;
    expect(told).toEqual([]);

    late.http.push(health(false));
    late.http.send = send;
    await late.session.keepAwake({ whileBusy: true, onIdle }).finished;
    expect(told).toEqual([2]);
  });
});
