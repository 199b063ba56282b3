import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createActor, createMachine, fromPromise } from 'xstate';
import { stepsInWords } from '../../adapters/cli/pictures/replay-steps.ts';
import type { TraceEntry } from '../../adapters/trace/entry.ts';
import { entriesOfCounterexample, findCounterexample } from '../../adapters/trace/counterexample.ts';
import { readReplay, recordTo } from '../../adapters/trace/file.ts';
import { inspectInto } from '../../adapters/trace/inspection.ts';
import { emptyFleet, fold, limits } from '../../adapters/ui/assets/fold.js';
import {
  initialSnapshot,
  sandboxEvents,
  sandboxMachine,
  type EffectInput,
  type Outcome,
} from '../../machines/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'vmchart-trace-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const description = {
  microvmId: 'microvm-1',
  state: 'RUNNING',
  endpoint: 'vm.example',
  imageArn: 'arn:aws:lambda:us-east-1:123456789012:microvm-image:agentd',
  imageVersion: '1',
  stateReason: null,
  idlePolicy: { maxIdleSec: 600, suspendedSec: 900, autoResume: false },
  maximumDurationSec: 3_600,
  startedAtMs: 1_000_000,
  terminatedAtMs: null,
};

/** A life that is driven by hand: launched, suspended, suspended again in vain. */
async function tellALife(): Promise<TraceEntry[]> {
  const told: TraceEntry[] = [];
  let now = 0;
  const answer = (state: string) =>
    fromPromise<Outcome, EffectInput>(({ input }) =>
      Promise.resolve({
        op: input.call.op,
        at: now,
        askedAt: now,
        description: { ...description, state },
        error: null,
        definite: true,
        gone: false,
      }),
    );
  const machine = sandboxMachine.provide({
    actors: {
      launch: answer('PENDING'),
      awaitRunning: answer('RUNNING'),
      suspend: answer('SUSPENDING'),
      awaitSuspended: answer('SUSPENDED'),
    },
  });
  const input = { sandboxId: 'life-1', region: 'us-east-1' };
  const inspect = inspectInto((entry) => told.push(entry), {
    wallNow: () => 5_000_000 + now,
    wallOffsetMs: () => 5_000_000,
  });
  const actor = createActor(machine, { input, snapshot: initialSnapshot(input), inspect }).start();
  const events = sandboxEvents({ now: () => (now += 1_000), nextId: () => `c${now}` });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  actor.send(
    events.run({
      clientToken: 'token-of-the-intent',
      callerKept: false,
      wait: true,
      timeoutMs: 1_000,
      request: {
        imageIdentifier: 'agentd',
        imageVersion: null,
        executionRoleArn: null,
        maxIdleSec: 600,
        suspendedSec: 900,
        autoResume: false,
        maxDurationSec: 3_600,
        ingressNetworkConnectors: null,
        egressNetworkConnectors: null,
        logging: null,
        agentTokenRef: 'ref-of-the-token',
        launchEnvRef: null,
        identityRef: null,
      } as never,
    }),
  );
  for (let turn = 0; turn < 5; turn += 1) await settled();
  actor.send(events.suspend());
  for (let turn = 0; turn < 5; turn += 1) await settled();
  actor.send(events.suspend());
  actor.stop();
  return told;
}

const inShort = (entry: TraceEntry) => {
  switch (entry.kind) {
    case 'state':
      return `${entry.from ?? '·'} → ${entry.state}`;
    case 'answer':
      return `${entry.command} ${entry.verdict}${entry.requirement === null ? '' : ` ${entry.requirement}`}`;
    case 'settled':
      return `${entry.command} ${entry.error ?? 'done'}`;
    case 'call':
      return `${entry.operation} ${entry.ok ? 'ok' : 'failed'}`;
    case 'event':
      return `(${entry.event})`;
    default:
      return entry.kind;
  }
};

describe('a lifecycle told from its inspection', () => {
  let told: TraceEntry[];
  beforeAll(async () => {
    told = await tellALife();
  });

  test('states, calls, answers and a refusal with its requirement, in order', () => {
    expect(told.map(inShort)).toEqual([
      'life',
      '· → PENDING.idle',
      'RUN accepted',
      'PENDING.idle → PENDING.launching',
      'RunMicrovm ok',
      'PENDING.launching → PENDING.awaitingRunning',
      'GetMicrovm until RUNNING ok',
      'RUN done',
      'PENDING.awaitingRunning → RUNNING.idle',
      'SUSPEND accepted',
      'RUNNING.idle → RUNNING.suspending',
      'SuspendMicrovm ok',
      'RUNNING.suspending → SUSPENDING.watching',
      'GetMicrovm until SUSPENDED ok',
      'SUSPEND done',
      'SUSPENDING.watching → SUSPENDED.idle',
      'SUSPEND refused STATE-5',
      '(SUSPEND)',
    ]);
    expect(told.every(({ life }) => life === 'life-1')).toBe(true);
  });

  test('what a page shows of a VM is there, in wall time', () => {
    const last = told.filter((entry) => entry.kind === 'state').at(-1);
    expect(last).toMatchObject({
      cause: 'user',
      facts: {
        microvmId: 'microvm-1',
        startedAt: 1_000_000,
        lifetimeEndsAt: 1_000_000 + 3_600_000,
        // The suspend was accepted at the reading 2,000; its window of 900 s runs from there.
        windowEndsAt: 5_000_000 + 2_000 + 900_000,
      },
    });
  });

  test('neither a context nor a payload is told', () => {
    expect(JSON.stringify(told)).not.toMatch(/token-of-the-intent|ref-of-the-token|clientToken|"context"|"request"/);
  });

  test('a fleet is folded from it', () => {
    const fleet = emptyFleet();
    for (const entry of told) fold(fleet, entry);
    expect(fleet.lives.get('life-1')).toMatchObject({
      state: 'SUSPENDED.idle',
      machine: 'sandbox',
      refused: 1,
      pending: null,
      lastMove: { from: 'SUSPENDING.watching', to: 'SUSPENDED.idle' },
    });
    expect(fleet.lives.get('life-1')?.marks.map(({ state }) => state)).toEqual([
      'PENDING',
      'RUNNING',
      'SUSPENDING',
      'SUSPENDED',
    ]);
  });

  test('a recording is read back as it was told, but for what was printed', async () => {
    const path = join(folder, 'life.jsonl');
    const recording = recordTo(path, 'a test', () => 7);
    for (const entry of told) recording.tell(entry);
    recording.tell({ kind: 'output', at: 9, life: 'life-1', stream: 'stdout', bytes: 6, text: 'secret' });
    await recording.close();
    const text = readFileSync(path, 'utf8');
    expect(text).not.toContain('secret');
    expect(statSync(path).mode & 0o077).toBe(0);
    const { title, entries } = readReplay(text, 'life.jsonl');
    expect(title).toBe('a test');
    expect(entries.slice(0, -1)).toEqual(told);
    expect(entries.at(-1)).toEqual({ kind: 'output', at: 9, life: 'life-1', stream: 'stdout', bytes: 6, text: null });
  });

  test('a recording that was cut off in its last line is read up to there', () => {
    const lines = [
      '{"type":"vmchart.trace","version":1,"title":"t","recordedAt":0}',
      ...told.map((entry) => JSON.stringify(entry)),
    ];
    const cut = lines.join('\n').slice(0, -10);
    expect(readReplay(cut, 'cut').entries).toHaveLength(told.length - 1);
  });
});

test('a machine of any other kind is told too, and its context is nobody’s business', () => {
  const told: TraceEntry[] = [];
  const machine = createMachine({
    id: 'door',
    context: { password: 'swordfish' },
    initial: 'closed',
    states: { closed: { on: { OPEN: 'open' } }, open: { on: { OPEN: {}, CLOSE: 'closed' } } },
  });
  const actor = createActor(machine, { inspect: inspectInto((entry) => told.push(entry)) }).start();
  for (const type of ['OPEN', 'OPEN', 'CLOSE'] as const) actor.send({ type });
  expect(told.map(inShort)).toEqual(['life', '· → closed', 'closed → open', '(OPEN)', 'open → closed']);
  expect(JSON.stringify(told)).not.toContain('swordfish');
});

test.each([
  ['nothing at all', '', 'x is empty'],
  ['a text', 'hello\nworld', 'neither a recording nor a report of vmchart check'],
  ['other JSON', '{"a": 1}', 'x is JSON, but there is no counterexample in it'],
  ['another version', '{"type":"vmchart.trace","version":2}', 'recorded by another version of vmchart (2)'],
  [
    'a line that is no entry',
    '{"type":"vmchart.trace","version":1,"title":"t","recordedAt":0}\n{"kind":"song","at":0,"life":"a"}\n{"kind":"life","at":0,"life":"a"}',
    'line 2 of x is no entry of a recording',
  ],
])('a replay of %s is refused in one sentence', (_, text, sentence) => {
  expect(() => readReplay(text, 'x')).toThrow(
    expect.objectContaining({
      kind: 'InvalidArg',
      reason: 'bad-recording',
      message: expect.stringContaining(sentence),
    }),
  );
});

test('a recording that cannot be opened is refused at once: below a file, in no folder, a folder itself', () => {
  writeFileSync(join(folder, 'file'), '');
  for (const path of [join(folder, 'file', 'below'), join(folder, 'nowhere', 'x'), folder]) {
    expect(() => recordTo(path, 'a test')).toThrow(
      expect.objectContaining({ kind: 'Precondition', reason: 'recording', message: expect.stringContaining(path) }),
    );
  }
});

const withFullDisk = existsSync('/dev/full') ? test : test.skip;

withFullDisk(
  'a disk that is full is told when the recording ends, however often and however late that is',
  async () => {
    const recording = recordTo('/dev/full', 'a test');
    await expect(recording.close()).rejects.toMatchObject({ kind: 'Precondition', reason: 'recording' });
    // The stream has closed itself by now.
    await expect(recording.close()).rejects.toMatchObject({ message: expect.stringContaining('ENOSPC') });
  },
);

test('a counterexample is found wherever it is in a report, and becomes a life of one step a second', () => {
  const counterexample = {
    property: 'no-resume-past-window',
    requirement: 'STATE-12',
    says: 'No resume goes out past the window.',
    start: 'SUSPENDED.idle (token installed)',
    steps: [
      {
        by: 'caller',
        what: 'RESUME, too late',
        effects: ['answers RESUME: accepted', 'starts resume'],
        state: 'SUSPENDED.resuming (token installed)',
      },
    ],
  };
  const found = findCounterexample({ levels: [{ results: [{ counterexample: null }, { counterexample }] }] });
  expect(found).toEqual(counterexample);
  expect(entriesOfCounterexample(counterexample).map((entry) => [entry.at, inShort(entry)])).toEqual([
    [0, 'life'],
    [0, '· → SUSPENDED.idle'],
    [1000, '(RESUME, too late)'],
    [1000, 'RESUME accepted'],
    [1000, '(starts resume)'],
    [1000, 'SUSPENDED.idle → SUSPENDED.resuming'],
    [1000, 'finding'],
  ]);
});

describe('a counterexample of the composed system', () => {
  const counterexample = {
    property: 'no-resume-past-window',
    requirement: 'STATE-12',
    says: 'No resume goes out past the window.',
    start: 'everything at its start',
    system: 'composedSystem({})',
    steps: [
      ['caller 1', 'RUN', 'client = PENDING.launching, wire = a request, caller1 = waits for RUN'],
      ['service', 'makes a VM for the launch', 'vm = PENDING, wire = an answer: says PENDING'],
      ['platform', 'its step under way is done, or takes too long', 'vm = PENDING'],
      ['wire', 'answers the client: says PENDING', 'client = PENDING.awaitingRunning, wire = quiet'],
      ['host', 'asks where the VM is', 'nothing changes'],
    ].map(([by = '', what = '', state = '']) => ({ by, what, effects: [], state, event: null })),
  };
  const entries = entriesOfCounterexample(counterexample);
  const statesOf = (life: string) =>
    entries.flatMap((entry) => (entry.kind === 'state' && entry.life === life ? [[entry.at, entry.state]] : []));

  test('is the life of the client and that of the VM, each in the states of its own chart', () => {
    expect(entries.filter(({ kind }) => kind === 'life')).toEqual([
      expect.objectContaining({ at: 0, life: 'client', machine: 'sandbox' }),
      expect.objectContaining({ at: 2000, life: 'vm', machine: 'platform' }),
    ]);
    expect(statesOf('client')).toEqual([
      [0, 'PENDING.idle'],
      [1000, 'PENDING.launching'],
      [4000, 'PENDING.awaitingRunning'],
    ]);
    expect(statesOf('vm')).toEqual([[2000, 'PENDING']]);
  });

  test('names the step of every actor, and what else it changed', () => {
    const steps = entries.filter((entry) => entry.kind === 'event');
    expect(steps.map(({ by, says, changes }) => [by, says, changes])).toEqual([
      ['caller 1', 'RUN', 'wire = a request, caller1 = waits for RUN'],
      ['service', 'makes a VM for the launch', 'vm = PENDING, wire = an answer: says PENDING'],
      ['platform', 'its step under way is done, or takes too long', 'vm = PENDING'],
      ['wire', 'answers the client: says PENDING', 'wire = quiet'],
      ['host', 'asks where the VM is', undefined],
    ]);
    expect(new Set(steps.map(({ life }) => life))).toEqual(new Set(['client']));
    expect(entries.at(-1)).toMatchObject({ kind: 'finding', life: 'client', at: 5000 });
  });

  test('is told in words, one line a step', () => {
    expect(stepsInWords({ title: '', entries })).toEqual([
      'begins: client PENDING.idle',
      'caller 1: RUN → client PENDING.launching',
      'service: makes a VM for the launch → vm PENDING',
      'platform: its step under way is done, or takes too long',
      'wire: answers the client: says PENDING → client PENDING.awaitingRunning',
      'host: asks where the VM is',
    ]);
  });
});

test('a counterexample of a module of one’s own is not taken for one of the lifecycle', () => {
  const [life] = entriesOfCounterexample({
    property: 'p',
    requirement: null,
    says: 's',
    start: 'closed',
    system: 'moduleSystem(check)',
    steps: [],
  });
  expect(life).toMatchObject({ kind: 'life', machine: 'the checked module' });
});

test('a log is kept in bounds, however long a life is', () => {
  const fleet = emptyFleet();
  for (let at = 0; at < 5_000; at += 1) {
    const state = at % 2 === 0 ? 'RUNNING' : 'SUSPENDED';
    fold(fleet, { kind: 'state', at, life: 'a', from: null, state, event: 'e', cause: null, reason: null });
  }
  const life = fleet.lives.get('a');
  expect(life?.log.length).toBeLessThanOrEqual(limits.log * 1.2);
  expect(life?.marks.length).toBeLessThanOrEqual(limits.marks);
});
