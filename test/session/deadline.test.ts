import { describe, expect, test } from '@jest/globals';
import { bounded } from 'vmchart/effects';
import type { Clock } from 'vmchart/effects';
import { manualClock, systemClock } from 'vmchart/adapters';
import { alarm, checkedDurationMs, longestDeadlineMs } from '../../effects/session/deadline.ts';
import { rejection } from './daemon-recorder.ts';

const never = () => new Promise<never>(() => undefined);
const settled = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

describe('alarms', () => {
  test('a clock without alarms gets them from its sleep', async () => {
    const { now, wallNow, sleep, advance } = manualClock();
    const clock: Clock = { now, wallNow, sleep };
    const fired: string[] = [];
    alarm(clock, 10, () => fired.push('kept'));
    alarm(clock, 10, () => fired.push('cancelled'))();
    await advance(9);
    expect(fired).toEqual([]);
    await advance(1);
    expect(fired).toEqual(['kept']);
  });

  test('a simulated alarm fires when time passes it, in order, and moves no time by itself', async () => {
    for (const clock of [manualClock(), manualClock({ autoAdvance: true })]) {
      const fired: number[] = [];
      clock.alarm?.(20, () => fired.push(clock.now()));
      clock.alarm?.(10, () => fired.push(clock.now()));
      clock.alarm?.(5, () => fired.push(clock.now()))();
      await settled();
      expect([clock.now(), clock.sleepers, fired]).toEqual([0, 0, []]);
      await clock.advance(15);
      expect(fired).toEqual([10]);
      await clock.advance(5);
      expect(fired).toEqual([10, 20]);
    }
  });

  test('a sleep that moves an automatic clock sets off the alarms that it passes', async () => {
    const clock = manualClock({ autoAdvance: true });
    let fired = 0;
    clock.alarm?.(50, () => (fired += 1));
    await clock.sleep(49);
    expect(fired).toBe(0);
    await clock.sleep(1);
    expect(fired).toBe(1);
  });

  test('an alarm of the system beyond the longest timer does not fire at once', async () => {
    const clock = systemClock();
    let fired = 0;
    const cancel = clock.alarm?.(longestDeadlineMs, () => (fired += 1));
    const soon = new Promise<void>((resolve) => {
      clock.alarm?.(5, resolve);
    });
    await soon;
    cancel?.();
    expect(fired).toBe(0);
  });
});

describe('bounded work', () => {
  const expired = () => new Error('too long');

  test('ends at the limit though the work ignores its signal, and a late failure is nobody’s', async () => {
    const unhandled: unknown[] = [];
    const remember = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', remember);
    const clock = manualClock();
    let fail: (error: Error) => void = () => undefined;
    const work = bounded(
      { clock, limitMs: 10, expired },
      async () => await new Promise<void>((_resolve, reject) => (fail = reject)),
    );
    work.catch(() => undefined);
    await clock.advance(10);
    expect((await rejection(work)).message).toBe('too long');
    fail(new Error('late'));
    await settled();
    process.off('unhandledRejection', remember);
    expect(unhandled).toEqual([]);
  });

  test('ends at an abort with its reason, and does not begin after one', async () => {
    const clock = manualClock();
    const abort = new AbortController();
    const work = bounded({ clock, expired, signals: [undefined, abort.signal] }, never);
    abort.abort(new Error('enough'));
    expect((await rejection(work)).message).toBe('enough');
    let begun = false;
    const after = bounded({ clock, expired, signals: [abort.signal] }, async () => void (begun = true));
    expect((await rejection(after)).message).toBe('enough');
    expect(begun).toBe(false);
  });

  test('leaves no alarm and no listener behind', async () => {
    const clock = manualClock();
    let alarms = 0;
    const counting: Clock = {
      ...clock,
      alarm: (ms, fire) => {
        alarms += 1;
        const cancel = clock.alarm?.(ms, fire);
        return () => {
          alarms -= 1;
          cancel?.();
        };
      },
    };
    expect(await bounded({ clock: counting, limitMs: 10, expired }, async () => 7)).toBe(7);
    expect(
      (
        await rejection(
          bounded({ clock: counting, limitMs: 10, expired }, async () => await Promise.reject(new Error('own'))),
        )
      ).message,
    ).toBe('own');
    expect(alarms).toBe(0);
  });
});

test('durations are checked and saturated', () => {
  expect(checkedDurationMs('x', 0)).toBe(0);
  expect(checkedDurationMs('x', 1.5)).toBe(1.5);
  expect(checkedDurationMs('x', Number.MAX_SAFE_INTEGER)).toBe(longestDeadlineMs);
  for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 64 * 1000, '5' as unknown as number]) {
    expect(() => checkedDurationMs('x', bad)).toThrow(
      expect.objectContaining({ kind: 'InvalidArg', reason: 'duration' }),
    );
  }
});
