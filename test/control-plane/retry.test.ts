import { describe, expect, test } from '@jest/globals';
import type { Entropy } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';
import { imageArn, recordedPlane, refusal, vm } from './plane-recorder.ts';
import { errorOf } from '../helpers/error-of.ts';

/** Entropy that always draws the same byte. */
const constant = (byte: number): Entropy => ({ fill: (bytes) => void bytes.fill(byte) });

describe('retries (client-behaviour 3.2)', () => {
  test('six sends with base delays of 0.2 s doubling to 3.2 s, each stretched by up to itself', async () => {
    const gaps = async (entropy: Entropy) => {
      const { plane, recorder } = recordedPlane({ GetMicrovm: [refusal(500, null)] }, { ports: { entropy } });
      await errorOf(plane.getMicrovm('m'));
      return recorder.calls.slice(1).map((call, index) => Math.round(call.atMs - (recorder.calls[index]?.atMs ?? 0)));
    };
    expect(await gaps(constant(0))).toEqual([200, 400, 800, 1600, 3200]);
    expect(await gaps(constant(0xff))).toEqual([400, 800, 1600, 3200, 6400]);
  });

  test('an unavailable pool does not stop a retry: a delay is no secret', async () => {
    const entropy: Entropy = {
      fill: () => {
        throw new Error('empty');
      },
    };
    const { plane } = recordedPlane(
      { GetMicrovm: [refusal(500, null), { body: vm('RUNNING') }] },
      { ports: { entropy } },
    );
    expect((await plane.getMicrovm('m')).state).toBe('RUNNING');
  });

  test('each send has 60 s, asks for credentials anew and is signed anew', async () => {
    let asked = 0;
    const { plane, recorder } = recordedPlane(
      { GetMicrovm: [refusal(500, null), { body: vm('RUNNING') }] },
      {
        ports: {
          credentials: {
            resolve: async () => {
              asked += 1;
              return { accessKeyId: 'a', secretAccessKey: 'b' };
            },
          },
          signer: {
            sign: async (_request, { atMs }) => ({ 'x-amz-date': String(atMs) }),
          },
        },
      },
    );
    await plane.getMicrovm('m');
    expect(asked).toBe(2);
    expect(recorder.calls.map((call) => call.timeoutMs)).toEqual([60_000, 60_000]);
    expect(new Set(recorder.calls.map((call) => call.headers['x-amz-date'])).size).toBe(2);
  });

  test('an abort ends the sleep between two sends', async () => {
    const clock = manualClock();
    const { plane, recorder } = recordedPlane({ GetMicrovm: [refusal(500, null)] }, { clock });
    const stop = new AbortController();
    const work = plane.getMicrovm('m', { signal: stop.signal });
    await clock.advance(0);
    expect(clock.sleepers).toBe(1);
    stop.abort(new Error('enough'));
    await expect(work).rejects.toThrow('enough');
    expect(clock.sleepers).toBe(0);
    expect(recorder.calls).toHaveLength(1);
  });

  test('a chain that yields no credentials is final and sends nothing', async () => {
    const { plane, recorder } = recordedPlane(
      {},
      { ports: { credentials: { resolve: () => Promise.reject(new Error('no chain')) } } },
    );
    expect(await errorOf(plane.getMicrovm('m'))).toMatchObject({ kind: 'Credentials', message: 'no chain' });
    expect(recorder.calls).toEqual([]);
  });
});

describe('FC-121 Retry-After', () => {
  const throttle = (headers: Record<string, string>) => ({ status: 429, body: {}, headers });
  const gap = async (headers: Record<string, string>) => {
    const { plane, recorder } = recordedPlane(
      { GetMicrovm: [throttle(headers), { body: vm('RUNNING') }] },
      { ports: { entropy: constant(0) } },
    );
    await plane.getMicrovm('m');
    return (recorder.calls[1]?.atMs ?? 0) - (recorder.calls[0]?.atMs ?? 0);
  };

  test.each([
    ['whole seconds are waited out', { 'retry-after': '2' }, 2_000],
    ['20 s are waited out too', { 'retry-after': '20' }, 20_000],
    ['milliseconds of the other header as well', { 'x-amz-retry-after': '1500' }, 1_500],
    ['a word is ignored', { 'retry-after': 'abc' }, 200],
    ['a negative number is ignored', { 'retry-after': '-5' }, 200],
    ['less than the own delay does not shorten it', { 'retry-after': '0' }, 200],
  ])('%s', async (_what, headers, expected) => {
    expect(await gap(headers)).toBe(expected);
  });

  test('a date is measured on the wall clock', async () => {
    const clock = manualClock({ autoAdvance: true, wallMs: Date.UTC(2026, 0, 1) });
    const headers = { 'retry-after': new Date(Date.UTC(2026, 0, 1) + 7_000).toUTCString() };
    const { plane, recorder } = recordedPlane({ GetMicrovm: [throttle(headers), { body: vm('RUNNING') }] }, { clock });
    await plane.getMicrovm('m');
    expect(recorder.calls[1]?.atMs).toBe(7_000);
  });

  test('beyond the cap the error is returned at once and says how long', async () => {
    const { plane, recorder } = recordedPlane({ GetMicrovm: [throttle({ 'retry-after': '3600' })] });
    expect(await errorOf(plane.getMicrovm('m'))).toMatchObject({ kind: 'Retryable', retryAfterMs: 3_600_000 });
    expect(recorder.calls).toHaveLength(1);
  });
});

describe('one intent, several sends', () => {
  test('FC-020 all sends of a launch carry one token and the same bytes; another launch has another', async () => {
    const { plane, recorder } = recordedPlane({
      RunMicrovm: [refusal(500, null), { lost: 'reset' }, { body: vm('PENDING') }],
    });
    await plane.runMicrovm({ imageIdentifier: imageArn });
    await plane.runMicrovm({ imageIdentifier: imageArn });
    const bodies = recorder.calls.map((call) => call.body);
    expect(bodies).toHaveLength(4);
    expect(new Set(bodies.slice(0, 3)).size).toBe(1);
    expect(recorder.body(3)['clientToken']).not.toBe(recorder.body(0)['clientToken']);
    expect(recorder.body(0)['clientToken']).toMatch(/^run-arn:aws:.*:my-img-[0-9a-f]{16}$/);
  });

  test('FC-020 an equal token with other parameters is surfaced as a mistake of the program', async () => {
    const { plane, recorder } = recordedPlane({ RunMicrovm: [refusal(409, 'ConflictException')] });
    const error = await errorOf(plane.runMicrovm({ imageIdentifier: imageArn }, { clientToken: 't1' }));
    expect(error).toMatchObject({ kind: 'Platform', reason: 'intent-conflict' });
    expect(error.message).toContain('other parameters');
    expect(recorder.calls).toHaveLength(1);
  });

  test('FC-019 a launch that failed to its end leaves nothing behind: the next one goes out', async () => {
    const { plane, recorder } = recordedPlane({
      RunMicrovm: [...Array.from({ length: 6 }, () => refusal(500, null)), { body: vm('PENDING') }],
    });
    await errorOf(plane.runMicrovm({ imageIdentifier: imageArn }));
    expect((await plane.runMicrovm({ imageIdentifier: imageArn })).state).toBe('PENDING');
    expect(recorder.count('RunMicrovm')).toBe(7);
  });
});

describe('FC-014 a role that was just made', () => {
  const named = refusal(
    403,
    'AccessDeniedException',
    'User x is not authorized to perform: iam:PassRole on resource y',
  );

  test('opted in, a launch that names the denied action is sent again with the same token', async () => {
    const { plane, recorder } = recordedPlane(
      { RunMicrovm: [named, { body: vm('PENDING') }] },
      { retryAccessDenied: { max: 2 } },
    );
    await plane.runMicrovm({ imageIdentifier: imageArn });
    expect(recorder.calls).toHaveLength(2);
    expect(recorder.calls[1]?.body).toBe(recorder.calls[0]?.body);
  });

  test.each([
    ['not opted in', named, {}, 'RunMicrovm', 1],
    ['a null message', refusal(403, 'AccessDeniedException', null), { retryAccessDenied: { max: 2 } }, 'RunMicrovm', 1],
    [
      'no action named',
      refusal(403, 'AccessDeniedException', 'Denied.'),
      { retryAccessDenied: { max: 2 } },
      'RunMicrovm',
      1,
    ],
    ['another operation', named, { retryAccessDenied: { max: 2 } }, 'GetMicrovm', 1],
    ['denied to the end', named, { retryAccessDenied: { max: 2 } }, 'RunMicrovm', 3],
  ] as const)('%s', async (_what, answer, options, operation, sends) => {
    const { plane, recorder } = recordedPlane({ [operation]: [answer] }, options);
    const work = operation === 'RunMicrovm' ? plane.runMicrovm({ imageIdentifier: imageArn }) : plane.getMicrovm('m');
    expect(await errorOf(work)).toMatchObject({ kind: 'Credentials' });
    expect(recorder.calls).toHaveLength(sends);
  });
});
