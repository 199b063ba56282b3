/** The lifecycle machine by itself: what its config holds, what it does with events that cannot be judged, whose doing a change is. */
import { describe, expect, test } from '@jest/globals';
import { createActor, initialTransition, transition } from 'xstate';
import {
  UntimedEventError,
  answerTo,
  commandTypes,
  contextFrom,
  initialSnapshot,
  sandboxEvents,
  sandboxMachine,
  specVariables,
  substateOf,
} from '../../machines/index.ts';
import type {
  MicrovmDescription,
  QuietSubstate,
  SandboxEvent,
  SandboxInput,
  SandboxSnapshot,
} from '../../machines/index.ts';

const description: MicrovmDescription = {
  microvmId: 'microvm-1',
  state: 'RUNNING',
  endpoint: 'host',
  imageArn: 'arn:image',
  imageVersion: '1.0',
  stateReason: null,
  idlePolicy: { maxIdleSec: 600, suspendedSec: 60, autoResume: false },
  maximumDurationSec: 3600,
  startedAtMs: null,
  terminatedAtMs: null,
};

function at(substate: QuietSubstate, known: NonNullable<SandboxInput['resume']>['known'] = {}): SandboxSnapshot {
  const running = {
    microvmId: 'microvm-1',
    tokenInstalled: true,
    imageExists: true,
    bootstrapCount: 1,
    microvm: description,
  };
  return initialSnapshot({
    sandboxId: 's',
    region: 'us-east-1',
    resume: { substate, known: { ...running, ...known } },
  });
}

const step = (snapshot: SandboxSnapshot, event: SandboxEvent) => transition(sandboxMachine, snapshot, event)[0];

describe('the config', () => {
  test('is plain data but for the initial context and the one input function', () => {
    const functions = new Map<unknown, string[]>();
    const walk = (value: unknown, path: string): void => {
      if (typeof value === 'function') functions.set(value, [...(functions.get(value) ?? []), path]);
      else if (typeof value === 'object' && value !== null) {
        for (const [key, inner] of Object.entries(value)) walk(inner, `${path}.${key}`);
      }
    };
    const { context, ...config } = sandboxMachine.config as unknown as Record<string, unknown>;
    walk(config, '');
    expect(typeof context).toBe('function');
    const guards = [...functions.entries()].filter(([, paths]) => !paths.every((path) => path.endsWith('.input')));
    // `and([...])` is a function that carries its names; everything else is a name or plain data.
    for (const [guard, paths] of guards) {
      expect(paths.every((path) => path.endsWith('.guard'))).toBe(true);
      expect((guard as { guards?: unknown[] }).guards?.every((name) => typeof name === 'string')).toBe(true);
    }
    const inputs = [...functions.entries()].filter(([, paths]) => paths.every((path) => path.endsWith('.input')));
    expect(inputs).toHaveLength(1);
  });

  test('FC-139 no action reads the actor it belongs to', async () => {
    const { readFile } = await import('node:fs/promises');
    for (const file of ['sandbox.ts', 'sandbox-setup.ts', 'sandbox-rules.ts']) {
      const text = await readFile(new URL(`../../machines/${file}`, import.meta.url), 'utf8');
      expect(text).not.toMatch(/getSnapshot\(|Date\.now|Math\.random|performance\.now|setTimeout/);
    }
  });

  test('has no final state, no delay and no eventless transition', () => {
    const text = JSON.stringify(sandboxMachine.config);
    for (const word of ['"final"', '"after"', '"always"']) expect(text).not.toContain(word);
  });
});

describe('an event without a time', () => {
  const quiet: QuietSubstate[] = [
    'PENDING.idle',
    'PENDING.held',
    'RUNNING.idle',
    'SUSPENDING.unsettled',
    'SUSPENDED.idle',
    'TERMINATING.unaccepted',
    'TERMINATED',
  ];

  test.each(quiet)('is refused with a typed error in %s, and changes nothing', (substate) => {
    for (const type of commandTypes) {
      const snapshot =
        substate === 'PENDING.idle'
          ? initialTransition(sandboxMachine, { sandboxId: 's', region: 'r' })[0]
          : at(substate);
      const untimed = { type, commandId: 'c', timeoutMs: 1 } as unknown as Parameters<typeof answerTo>[1];
      expect(answerTo(snapshot, untimed)).toMatchObject({
        verdict: 'refused',
        refusal: { kind: 'InvalidArg', reason: 'untimed-event' },
      });
      expect(substateOf(step(snapshot, untimed))).toBe(substateOf(snapshot));
    }
  });

  test('is not made by the creators', () => {
    const events = sandboxEvents({ now: () => Number.NaN, nextId: () => 'id' });
    expect(() => events.suspend()).toThrow(UntimedEventError);
    expect(() => events.observed(null, 0)).toThrow(UntimedEventError);
    expect(() => sandboxEvents({ now: () => 1, nextId: () => 'id' }).observed(null, Number.NaN)).toThrow(/finite/);
  });

  test('is no report', () => {
    const report = { type: 'OBSERVED.TERMINATED', description: null } as unknown as SandboxEvent;
    expect(substateOf(step(at('RUNNING.idle'), report))).toBe('RUNNING.idle');
  });
});

describe('the cause of a change', () => {
  const seen = (state: string, stateReason: string | null, time = 10): SandboxEvent => ({
    type: `OBSERVED.${state}` as 'OBSERVED.RUNNING',
    at: time,
    askedAt: time,
    description: { ...description, state, stateReason },
  });
  const cause = (snapshot: SandboxSnapshot, event: SandboxEvent) => step(snapshot, event).context.cause;

  test.each([
    ['SUSPENDED', null, 'platform'],
    ['TERMINATED', 'MicroVM exceeded maximum lifetime.', 'lifetime'],
    ['TERMINATED', 'Suspend lifecycle hook returned HTTP status 500. Please check.', 'hook'],
    ['TERMINATING', 'Success.', 'user'],
    ['TERMINATED', 'Container Stopped with Exit Code: 1', 'unknown'],
    ['TERMINATED', null, 'unknown'],
  ])('in RUNNING a report of %s (%s) is the doing of: %s', (state, reason, expected) => {
    expect(cause(at('RUNNING.idle'), seen(state, reason))).toBe(expected);
  });

  test('one text stands for two limits: past the window of a suspended VM it was the window', () => {
    const text = 'MicroVM exceeded maximum lifetime.';
    expect(cause(at('SUSPENDED.idle', { suspendedAt: 0 }), seen('TERMINATED', text, 60_000))).toBe('window');
    expect(cause(at('SUSPENDED.idle', { suspendedAt: 0 }), seen('TERMINATED', text, 59_999))).toBe('lifetime');
    expect(cause(at('RUNNING.idle'), seen('TERMINATED', text, 60_000))).toBe('lifetime');
  });

  test('traffic that wakes a VM is the platform, a command is the user', () => {
    expect(cause(at('SUSPENDED.idle'), seen('RUNNING', null))).toBe('platform');
    const terminate = sandboxEvents({ now: () => 1, nextId: () => 'id' }).terminate();
    expect(cause(at('RUNNING.idle'), terminate)).toBe('user');
  });

  test('a 404 after the VM was seen is its end', () => {
    const end = step(at('RUNNING.idle'), { type: 'OBSERVED.TERMINATED', at: 1, askedAt: 1, description: null });
    expect(specVariables(end)).toMatchObject({ vm_state: 'TERMINATED', was_terminated: true });
  });
});

test('a machine without effects fails its calls instead of hanging', async () => {
  const actor = createActor(sandboxMachine, {
    snapshot: at('RUNNING.idle'),
    input: { sandboxId: 's', region: 'r' },
  }).start();
  const settled = new Promise((resolve) => {
    actor.on('SETTLED', resolve);
  });
  actor.send(sandboxEvents({ now: () => 1, nextId: () => 'id' }).suspend());
  expect(await settled).toMatchObject({ command: 'SUSPEND', error: { kind: 'Unexpected', reason: 'no-actor' } });
  expect(substateOf(actor.getSnapshot())).toBe('RUNNING.idle');
  actor.stop();
});

test('contexts are JSON: no `undefined`, nothing lost', () => {
  const context = contextFrom({ sandboxId: 's', region: 'r' });
  expect(JSON.parse(JSON.stringify(context))).toEqual(context);
  expect(Object.values(context)).not.toContain(undefined);
});
