/**
 * Every shortest path of level 1 that a caller and the emulator can cause, driven with the real client over HTTP: after
 * each step the client is where the model is, and the platform is where the model says.
 *
 * With `VMCHART_CONFORMANCE=steps` every step that a state offers is driven, which takes some minutes.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { lifeKey, pathsOverSteps, pathsToStates, undrivenStates } from './conformance/driven-system.ts';
import { World } from './conformance/world.ts';

const everyStep = process.env['VMCHART_CONFORMANCE'] === 'steps';

let world: World;
beforeAll(async () => {
  world = await World.open();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

describe('STATE-1 to STATE-12: the real client, the emulator and the model agree', () => {
  test('every state can be driven to, but for those of a VM that is PENDING again after it was suspended', () => {
    const { all, undriven } = undrivenStates();
    expect(all).toBe(155);
    // Only a re-read that says PENDING leads there, and no platform says so.
    const odd = { substate: 'SUSPENDED.awaitingRunning', call: 'awaitResumed', accepted: false };
    expect(undriven).toEqual(Array.from({ length: 4 }, () => expect.objectContaining(odd)));
  });

  test.each(everyStep ? pathsOverSteps() : pathsToStates())('$title', async ({ start, steps }) => {
    const life = await world.begin(start.platform);
    try {
      for (const [index, { action, plan, after }] of steps.entries()) {
        await life.perform(action, plan);
        expect({ index, did: action.label, client: lifeKey(life.snapshot), platform: life.platform }).toEqual({
          index,
          did: action.label,
          client: lifeKey(after.life),
          platform: after.platform,
        });
        expect(life.vms.length).toBeLessThanOrEqual(1);
      }
    } finally {
      await life.close();
    }
  });
});
