/** The daemon's machines: one bootstrap, one spawn, one release of output, and time as data. */
import { describe, expect, test } from '@jest/globals';
import { createActor, getNextSnapshot, initialTransition, transition } from 'xstate';
import type { EventFromLogic, SnapshotFrom } from 'xstate';
import { bootstrapMachine, execMachine, execPhase, nextExecDeadline } from '../../machines/index.ts';
import type { BootstrapAnswer, ExecEffect, ExecEvent, ExecTerms } from '../../machines/index.ts';

const terms: ExecTerms = { timeoutMs: 1_000, reapGroupOnExit: false, lingerMs: 500, retentionMs: 9_000 };

/** The events among the actions of a step. */
const emittedBy = (actions: readonly { readonly type: string; readonly params?: unknown }[]): ExecEffect[] =>
  actions.filter(({ type }) => type === 'xstate.emit').map(({ params }) => (params as { event: ExecEffect }).event);

/** Steps the machine and returns what it emitted on the way. */
function run(events: readonly ExecEvent[], more: Partial<ExecTerms> = {}) {
  const effects: ExecEffect[] = [];
  let [snapshot] = initialTransition(execMachine, { ...terms, ...more });
  for (const event of events) {
    const [next, actions] = transition(execMachine, snapshot, event);
    snapshot = next;
    effects.push(...emittedBy(actions));
  }
  return { snapshot, effects, last: effects.at(-1), phase: execPhase(snapshot) };
}

const start = { type: 'START', at: 0 } as const;
const exit = (at: number, exitCode: number | null = 0, signal: number | null = null) =>
  ({ type: 'CHILD.EXITED', at, exitCode, signal }) as const;
const pipes = (at: number) => ({ type: 'PIPES.CLOSED', at }) as const;
const tick = (at: number) => ({ type: 'TICK', at }) as const;
const ack = (at: number) => ({ type: 'ACK', at }) as const;
const escalated = (at: number) => ({ type: 'ESCALATION.ENDED', at }) as const;

describe('bootstrap', () => {
  const answers = (refs: readonly string[]) => {
    const given: BootstrapAnswer[] = [];
    const actor = createActor(bootstrapMachine).start();
    actor.on('INSTALL.ANSWERED', (answer) => given.push(answer));
    for (const [index, tokenRef] of refs.entries()) actor.send({ type: 'INSTALL', tokenRef, at: index });
    return { statuses: given.map(({ status }) => status), context: actor.getSnapshot().context, given };
  };

  test('3.4 the first installs, an identical one is replayed, any other is refused for good', () => {
    const { statuses, context, given } = answers(['a', 'a', 'b', 'a']);
    expect(statuses).toEqual([200, 200, 409, 200]);
    expect(given.map(({ outcome }) => outcome)).toEqual(['installed', 'replayed', 'refused', 'replayed']);
    expect(context).toEqual({ tokenRef: 'a', installedAt: 0, installations: 1 });
  });

  test('3.4 a refusal changes nothing', () => {
    const [open] = initialTransition(bootstrapMachine);
    const installed = getNextSnapshot(bootstrapMachine, open, { type: 'INSTALL', tokenRef: 'a', at: 1 });
    expect(getNextSnapshot(bootstrapMachine, installed, { type: 'INSTALL', tokenRef: 'b', at: 2 })).toEqual(installed);
  });
});

describe('exec', () => {
  test('7.2 a repeated start spawns nothing, in every phase', () => {
    const life = [exit(1), pipes(2), ack(3)];
    for (let length = 0; length <= life.length; length += 1) {
      const { effects, snapshot } = run([start, ...life.slice(0, length), { type: 'START', at: 10 }]);
      expect(effects.filter(({ type }) => type === 'START.ANSWERED')).toEqual([
        { type: 'START.ANSWERED', outcome: 'spawn' },
        { type: 'START.ANSWERED', outcome: 'known' },
      ]);
      expect(snapshot.context.spawns).toBe(1);
    }
  });

  test('7.2 a refused spawn registers nothing, and the id may be used again', () => {
    const { snapshot, phase } = run([start, { type: 'SPAWN.FAILED', at: 1 }]);
    expect(phase).toBeNull();
    expect(snapshot.context.spawns).toBe(0);
    expect(run([start, { type: 'SPAWN.FAILED', at: 1 }, start]).last).toEqual({
      type: 'START.ANSWERED',
      outcome: 'spawn',
    });
  });

  test('8.3 the result is published when the child is gone and its pipes are closed, in either order', () => {
    for (const order of [
      [exit(5, 4), pipes(6)],
      [pipes(5), exit(6, 4)],
    ]) {
      expect(run([start, order[0] as ExecEvent]).phase).toBe('running');
      const { last, phase } = run([start, ...order]);
      expect(phase).toBe('exited');
      expect(last).toEqual({ type: 'PUBLISH', exitCode: 4, signal: null, timedOut: false, writersMayBeAlive: false });
    }
  });

  test('8.3 open pipes delay the result by the linger and no longer', () => {
    const before = run([start, exit(100), tick(599)]);
    expect([before.phase, nextExecDeadline(before.snapshot)]).toEqual(['running', 600]);
    const { last, phase, snapshot } = run([start, exit(100), tick(600)]);
    expect([phase, nextExecDeadline(snapshot)]).toEqual(['exited', null]);
    expect(last).toMatchObject({ type: 'PUBLISH', writersMayBeAlive: true });
  });

  test('8.4 the deadline ends the group first and marks the result, whatever the exit code says', () => {
    expect(nextExecDeadline(run([start]).snapshot)).toBe(1_000);
    expect(run([start, tick(999)]).effects).toHaveLength(1);
    const { last } = run([start, tick(1_000)]);
    expect(last).toEqual({ type: 'ESCALATE' });
    const trapped = [start, tick(1_000), exit(1_001), pipes(1_002), escalated(1_003)] as const;
    expect(run(trapped).last).toMatchObject({ type: 'PUBLISH', exitCode: 0, timedOut: true });
    const killed = [start, tick(1_000), escalated(11_000), exit(11_001, null, 9)] as const;
    expect(run(killed).phase).toBe('running');
    expect(run([...killed, pipes(11_002)]).last).toMatchObject({ signal: 9, timedOut: true });
  });

  test('8.4 a deadline that is due after the exit does nothing', () => {
    expect(run([start, exit(1), pipes(2), tick(5_000)]).effects.map(({ type }) => type)).toEqual([
      'START.ANSWERED',
      'PUBLISH',
    ]);
    expect(nextExecDeadline(run([start], { timeoutMs: null }).snapshot)).toBeNull();
  });

  test('8.3 with reaping the rest of the group is ended before the linger', () => {
    const reap = { reapGroupOnExit: true };
    expect(run([start, exit(10)], reap)).toMatchObject({ last: { type: 'ESCALATE' }, phase: 'running' });
    expect(run([start, exit(10), escalated(20), tick(519)], reap).phase).toBe('running');
    expect(run([start, exit(10), escalated(20), tick(520)], reap).last).toMatchObject({ writersMayBeAlive: true });
    expect(run([start, exit(10), pipes(15), escalated(20)], reap).last).toMatchObject({ writersMayBeAlive: false });
    // After a deadline the group is ended already.
    const both = run([start, tick(1_000), exit(1_001), escalated(1_002), pipes(1_003)], reap);
    expect(both.effects.filter(({ type }) => type === 'ESCALATE')).toHaveLength(1);
  });

  test('8.5 output leaves once: not before the result, and never twice', () => {
    const outcomes = (events: readonly ExecEvent[]) =>
      run(events).effects.flatMap((effect) => (effect.type === 'ACK.ANSWERED' ? [effect.outcome] : []));
    expect(outcomes([ack(0), start, ack(1), exit(2), ack(3), pipes(4), ack(5), ack(6)])).toEqual([
      'unknown',
      'still_running',
      'still_running',
      'released',
      'already_acked',
    ]);
    expect(run([start, exit(2), pipes(4), ack(5), ack(6)]).snapshot.context.releases).toBe(1);
  });

  test('8.1 an acknowledged record goes once it is older than its retention; an unacknowledged one never', () => {
    const acked = [start, exit(1), pipes(2), ack(100)] as const;
    expect(run([...acked, tick(9_100)]).phase).toBe('acked');
    const { last, phase, snapshot } = run([...acked, tick(9_101)]);
    expect([last, phase]).toEqual([{ type: 'COLLECT' }, null]);
    expect(snapshot.context).toEqual(run([]).snapshot.context);
    expect(run([start, exit(1), pipes(2), tick(1e12)]).phase).toBe('exited');
  });

  test('8.6 a kill is answered in every phase, and only an absent record is unknown', () => {
    const life: readonly ExecEvent[] = [start, exit(1), pipes(2), ack(3)];
    const kill = { type: 'KILL', at: 4 } as const;
    expect(run([kill]).last).toEqual({ type: 'KILL.ANSWERED', outcome: 'unknown' });
    for (let length = 1; length <= life.length; length += 1) {
      expect(run([...life.slice(0, length), kill]).last).toEqual({ type: 'KILL.ANSWERED', outcome: 'signal' });
    }
  });

  test('every snapshot survives JSON and every reachable state answers every request', () => {
    const alphabet: ExecEvent[] = [
      start,
      exit(2),
      pipes(2),
      tick(1_000),
      tick(600),
      tick(99_999),
      ack(3),
      escalated(3),
    ];
    const requests: readonly ExecEvent[] = [start, { type: 'POLL', at: 3 }, ack(3), { type: 'KILL', at: 3 }];
    const seen = new Set<string>();
    const queue: SnapshotFrom<typeof execMachine>[] = [];
    for (const reapGroupOnExit of [false, true])
      queue.push(initialTransition(execMachine, { ...terms, reapGroupOnExit })[0]);
    for (let snapshot = queue.pop(); snapshot !== undefined; snapshot = queue.pop()) {
      const persisted = execMachine.getPersistedSnapshot(snapshot);
      const key = JSON.stringify(persisted);
      if (seen.has(key)) continue;
      seen.add(key);
      expect(JSON.parse(key)).toEqual(persisted);
      expect(snapshot.context.spawns).toBeLessThanOrEqual(1);
      expect(snapshot.context.releases).toBe(snapshot.hasTag('acked') ? 1 : 0);
      for (const event of requests) {
        const answers = emittedBy(transition(execMachine, snapshot, event)[1]).map(({ type }) => type);
        expect(answers.filter((type) => type.endsWith('.ANSWERED'))).toEqual([`${event.type}.ANSWERED`]);
      }
      for (const event of alphabet)
        queue.push(transition(execMachine, snapshot, event as EventFromLogic<typeof execMachine>)[0]);
      if (seen.size > 5_000) throw new Error('the space does not end');
    }
    expect(seen.size).toBeGreaterThan(30);
  });

  test('the configs hold names only', () => {
    const functions = (value: unknown, path = ''): string[] => {
      if (typeof value === 'function') return [path];
      if (typeof value !== 'object' || value === null) return [];
      return Object.entries(value).flatMap(([key, inner]) => functions(inner, `${path}.${key}`));
    };
    expect(functions(execMachine.config)).toEqual(['.context']);
    expect(functions(bootstrapMachine.config)).toEqual([]);
  });
});
