import { describe, expect, test } from '@jest/globals';
import { initialTransition, transition } from 'xstate';
import type { ErrorRecord, OutputStreamEvent, StreamPolicy } from 'vmchart/machines';
import { backoffMs, outputStreamMachine } from 'vmchart/machines';
import { expectNamedConfig } from './named-config.ts';

const usual: StreamPolicy = { reconnect: true, maxReconnects: 20, errorOnGap: false };
const error = (retryable: boolean): ErrorRecord => ({
  kind: retryable ? 'Retryable' : 'Protocol',
  code: retryable ? 'ERR_RETRYABLE' : 'ERR_PROTOCOL',
  message: 'it failed',
  retryable,
  wireKind: retryable ? 'Transport' : 'NotFound',
  reason: null,
  requirement: null,
  status: null,
});
const attached: OutputStreamEvent = { type: 'ATTACHED', at: 0 };
const cut: OutputStreamEvent = { type: 'CUT', at: 0 };
const exit: OutputStreamEvent = { type: 'EXIT', at: 0 };
const stop: OutputStreamEvent = { type: 'STOP', at: 0 };
const output = (to: number): OutputStreamEvent => ({ type: 'OUTPUT', to, at: 0 });
const gap = (from: number, to: number): OutputStreamEvent => ({ type: 'GAP', from, to, at: 0 });
const failed = (retryable: boolean): OutputStreamEvent => ({ type: 'FAILED', error: error(retryable), at: 0 });

function after(events: readonly OutputStreamEvent[], policy: Partial<StreamPolicy> = {}, offset = 0) {
  let [snapshot] = initialTransition(outputStreamMachine, { execId: 'e1', offset, policy: { ...usual, ...policy } });
  for (const event of events) [snapshot] = transition(outputStreamMachine, snapshot, event);
  const { value, context } = snapshot;
  return { state: typeof value === 'string' ? value : `Done.${value.Done}`, ...context };
}

describe('the output stream machine', () => {
  test('is a config of names', () => expectNamedConfig(outputStreamMachine));

  test('starts unattached, at the offset that it was given, without a sleep', () => {
    expect(after([], {}, 64)).toMatchObject({ state: 'Reconnect', cursor: 64, attempts: 0, backoffMs: 0 });
  });

  test('sleeps 250 ms, 500 ms, 1 s, 2 s, and 4 s from then on', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 20].map(backoffMs)).toEqual([0, 250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]);
  });

  test.each<[string, readonly OutputStreamEvent[], Partial<StreamPolicy>, object]>([
    [
      'a cut is followed by an attach at the cursor',
      [attached, output(5), cut],
      {},
      { state: 'Reconnect', cursor: 5, attempts: 1, backoffMs: 250 },
    ],
    [
      'progress does not reset the count',
      [attached, cut, attached, output(5), cut],
      {},
      { attempts: 2, backoffMs: 500 },
    ],
    ['without reconnects a cut is the end', [attached, cut], { reconnect: false }, { state: 'Done.Cut', error: null }],
    ['a cut too many is an error', [attached, cut], { maxReconnects: 0 }, { state: 'Done.Failed' }],
    ['a retryable attach failure is tried again', [failed(true)], {}, { state: 'Reconnect', attempts: 1 }],
    [
      'without reconnects it is the end',
      [failed(true)],
      { reconnect: false },
      { state: 'Done.Failed', error: error(true) },
    ],
    [
      'an attach failure too many is an error of its own',
      [failed(true)],
      { maxReconnects: 0 },
      { state: 'Done.Failed' },
    ],
    ['another attach failure ends it', [failed(false)], {}, { state: 'Done.Failed', error: error(false) }],
    ['a retryable read failure is a cut', [attached, output(2), failed(true)], {}, { state: 'Reconnect', cursor: 2 }],
    ['another read failure ends it', [attached, failed(false)], {}, { state: 'Done.Failed', error: error(false) }],
    ['a gap moves the cursor', [attached, gap(2, 900)], {}, { state: 'Attached', cursor: 900 }],
    ['a gap behind the cursor does not move it back', [attached, output(950), gap(2, 900)], {}, { cursor: 950 }],
    ['an output behind the cursor does not move it back', [attached, output(9), output(4)], {}, { cursor: 9 }],
    ['an exit is the only success', [attached, exit], {}, { state: 'Done.Exited', error: null }],
    ['a stop while attached', [attached, output(6), stop], {}, { state: 'Done.Stopped', cursor: 6 }],
    ['a stop while waiting', [attached, cut, stop], {}, { state: 'Done.Stopped' }],
    [
      'nothing moves it once it is done',
      [attached, exit, output(9), cut, failed(false), stop],
      {},
      { state: 'Done.Exited', cursor: 0, error: null },
    ],
  ])('%s', (_title, events, policy, expected) => {
    expect(after(events, policy)).toMatchObject(expected);
  });

  test('a gap can be fatal, and says which bytes are gone', () => {
    const { state, error } = after([attached, gap(2, 900)], { errorOnGap: true });
    expect([state, error]).toEqual([
      'Done.Failed',
      expect.objectContaining({ kind: 'Platform', wireKind: 'OutputGap' }),
    ]);
    expect(error?.message).toContain('[2, 900)');
  });

  test('a cut too many names the exec, the count and the last good offset', () => {
    const { error } = after([attached, output(7), cut, attached, cut], { maxReconnects: 1 });
    expect(error).toMatchObject({ kind: 'Retryable', retryable: true, reason: 'stream-cut' });
    expect(error?.message).toBe('The output stream of exec e1 was cut 2 times; last good offset 7.');
  });

  test('reporting outputs one by one or the last position only comes to the same', () => {
    for (const rest of [[cut], [exit], [stop], [gap(9, 12)], [failed(true)]] as const) {
      expect(after([attached, output(3), output(7), output(9), ...rest])).toEqual(
        after([attached, output(9), ...rest]),
      );
    }
  });
});
