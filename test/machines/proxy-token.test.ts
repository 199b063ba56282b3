import { describe, expect, test } from '@jest/globals';
import { initialTransition, transition } from 'xstate';
import type { ErrorRecord, ProxyTokenEvent } from 'vmchart/machines';
import { proxyTokenMachine } from 'vmchart/machines';
import { expectNamedConfig } from './named-config.ts';

type Snapshot = ReturnType<typeof initialTransition<typeof proxyTokenMachine>>[0];
type Outcome = { type: 'xstate.done.actor.mint'; output: object };

const start = () => initialTransition(proxyTokenMachine, { sessionPort: 9_000 })[0];
const need = (id: number, port: number, at: number): ProxyTokenEvent => ({ type: 'NEED', id, port, at });
const minted = (op: number, at: number): Outcome => ({
  type: 'xstate.done.actor.mint',
  output: { op, askedAt: at, at, ok: true },
});
const failed = (op: number, at: number, kind: ErrorRecord['kind'] = 'Retryable'): Outcome => ({
  type: 'xstate.done.actor.mint',
  output: { op, at, ok: false, error: { kind, code: '', message: '', retryable: kind === 'Retryable' } },
});

/** Takes events one by one; returns the last snapshot and what was emitted on the way. */
function take(...events: (ProxyTokenEvent | Outcome)[]): { snapshot: Snapshot; emitted: string[] } {
  let snapshot = start();
  const emitted: string[] = [];
  for (const event of events) {
    const [next, actions] = transition(proxyTokenMachine, snapshot, event as ProxyTokenEvent);
    snapshot = next;
    for (const { type, params } of actions as {
      type: string;
      params?: { event?: { type: string; ids: number[] } };
    }[]) {
      if (type === 'xstate.emit') emitted.push(`${params?.event?.type} ${params?.event?.ids.join()}`);
    }
  }
  return { snapshot, emitted };
}

describe('the proxy token machine', () => {
  test('is a config of names', () => expectNamedConfig(proxyTokenMachine));

  test('mints once for all who wait', () => {
    const { snapshot, emitted } = take(need(1, 9_000, 0), need(2, 9_000, 0), minted(1, 5));
    expect([snapshot.value, emitted, snapshot.context.mintCount]).toEqual(['Held', ['GRANTED 1,2'], 1]);
  });

  test('drops an outcome that is not of the current mint', () => {
    const { snapshot, emitted } = take(need(1, 9_000, 0), minted(7, 5));
    expect([snapshot.value, emitted]).toEqual(['Minting', []]);
  });

  test('measures age from when the token was asked for', () => {
    const { snapshot } = take(need(1, 9_000, 100), minted(1, 100));
    expect(snapshot.context.mintedAt).toBe(100);
  });

  test('a failed refresh serves those whom the held token still opens the way, and denies the rest', () => {
    const stale = 1_800_001;
    const { snapshot, emitted } = take(
      need(1, 9_000, 0),
      minted(1, 0),
      need(2, 9_000, stale),
      failed(2, stale),
      need(3, 8_080, stale),
      failed(3, stale),
    );
    expect([snapshot.value, emitted]).toEqual(['Held', ['GRANTED 1', 'GRANTED 2', 'DENIED 3']]);
  });

  test('those whose port was not in a failed mint get a mint of their own', () => {
    const { snapshot, emitted } = take(need(1, 9_000, 0), need(2, 8_080, 0), failed(1, 1));
    expect([snapshot.value, emitted, snapshot.context.minting]).toEqual(['Minting', ['DENIED 1'], [8_080, 9_000]]);
  });

  test('falls back to what it held when the last one gives up', () => {
    expect(take(need(1, 9_000, 0), { type: 'GIVE_UP', id: 1, at: 1 }).snapshot.value).toBe('Empty');
    const held = take(need(1, 9_000, 0), minted(1, 0), need(2, 80, 1), { type: 'GIVE_UP', id: 2, at: 2 }).snapshot;
    expect([held.value, held.context.waiting]).toEqual(['Held', []]);
  });

  test('nobody is forgotten: over random walks each request is answered, given up or still waiting', () => {
    let state = 7;
    const random = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return state % below;
    };
    const wrong: string[] = [];
    for (let walk = 0; walk < 100; walk += 1) {
      let snapshot = start();
      const open = new Set<number>();
      for (let at = 0, id = 0; at < 40; at += 1) {
        const events: (ProxyTokenEvent | Outcome)[] = [
          need(id, [9_000, 8_080, 80][random(3)] ?? 0, at * 100_000),
          { type: 'GIVE_UP', id: random(id + 1), at },
          { type: 'INVALIDATE', at },
          minted(snapshot.context.op, at * 100_000),
          failed(snapshot.context.op, at * 100_000, random(2) === 0 ? 'Retryable' : 'Credentials'),
        ];
        const event = events[random(events.length)] ?? need(id, 9_000, at);
        if (event.type === 'NEED') {
          open.add(id);
          id += 1;
        }
        if (event.type === 'GIVE_UP') open.delete(event.id);
        const [next, actions] = transition(proxyTokenMachine, snapshot, event as ProxyTokenEvent);
        snapshot = next;
        for (const action of actions as { params?: { event?: { ids?: number[] } } }[]) {
          for (const answered of action.params?.event?.ids ?? []) {
            if (!open.delete(answered)) wrong.push(`${walk}/${at}: ${answered} was answered twice`);
          }
        }
        const { value, context } = snapshot;
        const waiting = context.waiting.map((request) => request.id).join();
        if ([...open].join() !== waiting) wrong.push(`${walk}/${at}: ${[...open].join()} wait, not ${waiting}`);
        if ((value === 'Minting') !== open.size > 0) wrong.push(`${walk}/${at}: ${value} with ${open.size} waiting`);
        if (value !== 'Minting' && (value === 'Held') !== (context.heldOp !== null))
          wrong.push(`${walk}/${at}: ${value}`);
      }
      expect(JSON.parse(JSON.stringify(snapshot.context))).toEqual(snapshot.context);
    }
    expect(wrong).toEqual([]);
  });
});
