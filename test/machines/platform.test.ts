import { describe, expect, test } from '@jest/globals';
import {
  defaultPlatformOptions,
  launchPlatform,
  nextDeadline,
  platformMachine,
  platformStep,
  reportedState,
} from '../../machines/index.ts';
import type {
  PlatformEffect,
  PlatformEvent,
  PlatformOptions,
  PlatformSnapshot,
  PlatformTerms,
} from '../../machines/index.ts';

type WithoutAt<T> = T extends unknown ? Omit<T, 'at'> : never;
type Input = WithoutAt<PlatformEvent>;

const delays = {
  launchDelayMs: 10,
  suspendDelayMs: 10,
  resumeDelayMs: 10,
  terminateDelayMs: 10,
  exitDelayMs: 15,
};

function terms(changes: Partial<PlatformTerms> = {}, options: Partial<PlatformOptions> = {}): PlatformTerms {
  return {
    idlePolicy: { maxIdleMs: 60, suspendedWindowMs: 100, autoResume: true },
    maximumDurationMs: 1000,
    hookTimeoutMs: { run: 30, suspend: 30, resume: 30, terminate: 30 },
    delays,
    options: { ...defaultPlatformOptions, ...options },
    ...changes,
  };
}

/** A host that lives in a test: keeps the clock, and answers for the guest unless told otherwise. */
class Bench {
  at = 0;
  snapshot: PlatformSnapshot;
  readonly effects: PlatformEffect[] = [];
  readonly path: string[] = [];
  statuses: Partial<Record<string, number | null>> = {};

  constructor(launch: PlatformTerms = terms()) {
    this.snapshot = launchPlatform({ terms: launch, at: 0 }).snapshot;
    this.path.push(reportedState(this.snapshot));
  }

  get state() {
    return reportedState(this.snapshot);
  }

  get reason() {
    return this.snapshot.context.stateReason;
  }

  /** Sends an event now and answers what it makes the platform ask of the guest. */
  send(event: Input): PlatformEffect[] {
    const before = this.effects.length;
    const { snapshot, effects } = platformStep(this.snapshot, { ...event, at: this.at } as PlatformEvent);
    this.snapshot = snapshot;
    if (this.path.at(-1) !== this.state) this.path.push(this.state);
    for (const effect of effects) {
      this.effects.push(effect);
      if (effect.type === 'FREEZE') this.send({ type: 'GUEST.FROZEN' });
      if (effect.type === 'THAW') this.send({ type: 'GUEST.THAWED' });
      if (effect.type === 'DESTROY') this.send({ type: 'GUEST.DESTROYED' });
      if (effect.type === 'CALL_HOOK') {
        const status = this.statuses[effect.hook];
        if (status !== null) this.send({ type: 'GUEST.HOOK_ANSWERED', hook: effect.hook, status: status ?? 200 });
      }
    }
    return this.effects.slice(before);
  }

  answer(type: 'SUSPEND' | 'RESUME' | 'TERMINATE') {
    return this.send({ type }).flatMap((effect) => (effect.type === 'ANSWER' ? [effect.answer] : []));
  }

  admit() {
    return this.send({ type: 'TRAFFIC.REQUEST' }).flatMap((effect) =>
      effect.type === 'ADMIT' ? [effect.verdict] : [],
    );
  }

  to(at: number): this {
    for (let due = nextDeadline(this.snapshot); due !== null && due <= at; due = nextDeadline(this.snapshot)) {
      this.at = due;
      this.send({ type: 'TICK' });
    }
    this.at = at;
    return this;
  }

  hooks() {
    return this.effects.flatMap((effect) => (effect.type === 'CALL_HOOK' ? [effect.hook] : []));
  }
}

describe('the life of a MicroVM as the service sees it', () => {
  test('FC-142 goes through every state, each of which takes time', () => {
    const vm = new Bench(terms({ idlePolicy: null }));
    expect(vm.to(9).state).toBe('PENDING');
    expect(vm.to(10).state).toBe('RUNNING');
    expect(vm.answer('SUSPEND')).toEqual(['ok']);
    expect(vm.state).toBe('SUSPENDING');
    expect(vm.to(20).state).toBe('SUSPENDED');
    expect(vm.answer('RESUME')).toEqual(['ok']);
    expect(vm.to(29).state).toBe('SUSPENDED');
    expect(vm.to(30).state).toBe('RUNNING');
    expect(vm.answer('TERMINATE')).toEqual(['ok']);
    expect(vm.state).toBe('TERMINATING');
    expect(vm.to(40).state).toBe('TERMINATED');
    expect(vm.reason).toBe('Success.');
    expect(vm.hooks()).toEqual(['run', 'suspend', 'resume', 'terminate']);
  });

  test('an idle VM is suspended, and ended once its window is over', () => {
    const vm = new Bench().to(69);
    expect(vm.state).toBe('RUNNING');
    expect(vm.to(70).state).toBe('SUSPENDING');
    expect(vm.snapshot.context.cause).toBe('platform');
    expect(vm.to(179).state).toBe('SUSPENDED');
    expect(vm.to(200).state).toBe('TERMINATED');
    expect(vm.reason).toBe('MicroVM exceeded maximum lifetime.');
    expect(vm.snapshot.context.cause).toBe('window');
  });

  test('requests and bytes reset the idle timer, denied requests do not', () => {
    const vm = new Bench().to(50);
    expect(vm.admit()).toEqual(['forward']);
    vm.to(100).send({ type: 'TRAFFIC.BYTES' });
    vm.to(150).send({ type: 'TRAFFIC.DENIED' });
    expect(vm.to(159).state).toBe('RUNNING');
    expect(vm.to(160).state).toBe('SUSPENDING');
  });

  test('a window of 0 ends an idle VM instead of suspending it', () => {
    const vm = new Bench(terms({ idlePolicy: { maxIdleMs: 60, suspendedWindowMs: 0, autoResume: false } }));
    vm.to(70);
    expect(vm.path).toEqual(['PENDING', 'RUNNING', 'TERMINATING']);
    expect(vm.hooks()).toContain('terminate');
  });

  test('without an idle policy nothing but the lifetime ends a VM', () => {
    const vm = new Bench(terms({ idlePolicy: null }));
    expect(vm.to(999).state).toBe('RUNNING');
    vm.to(1010);
    expect(vm.state).toBe('TERMINATED');
    expect(vm.snapshot.context.cause).toBe('lifetime');
  });

  test('FC-151 suspended time counts to the lifetime', () => {
    const vm = new Bench(terms({ maximumDurationMs: 100, idlePolicy: null })).to(40);
    vm.answer('SUSPEND');
    expect(vm.to(99).state).toBe('SUSPENDED');
    expect(vm.to(100).state).toBe('TERMINATING');
    expect(vm.reason).toBe('MicroVM exceeded maximum lifetime.');
    // A frozen guest hears no terminate hook.
    expect(vm.hooks()).toEqual(['run', 'suspend']);
  });

  test('a run hook that fails, or never answers, ends the VM before any traffic', () => {
    const refused = new Bench();
    refused.statuses['run'] = 400;
    refused.to(10);
    expect(refused.path).toEqual(['PENDING', 'TERMINATING']);
    expect(refused.reason).toBe(
      'Run lifecycle hook returned HTTP status 400. Please check your hook endpoint and application logs for more details.',
    );
    expect(refused.admit()).toEqual(['refuse']);
    const silent = new Bench();
    silent.statuses['run'] = null;
    expect(silent.to(39).state).toBe('PENDING');
    expect(silent.admit()).toEqual(['refuse']);
    expect(silent.to(40).state).toBe('TERMINATING');
    expect(silent.reason).toMatch(/^Run lifecycle hook timed out/);
  });

  test('a suspend hook that fails ends the VM', () => {
    const vm = new Bench();
    vm.statuses['suspend'] = 500;
    vm.to(20).answer('SUSPEND');
    expect(vm.to(40).state).toBe('TERMINATED');
    expect(vm.path).not.toContain('SUSPENDED');
    expect(vm.reason).toMatch(/^Suspend lifecycle hook returned HTTP status 500\. /);
  });

  test('the main process ends: 502 at once, RUNNING for a while, no terminate hook', () => {
    const vm = new Bench().to(20);
    vm.send({ type: 'GUEST.EXITED', exitCode: 124 });
    expect(vm.admit()).toEqual(['refuse']);
    expect(vm.to(34).state).toBe('RUNNING');
    expect(vm.reason).toBeNull();
    expect(vm.to(35).state).toBe('TERMINATING');
    expect(vm.reason).toBe('Container Stopped with Exit Code: 124');
    expect(vm.to(45).state).toBe('TERMINATED');
    expect(vm.hooks()).toEqual(['run']);
  });

  test('auto-resume holds the request until the guest runs', () => {
    const vm = new Bench().to(20);
    vm.answer('SUSPEND');
    vm.to(40);
    expect(vm.admit()).toEqual(['hold']);
    expect(vm.to(49).state).toBe('SUSPENDED');
    vm.to(50);
    expect(vm.state).toBe('RUNNING');
    expect(vm.effects).toContainEqual({ type: 'RELEASE', verdict: 'forward' });
  });

  test('without auto-resume a request is refused and wakes nothing', () => {
    const vm = new Bench(terms({ idlePolicy: { maxIdleMs: 60, suspendedWindowMs: 100, autoResume: false } })).to(20);
    vm.answer('SUSPEND');
    vm.to(40);
    expect(vm.admit()).toEqual(['refuse']);
    expect(vm.to(60).state).toBe('SUSPENDED');
  });

  test('a request in mid-suspend is held and resumed for, or refused by option', () => {
    const vm = new Bench().to(20);
    vm.answer('SUSPEND');
    expect(vm.admit()).toEqual(['hold']);
    vm.to(40);
    expect(vm.path).toEqual(['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'RUNNING']);
    const strict = new Bench(terms({}, { holdTrafficWhileSuspending: false })).to(20);
    strict.answer('SUSPEND');
    expect(strict.admit()).toEqual(['refuse']);
    expect(strict.to(60).state).toBe('SUSPENDED');
  });
});

describe('what is unverified is an option', () => {
  test('FC-152 badTokenWakes: a denied request wakes and counts', () => {
    const vm = new Bench(terms({}, { badTokenWakes: true })).to(50);
    vm.send({ type: 'TRAFFIC.DENIED' });
    expect(vm.to(109).state).toBe('RUNNING');
    vm.to(130);
    expect(vm.state).toBe('SUSPENDED');
    vm.send({ type: 'TRAFFIC.DENIED' });
    expect(vm.to(140).state).toBe('RUNNING');
  });

  test('FC-152 silentStreamCounts: an open connection keeps the VM awake, its end starts the timer', () => {
    const vm = new Bench(terms({}, { silentStreamCounts: true })).to(20);
    vm.send({ type: 'TRAFFIC.CONNECTIONS', open: 1 });
    expect(vm.to(500).state).toBe('RUNNING');
    vm.send({ type: 'TRAFFIC.CONNECTIONS', open: 0 });
    expect(vm.to(559).state).toBe('RUNNING');
    expect(vm.to(560).state).toBe('SUSPENDING');
    const other = new Bench().to(20);
    other.send({ type: 'TRAFFIC.CONNECTIONS', open: 1 });
    expect(other.to(80).state).toBe('SUSPENDING');
  });

  test('applyWindowToExplicitSuspend decides whether a caller can keep a VM suspended', () => {
    const kept = new Bench(terms({}, { applyWindowToExplicitSuspend: false })).to(20);
    kept.answer('SUSPEND');
    expect(kept.to(999).state).toBe('SUSPENDED');
    const ended = new Bench().to(20);
    ended.answer('SUSPEND');
    expect(ended.to(150).state).toBe('TERMINATED');
  });

  test('resumeShowsPending shows PENDING on the way back', () => {
    const vm = new Bench(terms({}, { resumeShowsPending: true })).to(20);
    vm.answer('SUSPEND');
    vm.to(40).answer('RESUME');
    vm.to(50);
    expect(vm.path).toEqual(['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'PENDING', 'RUNNING']);
  });

  test('leakTrafficBeforeRun forwards while the run hook runs', () => {
    const vm = new Bench(terms({}, { leakTrafficBeforeRun: true }));
    vm.statuses['run'] = null;
    expect(vm.admit()).toEqual(['refuse']);
    vm.to(15);
    expect(vm.admit()).toEqual(['forward']);
  });

  test.each([
    ['terminate' as const, 'TERMINATED'],
    ['suspend-again' as const, 'SUSPENDED'],
  ])('failedResume %s: whoever waits is refused', (failedResume, end) => {
    const vm = new Bench(
      terms({ idlePolicy: { maxIdleMs: 60, suspendedWindowMs: 500, autoResume: true } }, { failedResume }),
    );
    vm.statuses['resume'] = 500;
    vm.to(20).answer('SUSPEND');
    vm.to(40);
    expect(vm.admit()).toEqual(['hold']);
    vm.to(70);
    expect(vm.state).toBe(end);
    expect(vm.effects).toContainEqual({ type: 'RELEASE', verdict: 'refuse' });
    expect(vm.path.filter((state) => state === 'RUNNING')).toHaveLength(1);
  });

  test('FC-143 the answers in a wrong state follow the table, and change nothing', () => {
    const options: Partial<PlatformOptions> = {
      suspendOfSuspended: 'conflict',
      suspendOfTerminated: 'conflict',
      resumeOfRunning: 'conflict',
      resumeOfTerminated: 'conflict',
    };
    const [plain, strict] = [new Bench(), new Bench(terms({}, options))];
    const answers = (type: 'SUSPEND' | 'RESUME') => [plain.answer(type)[0], strict.answer(type)[0]];
    expect([...answers('SUSPEND'), ...answers('RESUME')]).toEqual(['conflict', 'conflict', 'conflict', 'conflict']);
    for (const vm of [plain, strict]) vm.to(20);
    expect(answers('RESUME')).toEqual(['ok', 'conflict']);
    for (const vm of [plain, strict]) {
      vm.answer('SUSPEND');
      vm.to(40);
    }
    expect(answers('SUSPEND')).toEqual(['ok', 'conflict']);
    for (const vm of [plain, strict]) {
      expect(vm.state).toBe('SUSPENDED');
      vm.answer('TERMINATE');
      vm.to(60);
      expect(vm.answer('TERMINATE')).toEqual(['ok']);
    }
    expect(answers('SUSPEND')).toEqual(['validation', 'conflict']);
    expect(answers('RESUME')).toEqual(['validation', 'conflict']);
    for (const vm of [plain, strict]) expect(vm.to(500).state).toBe('TERMINATED');
  });
});

describe('the chart itself', () => {
  test('survives JSON but for its initial context, and has no final, timed or eventless arrows', () => {
    const functions: string[] = [];
    const keys = new Set<string>();
    const walk = (value: unknown, path: string) => {
      if (typeof value === 'function') functions.push(path);
      if (typeof value !== 'object' || value === null) return;
      for (const [key, member] of Object.entries(value)) {
        keys.add(key);
        walk(member, `${path}.${key}`);
      }
    };
    walk(platformMachine.config, 'config');
    expect(functions).toEqual(['config.context']);
    for (const key of ['after', 'always', 'invoke']) expect(keys).not.toContain(key);
    expect(JSON.stringify(platformMachine.config)).not.toContain('"final"');
  });

  test('a snapshot is plain JSON', () => {
    const { context, value } = new Bench().to(20).snapshot;
    expect(JSON.parse(JSON.stringify({ context, value }))).toEqual({ context, value });
  });
});

interface Node {
  readonly snapshot: PlatformSnapshot;
  readonly at: number;
}

function keyOfState({ snapshot, at }: Node): string {
  const { deadlines, ...context } = snapshot.context;
  const relative = Object.values(deadlines).map((due) => (due === null ? null : due - at));
  return JSON.stringify([snapshot.value, { ...context, terms: null }, relative]);
}

/** Everything that can happen next, with time relative to now, so that the space is finite. */
function explore(launch: PlatformTerms) {
  const hooks = ['run', 'suspend', 'resume', 'terminate'] as const;
  const inputs: Input[] = [
    { type: 'SUSPEND' },
    { type: 'RESUME' },
    { type: 'TERMINATE' },
    { type: 'TRAFFIC.REQUEST' },
    { type: 'TRAFFIC.DENIED' },
    { type: 'TRAFFIC.BYTES' },
    { type: 'TRAFFIC.CONNECTIONS', open: 0 },
    { type: 'TRAFFIC.CONNECTIONS', open: 1 },
    { type: 'GUEST.FROZEN' },
    { type: 'GUEST.THAWED' },
    { type: 'GUEST.DESTROYED' },
    { type: 'GUEST.EXITED', exitCode: 1 },
    { type: 'GUEST.LOST', reason: 'gone' },
    ...hooks.map((hook) => ({ type: 'GUEST.HOOK_ANSWERED' as const, hook, status: 200 })),
    ...hooks.map((hook) => ({ type: 'GUEST.HOOK_ANSWERED' as const, hook, status: 500 })),
  ];
  const first: Node = { snapshot: launchPlatform({ terms: launch, at: 0 }).snapshot, at: 0 };
  const seen = new Map([[keyOfState(first), first]]);
  const steps: { from: Node; event: Input; to: Node; effects: readonly PlatformEffect[] }[] = [];
  for (const from of seen.values()) {
    const due = nextDeadline(from.snapshot);
    const events: [Input, number][] = inputs.map((input) => [input, from.at]);
    if (due !== null) events.push([{ type: 'TICK' }, due]);
    for (const [event, at] of events) {
      const { snapshot, effects } = platformStep(from.snapshot, { ...event, at } as PlatformEvent);
      const to = { snapshot, at };
      const key = keyOfState(to);
      steps.push({ from, event, to, effects });
      if (!seen.has(key)) seen.set(key, to);
      if (seen.size > 20_000) throw new Error('The space is larger than it should be.');
    }
  }
  return { states: seen.size, steps };
}

describe.each([
  ['the defaults', {}],
  [
    'the opposite of each',
    {
      applyWindowToExplicitSuspend: false,
      resumeShowsPending: true,
      badTokenWakes: true,
      silentStreamCounts: true,
      leakTrafficBeforeRun: true,
      holdTrafficWhileSuspending: false,
      failedResume: 'suspend-again' as const,
    },
  ],
])('every reachable state, with %s', (_, options) => {
  const { states, steps } = explore(
    terms(
      {
        maximumDurationMs: 5,
        idlePolicy: { maxIdleMs: 2, suspendedWindowMs: 2, autoResume: true },
        hookTimeoutMs: { run: 1, suspend: 1, resume: 1, terminate: 1 },
        delays: { launchDelayMs: 1, suspendDelayMs: 1, resumeDelayMs: 1, terminateDelayMs: 1, exitDelayMs: 1 },
      },
      options,
    ),
  );
  const chart = (snapshot: PlatformSnapshot) =>
    typeof snapshot.value === 'string' ? snapshot.value : (Object.keys(snapshot.value)[0] ?? '');
  type Step = (typeof steps)[number];
  /** The first few steps that break a law, as a person wants to read them. */
  const breaking = (law: (step: Step) => boolean) =>
    steps
      .filter((step) => !law(step))
      .slice(0, 3)
      .map(({ from, event, to, effects }) => ({ from: from.snapshot.value, event, to: to.snapshot.value, effects }));
  const count = (effects: readonly PlatformEffect[], type: PlatformEffect['type']) =>
    effects.filter((effect) => effect.type === type).length;

  test('is explored', () => {
    expect(states).toBeGreaterThan(100);
    expect(new Set(steps.map(({ to }) => chart(to.snapshot)))).toEqual(
      new Set(['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED']),
    );
  });

  test('gives exactly one answer to every call and one verdict on every request', () => {
    const calls = ['SUSPEND', 'RESUME', 'TERMINATE'];
    expect(breaking(({ event, effects }) => count(effects, 'ANSWER') === (calls.includes(event.type) ? 1 : 0))).toEqual(
      [],
    );
    expect(
      breaking(({ event, effects }) => count(effects, 'ADMIT') === (event.type === 'TRAFFIC.REQUEST' ? 1 : 0)),
    ).toEqual([]);
  });

  test('takes a step at every deadline: no timer is left behind', () => {
    expect(breaking(({ from, event, to }) => event.type !== 'TICK' || keyOfState(from) !== keyOfState(to))).toEqual([]);
  });

  test('never leaves TERMINATED, and leaves TERMINATING only for it', () => {
    const next: Record<string, string[]> = { TERMINATED: ['TERMINATED'], TERMINATING: ['TERMINATING', 'TERMINATED'] };
    expect(breaking(({ from, to }) => next[chart(from.snapshot)]?.includes(chart(to.snapshot)) !== false)).toEqual([]);
  });

  test('only a dying VM has a reason; it keeps no deadline of its life and holds nobody', () => {
    expect(
      breaking(({ to }) => {
        const { context } = to.snapshot;
        const dying = chart(to.snapshot).startsWith('TERMINAT');
        if (!dying) return context.stateReason === null && context.deadlines.lifetime !== null;
        if (chart(to.snapshot) === 'TERMINATED' && nextDeadline(to.snapshot) !== null) return false;
        return context.stateReason !== null && context.deadlines.lifetime === null && !context.requestsHeld;
      }),
    ).toEqual([]);
  });

  test('a refused call changes nothing', () => {
    expect(
      breaking(({ from, to, effects }) => {
        const refused = effects.some((effect) => effect.type === 'ANSWER' && effect.answer !== 'ok');
        return !refused || keyOfState(from) === keyOfState(to);
      }),
    ).toEqual([]);
  });

  test('whoever is held is released, and is held only while the VM is away', () => {
    expect(
      breaking(({ from, to, effects }) => {
        const [before, after] = [from.snapshot.context.requestsHeld, to.snapshot.context.requestsHeld];
        if (before && !after) return count(effects, 'RELEASE') > 0;
        return !after || ['SUSPENDING', 'SUSPENDED'].includes(chart(to.snapshot));
      }),
    ).toEqual([]);
  });
});
