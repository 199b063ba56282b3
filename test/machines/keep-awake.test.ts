import { describe, expect, test } from '@jest/globals';
import { initialTransition, transition } from 'xstate';
import type { KeepAwakeEvent, KeepAwakePolicy } from 'vmchart/machines';
import { keepAwakeMachine } from 'vmchart/machines';
import { expectNamedConfig } from './named-config.ts';

const usual: KeepAwakePolicy = { intervalMs: 20_000, whileBusy: false, maxDurationMs: null, toleratedErrors: 3 };

const poll = (output: object) => ({ type: 'xstate.done.actor.poll', output });
const busy = (at: number, is = true) => poll({ at, ok: true, running: true, busy: is });
const down = (at: number) => poll({ at, ok: true, running: false });
const cut = (at: number, retryable = true) => poll({ at, ok: false, error: { retryable, kind: 'Retryable' } });
const slept = (at: number) => ({ type: 'xstate.done.actor.sleep', output: { at } });
const stop = (at: number) => ({ type: 'STOP', at });

function after(events: readonly object[], policy: Partial<KeepAwakePolicy> = {}) {
  let [snapshot] = initialTransition(keepAwakeMachine, { policy: { ...usual, ...policy }, startedAt: 0 });
  for (const event of events) [snapshot] = transition(keepAwakeMachine, snapshot, event as KeepAwakeEvent);
  const { value, context } = snapshot;
  return { state: typeof value === 'string' ? value : `Done.${value.Done}`, ...context };
}

describe('the keep-awake machine', () => {
  test('is a config of names', () => expectNamedConfig(keepAwakeMachine));

  test.each<[string, readonly object[], Partial<KeepAwakePolicy>, object]>([
    ['polls first', [], {}, { state: 'Polling', polls: 0 }],
    ['sleeps after an answer', [busy(1)], {}, { state: 'Sleeping', polls: 1, lastBusy: true, sleepMs: 20_000 }],
    ['polls after a sleep', [busy(1), slept(20_001)], {}, { state: 'Polling' }],
    ['goes on though nothing runs', [busy(1, false)], {}, { state: 'Sleeping', lastBusy: false }],
    [
      'ends when nothing runs, where asked to',
      [busy(1, false)],
      { whileBusy: true },
      { state: 'Done.Idle', polls: 1, endedAt: 1 },
    ],
    [
      'ends when the VM does not run, uncounted',
      [busy(1), slept(2), down(3)],
      {},
      { state: 'Done.NotRunning', polls: 1, endedAt: 3 },
    ],
    ['waits a second after a failure', [cut(1)], {}, { state: 'Sleeping', failures: 1, sleepMs: 1_000, polls: 0 }],
    ['an answer forgives failures', [cut(1), slept(2), busy(3)], {}, { failures: 0, sleepMs: 20_000 }],
    ['tolerates no failure, where told so', [cut(1)], { toleratedErrors: 0 }, { state: 'Done.Failed' }],
    ['tolerates no fatal failure', [cut(1, false)], {}, { state: 'Done.Failed' }],
    ['clips a sleep to the longest duration', [busy(15)], { maxDurationMs: 40 }, { sleepMs: 25 }],
    ['clips the sleep after a failure as well', [cut(15)], { maxDurationMs: 40 }, { sleepMs: 25 }],
    [
      'ends after the longest duration, inclusive',
      [busy(1), slept(40)],
      { maxDurationMs: 40 },
      { state: 'Done.Elapsed', endedAt: 40 },
    ],
    ['does not end before it', [busy(1), slept(39)], { maxDurationMs: 40 }, { state: 'Polling' }],
    ['stops while polling', [stop(3)], {}, { state: 'Done.Stopped', endedAt: 3 }],
    ['stops while sleeping', [busy(1), stop(3)], {}, { state: 'Done.Stopped', polls: 1 }],
    [
      'hears nothing once it is done',
      [stop(3), busy(4), slept(5)],
      {},
      { state: 'Done.Stopped', polls: 0, endedAt: 3 },
    ],
  ])('%s', (_title, events, policy, expected) => {
    expect(after(events, policy)).toMatchObject(expected);
  });

  test('gives up after more failures in a row than it tolerates', () => {
    const failures = [cut(1), slept(2), cut(3), slept(4), cut(5), slept(6)];
    expect(after(failures).state).toBe('Polling');
    expect(after([...failures, cut(7)])).toMatchObject({ state: 'Done.Failed', endedAt: 7 });
  });
});
