import { describe, expect, test } from '@jest/globals';
import { referenceSchedule, waitForState } from 'vmchart/effects';
import type { ControlPlane, StateWait } from 'vmchart/effects';
import type { MicrovmDescription } from 'vmchart/machines';
import { manualClock } from 'vmchart/adapters';
import type { ManualClock } from 'vmchart/adapters';
import { recordedPlane, refusal, vm } from './plane-recorder.ts';
import { errorOf } from '../helpers/error-of.ts';
import type { Answer } from './plane-recorder.ts';

const dead = ['TERMINATED', 'TERMINATING'];
const terminal = [...dead, 'SUSPENDED', 'SUSPENDING'];

/** Waits for RUNNING over recorded readings, under the reference schedule. */
function waiting(readings: readonly Answer[], more: Partial<StateWait<MicrovmDescription>> = {}) {
  const { plane, recorder, clock } = recordedPlane({ GetMicrovm: readings });
  const work = waitForState({
    get: (options) => plane.getMicrovm('mvm-abc123', options),
    wanted: ['RUNNING'],
    failOn: terminal,
    timeoutMs: 300_000,
    schedule: referenceSchedule,
    clock,
    microvmId: 'mvm-abc123',
    ...more,
  });
  return { work, recorder, clock, plane };
}

const seen = (...states: string[]): Answer[] => states.map((state) => ({ body: vm(state) }));

describe('the algorithm of a wait (client-behaviour 3.3)', () => {
  test('looks at once, and returns what it wanted', async () => {
    const { work, recorder, clock } = waiting(seen('RUNNING'));
    expect((await work).state).toBe('RUNNING');
    expect(recorder.calls).toHaveLength(1);
    expect(clock.now()).toBe(0);
  });

  test('sleeps the interval between looks', async () => {
    const { work, recorder } = waiting(seen('PENDING', 'PENDING', 'RUNNING'));
    await work;
    expect(recorder.calls.map((call) => call.atMs)).toEqual([0, 5_000, 10_000]);
  });

  test('one that times out looks 61 times in 300 s, and says that nothing was cancelled', async () => {
    const { work, recorder, clock } = waiting(seen('PENDING'));
    const error = await errorOf(work);
    expect(error).toMatchObject({ kind: 'Timeout', microvmId: 'mvm-abc123' });
    for (const token of ['mvm-abc123', 'RUNNING', 'PENDING', '300 s', 'Nothing was cancelled']) {
      expect(error.message).toContain(token);
    }
    expect(recorder.calls).toHaveLength(61);
    expect(clock.now()).toBe(300_000);
  });

  test('never sleeps past its deadline', async () => {
    const { work, recorder, clock } = waiting(seen('PENDING'), { timeoutMs: 12_000 });
    await errorOf(work);
    expect(recorder.calls.map((call) => call.atMs)).toEqual([0, 5_000, 10_000, 12_000]);
    expect(clock.now()).toBe(12_000);
  });

  test('a time limit of 0 looks once', async () => {
    const { work, recorder } = waiting(seen('PENDING'), { timeoutMs: 0 });
    expect(await errorOf(work)).toMatchObject({ kind: 'Timeout' });
    expect(recorder.calls).toHaveLength(1);
  });

  test('an abort ends it between two looks with the reason', async () => {
    const clock = manualClock();
    const { plane, recorder } = recordedPlane({ GetMicrovm: seen('PENDING') }, { clock });
    const stop = new AbortController();
    const work = waitForState({
      get: (options) => plane.getMicrovm('m', options),
      wanted: ['RUNNING'],
      timeoutMs: 60_000,
      clock,
      signal: stop.signal,
    });
    await clock.advance(10);
    stop.abort(new Error('enough'));
    await expect(work).rejects.toThrow('enough');
    expect(recorder.calls).toHaveLength(1);
    expect(clock.sleepers).toBe(0);
  });

  test('a look that asks for it is followed by another at once, past the deadline', async () => {
    let resumed = 0;
    const { work, recorder } = waiting(seen('SUSPENDED', 'SUSPENDED', 'RUNNING'), {
      failOn: dead,
      timeoutMs: 5_000,
      onReading: async (_reading, state) => {
        if (state !== 'SUSPENDED' || resumed > 0) return false;
        resumed += 1;
        return true;
      },
    });
    await work;
    expect(resumed).toBe(1);
    expect(recorder.calls.map((call) => call.atMs)).toEqual([0, 0, 5_000]);
  });
});

describe('a launch that dies', () => {
  test('ends the wait with the state and the reason, which is the only evidence', async () => {
    const { work, recorder } = waiting([
      ...seen('PENDING'),
      { body: vm('TERMINATED', { stateReason: 'run hook returned 500' }) },
    ]);
    const error = await errorOf(work);
    expect(error).toMatchObject({ kind: 'LaunchDied', microvmId: 'mvm-abc123' });
    for (const token of ['mvm-abc123', 'TERMINATED', 'RUNNING', 'run hook returned 500', 'hook']) {
      expect(error.message).toContain(token);
    }
    expect(recorder.calls).toHaveLength(2);
  });

  test('without a reason it says so', async () => {
    expect((await errorOf(waiting(seen('SUSPENDED')).work)).message).toContain('no stateReason');
  });
});

describe('FC-118 states that cannot come', () => {
  test('a dying VM ends the wait at once, also without a list of failures', async () => {
    const { work, recorder } = waiting(seen('TERMINATING'), { failOn: [] });
    expect(await errorOf(work)).toMatchObject({ kind: 'Platform', reason: 'unreachable-state' });
    expect(recorder.calls).toHaveLength(1);
  });

  test.each([
    ['RUNNING', 'PENDING'],
    ['SUSPENDED', 'PENDING'],
    ['TERMINATED', 'RUNNING'],
    ['TERMINATED', 'TERMINATING'],
  ])('from %s waiting for %s is refused', async (from, wanted) => {
    const { work } = waiting(seen(from), { failOn: [], wanted: [wanted] });
    expect(await errorOf(work)).toMatchObject({ reason: 'unreachable-state' });
  });

  test('FC-049 the end of a terminate is TERMINATED; TERMINATING is not', async () => {
    const { work, recorder } = waiting(seen('TERMINATING', 'TERMINATED'), { failOn: [], wanted: ['TERMINATED'] });
    expect((await work).state).toBe('TERMINATED');
    expect(recorder.calls).toHaveLength(2);
  });

  test('nothing to wait for is refused', async () => {
    expect(await errorOf(waiting([], { wanted: [] }).work)).toMatchObject({ kind: 'InvalidArg' });
  });

  test('FC-122 a state that nobody knows is waited through', async () => {
    const { work, recorder } = waiting(seen('HIBERNATING', 'RUNNING'));
    expect((await work).state).toBe('RUNNING');
    expect(recorder.calls).toHaveLength(2);
  });

  test('an answer without a state is an error the third time in a row, no earlier', async () => {
    const { work, recorder } = waiting([{ body: {} }]);
    expect(await errorOf(work)).toMatchObject({ kind: 'Platform', reason: 'invalid-response' });
    expect(recorder.calls).toHaveLength(3);
    const patient = waiting([{ body: {} }, { body: '<p>' }, ...seen('PENDING'), { body: {} }, ...seen('RUNNING')]);
    expect((await patient.work).state).toBe('RUNNING');
  });
});

describe('FC-119 reads that fail inside a wait', () => {
  test('passing failures are read again, with one send each', async () => {
    const { work, recorder } = waiting([{ status: 502, body: '<html>' }, { lost: 'reset' }, ...seen('RUNNING')], {
      timeoutMs: 60_000,
    });
    expect((await work).state).toBe('RUNNING');
    expect(recorder.calls).toHaveLength(3);
  });

  test('each read has at most 10 s and at most what is left', async () => {
    const { work, recorder } = waiting(seen('PENDING', 'PENDING', 'PENDING', 'RUNNING'), { timeoutMs: 16_000 });
    await work;
    expect(recorder.calls.map((call) => call.timeoutMs)).toEqual([10_000, 10_000, 6_000, 1_000]);
  });

  test('they are tolerated until the time is up, and then named', async () => {
    const { work, recorder } = waiting([refusal(503, null)], { timeoutMs: 30_000 });
    const error = await errorOf(work);
    expect(error).toMatchObject({ kind: 'Timeout' });
    expect(error.message).toContain('503');
    expect(recorder.calls.length).toBeGreaterThan(2);
  });

  test('a final failure ends the wait at once', async () => {
    const { work, recorder } = waiting([refusal(403, 'AccessDeniedException')]);
    expect(await errorOf(work)).toMatchObject({ kind: 'Credentials' });
    expect(recorder.calls).toHaveLength(1);
  });

  test('a throttle is given the time that it asks for, even when the schedule is quicker', async () => {
    const throttle: Answer = { status: 429, body: {}, headers: { 'retry-after': '3' } };
    const { work, recorder } = waiting([throttle, ...seen('RUNNING')], { schedule: () => 100 });
    await work;
    expect(recorder.calls.map((call) => call.atMs)).toEqual([0, 3_000]);
  });

  test('a 404 right after a launch is not visible yet, and later it is the end', async () => {
    const missing = refusal(404, 'ResourceNotFoundException');
    const early = waiting([missing, missing, ...seen('RUNNING')], { notFoundGraceMs: 30_000 });
    expect((await early.work).state).toBe('RUNNING');
    const late = waiting([...seen('PENDING'), missing], { notFoundGraceMs: 30_000 });
    expect(await errorOf(late.work)).toMatchObject({ reason: 'not-found' });
    expect(late.recorder.calls).toHaveLength(2);
    const never = waiting([missing], { notFoundGraceMs: 30_000 });
    expect(await errorOf(never.work)).toMatchObject({ reason: 'not-found' });
    expect(never.recorder.calls).toHaveLength(7);
  });
});

describe('the adaptive schedule', () => {
  /** Launches a VM that is RUNNING after `launchMs` and tells how much later a wait notices. */
  async function lagOf(launchMs: number, latencyMs: number): Promise<number> {
    const clock: ManualClock = manualClock({ autoAdvance: true });
    await waitForState({
      get: async () => {
        // The service reads its state in the middle of the call.
        await clock.sleep(latencyMs / 2);
        const state = clock.now() >= launchMs ? 'RUNNING' : 'PENDING';
        await clock.sleep(latencyMs / 2);
        return { state };
      },
      wanted: ['RUNNING'],
      timeoutMs: 60_000,
      clock,
    });
    return clock.now() - launchMs;
  }

  test.each([10, 40, 80, 120, 150])(
    'over launches of 0.3 s to 3 s and calls of %d ms the mean lag is small in every part of the range',
    async (latencyMs) => {
      const lags: { launchMs: number; lagMs: number }[] = [];
      for (let launchMs = 300; launchMs < 3_000; launchMs += 15) {
        lags.push({ launchMs, lagMs: await lagOf(launchMs, latencyMs) });
      }
      const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
      const allowed = ({ launchMs }: { launchMs: number }) => Math.max(150, launchMs / 10);
      expect(mean(lags.map((lag) => lag.lagMs))).toBeLessThanOrEqual(mean(lags.map(allowed)));
      for (const [from, to] of [
        [300, 1_500],
        [1_500, 3_000],
      ] as const) {
        const part = lags.filter((lag) => lag.launchMs >= from && lag.launchMs < to);
        expect(mean(part.map((lag) => lag.lagMs))).toBeLessThanOrEqual(mean(part.map(allowed)));
      }
    },
  );

  test.each([0, 10, 150, 700])('calls of %d ms make at most 25 looks in the first ten seconds', async (takesMs) => {
    const { plane, recorder, clock } = recordedPlane({ GetMicrovm: [{ body: vm('PENDING'), takesMs }] });
    await errorOf(waitFor(plane, clock, 60_000));
    const looks = recorder.calls.map((call) => call.atMs);
    expect(looks.filter((atMs) => atMs <= 10_000).length).toBeLessThanOrEqual(25);
    expect(looks[0]).toBe(0);
    // In the end it looks every five seconds, as the reference does.
    const gaps = looks.slice(1).map((atMs, index) => atMs - (looks[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(5_000 + takesMs);
    expect(gaps.at(-2)).toBeGreaterThan(4_000);
  });
});

async function waitFor(plane: ControlPlane, clock: ManualClock, timeoutMs: number) {
  return waitForState({ get: (options) => plane.getMicrovm('m', options), wanted: ['RUNNING'], timeoutMs, clock });
}
