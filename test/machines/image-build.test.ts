/** The wait for an image build: ready, failed, deleted under our hands, or never scheduled at all. */
import { describe, expect, test } from '@jest/globals';
import { initialTransition, transition } from 'xstate';
import { imageBuildMachine } from '../../machines/index.ts';
import type { ImageBuildEvent } from '../../machines/index.ts';

function after(...events: ImageBuildEvent[]) {
  let [snapshot] = initialTransition(imageBuildMachine, { startedAt: 0, stallAfterMs: 240_000 });
  for (const event of events) [snapshot] = transition(imageBuildMachine, snapshot, event);
  return snapshot.value;
}

const read = (at: number, state: string): ImageBuildEvent => ({ type: 'IMAGE_READ', at, state });
const builds = (at: number, ...states: string[]): ImageBuildEvent => ({ type: 'BUILDS_READ', at, states });

describe('TRAP-2', () => {
  test.each([
    ['CREATED', 'READY'],
    ['UPDATED', 'READY'],
    ['ACTIVE', 'READY'],
    ['CREATE_FAILED', 'FAILED'],
    ['DELETE_FAILED', 'FAILED'],
    ['DELETING', 'LEAVING'],
  ])('an image that reads %s ends the wait as %s', (state, end) => {
    expect(after(read(1, 'CREATING'), read(2, state))).toBe(end);
  });

  test('the builds are looked at once, strictly after the grace', () => {
    expect(after(read(240_000, 'CREATING'))).toEqual({ BUILDING: 'watching' });
    expect(after(read(240_001, 'CREATING'))).toEqual({ BUILDING: 'probing' });
    const looked = [read(240_001, 'CREATING'), builds(240_002, 'PENDING', 'IN_PROGRESS')];
    expect(after(...looked)).toEqual({ BUILDING: 'watching' });
    expect(after(...looked, read(500_000, 'CREATING'))).toEqual({ BUILDING: 'watching' });
  });

  test('builds that all wait are wedged; builds that cannot be read say nothing', () => {
    expect(after(read(300_000, 'CREATING'), builds(300_001, 'PENDING', 'PENDING'))).toBe('WEDGED');
    expect(after(read(300_000, 'CREATING'), builds(300_001))).toEqual({ BUILDING: 'watching' });
  });

  test('a state that nobody knows is waited through', () => {
    expect(after(read(1, 'POLISHING'))).toEqual({ BUILDING: 'watching' });
  });
});
