/** Which signals stop, and when a second one is another one. */
import { describe, expect, test } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { VmchartError } from '../../effects/index.ts';
import { EarlySignals } from '../../adapters/cli/early-signals.ts';
import { command } from '../../adapters/cli/command.ts';
import { ProcessInterrupts, untilStopped } from '../../adapters/cli/signals.ts';
import { runProgram } from '../../adapters/cli/program.ts';
import { Terminal } from '../../adapters/cli/output/terminal.ts';
import { HandSignals, Kept, cli, envelopeOf, json } from './harness.ts';

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

describe('a signal while the program is loaded', () => {
  test('is kept for whoever listens first, and told once', () => {
    const source = new EventEmitter();
    const early = new EarlySignals(source);
    source.emit('SIGTERM', 'SIGTERM');
    const interrupts = new ProcessInterrupts(early);
    expect(interrupts.signal.reason).toMatchObject({ message: 'Interrupted by SIGTERM.' });
    expect(interrupts.hurry.aborted).toBe(false);
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) expect(source.listenerCount(name)).toBe(1);
    interrupts.close();
    expect(source.eventNames()).toEqual([]);
  });

  test('ends the command before it begins, with one object and exit code 11', async () => {
    const interrupts = new HandSignals();
    interrupts.interrupt();
    const ended = await json(['run', '--exec', 'echo never'], { interrupts });
    expect(ended).toMatchObject({ exitCode: 11, ok: false, error: { code: 'ERR_INTERRUPTED' } });
    expect((await cli(['run', '--exec', 'echo never'], { interrupts })).stdout).toBe('');
  });
});

test('a command that goes on after two signals is left, with one object and exit code 11', async () => {
  const interrupts = new HandSignals();
  let begun: () => void = () => undefined;
  const running = new Promise<void>((resolve) => (begun = resolve));
  const stuck = command({
    name: 'stuck',
    summary: 'Never ends.',
    options: {},
    run: () => (begun(), new Promise<never>(() => undefined)),
  });
  const [stdout, stderr] = [new Kept(), new Kept()];
  const terminal = new Terminal({ stdout, stderr, json: true, environment: {} });
  const commands = [{ name: 'stuck', summary: stuck.summary, load: () => Promise.resolve(stuck) }];
  const ended = runProgram(['stuck', '--json'], { terminal, interrupts, environment: {}, commands });
  await running;
  interrupts.interrupt();
  interrupts.interrupt();
  expect(await ended).toBe(11);
  expect(envelopeOf({ stdout: stdout.text }).error?.message).toMatch(
    /^Interrupted by SIGINT\. It did not end in 1\.5 s/,
  );
});
