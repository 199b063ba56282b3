import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { ManualClock } from '../../adapters/index.ts';
import { bench, policy } from '../../test/emulator/bench.ts';
import type { Bench } from '../../test/emulator/bench.ts';

/** The arrows that reads of a VM may show, resumes through PENDING included. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  PENDING: ['RUNNING', 'SUSPENDED', 'TERMINATING'],
  RUNNING: ['SUSPENDING', 'TERMINATING'],
  SUSPENDING: ['SUSPENDED', 'PENDING', 'TERMINATING'],
  SUSPENDED: ['PENDING', 'RUNNING', 'TERMINATING'],
  TERMINATING: ['TERMINATED'],
  TERMINATED: [],
};

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ act: fc.constant('advance' as const), ms: fc.constantFrom(5, 15, 100, 20_000, 61_000) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ act: fc.constantFrom('suspend' as const, 'resume' as const, 'request' as const) }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('denied' as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom('terminate' as const, 'exit' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant('hook' as const),
      name: fc.constantFrom('suspend' as const, 'resume' as const),
      status: fc.constantFrom(200, 500),
    }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function act(on: Bench, id: string, token: string, what: Step): Promise<void> {
  switch (what.act) {
    case 'advance':
      return await on.emulator.advance(what.ms);
    case 'suspend':
    case 'resume':
    case 'terminate':
      expect([200, 400, 409]).toContain((await on[what.act](id)).status);
      return;
    case 'request':
    case 'denied': {
      // Not awaited: a held request is answered by what comes later.
      const before = on.emulator.recorder.count('Endpoint');
      on.through(id, '/', what.act === 'denied' ? 'none' : token).catch(() => {});
      while (on.emulator.recorder.count('Endpoint') === before) await on.emulator.advance(0);
      // What is not held reaches the guest within a few turns.
      for (let turn = 0; turn < 10; turn += 1) await on.emulator.advance(0);
      return;
    }
    case 'exit':
      on.guest(id).exit(1);
      return;
    case 'hook':
      on.guests.answers[what.name] = what.status;
  }
}

describe('whatever happens to a VM', () => {
  test('its states follow the arrows, a frozen guest is never forwarded to, and nothing is left behind', async () => {
    const met = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 30, size: 'max' }),
        fc.record({ resumeShowsPending: fc.boolean(), badTokenWakes: fc.boolean(), silentStreamCounts: fc.boolean() }),
        fc.constantFrom('terminate' as const, 'suspend-again' as const),
        fc.record({ window: fc.constantFrom(0, 30, 600), autoResume: fc.boolean() }),
        async (steps, options, failedResume, { window, autoResume }) => {
          const on = await bench({ unverified: { ...options, failedResume } });
          const path: string[] = [];
          // A listener that throws is dropped, so what is wrong is collected and looked at in the end.
          const violations: string[] = [];
          on.emulator.events.on(({ from, to }) => {
            if (from !== null && (path.at(-1) !== from || arrows[from]?.includes(to) !== true)) {
              violations.push(`${path.join(' ')}: ${from} to ${to}`);
            }
            path.push(to);
          });
          try {
            const id = await on.run({ maximumDurationInSeconds: 400, ...policy(60, window, autoResume) });
            const token = await on.token(id);
            on.guests.serve = (_request, response) => {
              if (on.guest(id).frozen || on.guest(id).destroyed) violations.push(`served after ${path.join(' ')}`);
              response.end();
            };
            for (const what of steps) {
              met.add(`${what.act} in ${await on.state(id)}`);
              await act(on, id, token, what);
            }
            await on.emulator.advance(500_000);
            expect(violations).toEqual([]);
            expect(await on.state(id)).toBe('TERMINATED');
            expect(path.at(-1)).toBe('TERMINATED');
            expect(on.guest(id).destroyed).toBe(true);
            expect((on.emulator.clock as ManualClock).sleepers).toBe(0);
          } finally {
            await on.emulator.close();
          }
        },
      ),
      { numRuns: 60, seed: 20_260_901, verbose: 1 },
    );
    // The property was put to the test: every act met every state that a VM stays in.
    const acts = ['advance', 'suspend', 'resume', 'request', 'denied'];
    const states = ['RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATED'];
    expect(acts.flatMap((act) => states.map((state) => `${act} in ${state}`)).filter((cell) => !met.has(cell))).toEqual(
      [],
    );
  }, 120_000);
});
