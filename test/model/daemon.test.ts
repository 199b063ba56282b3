import { describe, expect, test } from '@jest/globals';
import { assign } from 'xstate';
import { bootstrapMachine, execMachine } from '../../machines/index.ts';
import { checkLevel3 } from '../../model/check/level3.ts';
import { bootstrapProperties, bootstrapSystem } from '../../model/daemon/bootstrap-properties.ts';
import { execProperties, execSystem } from '../../model/daemon/exec-properties.ts';
import { explore } from '../../model/explorer.ts';

describe("level 3: the daemon's machines", () => {
  test('every property holds and was put to the test', () => {
    const { parts, properties } = checkLevel3();
    expect(properties.filter(({ holds, witnesses }) => !holds || witnesses === 0)).toEqual([]);
    expect(parts).toEqual([
      { name: 'bootstrap', states: 4, transitions: 12 },
      { name: 'exec', states: 120, transitions: 652 },
    ]);
  });

  test('a bootstrap that lets the last caller win is found', () => {
    const lastWins = bootstrapMachine.provide({
      guards: { sameToken: () => true },
      actions: { answerReplayed: assign(({ event }) => ({ tokenRef: event.tokenRef })) },
    });
    const { violation } = explore(bootstrapSystem(lastWins), { properties: bootstrapProperties });
    expect(violation?.steps.length).toBe(2);
    expect(['bootstrap-token-stays', 'bootstrap-losers-refused', 'bootstrap-answers-once']).toContain(
      violation?.property,
    );
  });

  test('output that leaves twice, and a record that is collected at once, are found', () => {
    const broken = (machine: typeof execMachine) =>
      explore(execSystem(machine), { properties: execProperties }).violation;
    const twice = execMachine.provide({
      actions: {
        release: assign({ ackedAt: ({ event }) => event.at, releases: ({ context }) => context.releases + 2 }),
      },
    });
    expect(broken(twice)?.property).toBe('exec-releases-once');
    const forgetful = execMachine.provide({ guards: { pipesAreClosed: () => true } });
    expect(broken(forgetful)?.property).toBe('exec-result-is-complete');
  });
});
