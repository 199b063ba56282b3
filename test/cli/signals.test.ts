/** Which signals stop, and when a second one is another one. */
import { describe, expect, test } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { VmchartError } from '../../effects/index.ts';
import { ProcessInterrupts, untilStopped } from '../../adapters/cli/signals.ts';

function listening() {
  const source = new EventEmitter();
  const clock = { now: 1_000_000 };
  const interrupts = new ProcessInterrupts(source, () => clock.now);
  const send = (name: string, afterMs = 0) => {
    clock.now += afterMs;
    source.emit(name, name);
  };
  return { source, interrupts, send };
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'])('%s stops with an error of kind Interrupted that names it', (name) => {
  const { interrupts, send } = listening();
  expect(interrupts.signal.aborted).toBe(false);
  send(name);
  expect(interrupts.signal.reason).toMatchObject({ kind: 'Interrupted', message: `Interrupted by ${name}.` });
  expect(VmchartError.is(interrupts.signal.reason)).toBe(true);
  expect(interrupts.hurry.aborted).toBe(false);
});

describe('a second signal', () => {
  test('within a second is the first one again, as npm sends it', () => {
    const { interrupts, send } = listening();
    send('SIGINT');
    send('SIGINT', 3);
    send('SIGTERM', 997);
    expect(interrupts.hurry.aborted).toBe(false);
  });

  test('after that hurries', () => {
    const { interrupts, send } = listening();
    send('SIGINT');
    send('SIGINT', 1_001);
    expect(interrupts.hurry.aborted).toBe(true);
  });
});

test('nothing is heard once it is closed', () => {
  const { source, interrupts, send } = listening();
  interrupts.close();
  expect(source.eventNames()).toEqual([]);
  send('SIGINT');
  expect(interrupts.signal.aborted).toBe(false);
});

test('for what serves, a signal is the normal end, and a fault in the background is not', async () => {
  const stopped = listening();
  const serving = untilStopped(stopped.interrupts.signal);
  stopped.send('SIGTERM');
  await expect(serving).resolves.toBeUndefined();
  const broken = listening();
  broken.interrupts.stop(new Error('boom'));
  await expect(untilStopped(broken.interrupts.signal)).rejects.toThrow('boom');
});
