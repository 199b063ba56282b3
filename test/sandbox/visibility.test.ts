/**
 * A service that is eventually consistent: right after a launch it may answer 404 about the very VM that it launched.
 * Taken for the end of that VM, such a 404 would leave it running with nobody to end it.
 */
import { describe, expect, test } from '@jest/globals';
import { Sandbox, referenceSchedules } from '../../effects/index.ts';
import type { JournalRecord } from '../../machines/index.ts';
import { launchAnswers, refusal, settle, vm } from '../helpers/scripted-platform.ts';
import type { ScriptedPlatform } from '../helpers/scripted-platform.ts';

const request = { imageIdentifier: 'arn:image' };
const notFound = refusal(404, 'ResourceNotFoundException', 'MicroVM not found: mvm-abc123');

/** A VM whose launch was accepted a moment ago and which no read has seen. */
async function justLaunched(platform = launchAnswers()): Promise<{ sandbox: Sandbox; platform: ScriptedPlatform }> {
  platform.answer('GetMicrovm', vm('PENDING')).hold('GetMicrovm');
  const sandbox = new Sandbox(platform.ports, { schedules: referenceSchedules });
  void sandbox.run(request).catch(() => {});
  await settle();
  expect([sandbox.substate, sandbox.microvmId]).toEqual(['PENDING.awaitingRunning', 'mvm-abc123']);
  return { sandbox, platform };
}

describe('a VM that the service does not see yet', () => {
  test('is terminated once it is seen, and not taken for gone', async () => {
    const { sandbox, platform } = await justLaunched();
    platform.answer('TerminateMicrovm', notFound, notFound, {});
    expect(await sandbox.terminate()).toMatchObject({ terminateAccepted: true, failures: [], undeleted: [] });
    expect([platform.count('TerminateMicrovm'), sandbox.lifecycle]).toEqual([3, 'TERMINATING']);
  });

  test('FC-047 is terminated too when the command came before the launch was answered', async () => {
    const platform = launchAnswers().hold('RunMicrovm').answer('TerminateMicrovm', notFound, {});
    const sandbox = new Sandbox(platform.ports, { schedules: referenceSchedules });
    const run = sandbox.run(request).catch((error: unknown) => error);
    await settle();
    const terminated = sandbox.terminate();
    platform.release('RunMicrovm');
    expect(await terminated).toMatchObject({ terminateAccepted: true, failures: [], lifecycle: 'TERMINATING' });
    expect([platform.count('RunMicrovm'), platform.count('TerminateMicrovm')]).toEqual([1, 2]);
    await expect(run).resolves.toBeInstanceOf(Error);
  });

  test('is read until it is seen', async () => {
    const { sandbox, platform } = await justLaunched();
    platform.release('GetMicrovm');
    platform.answer('GetMicrovm', notFound, notFound, vm('RUNNING'));
    await sandbox.refresh();
    expect([sandbox.lifecycle, sandbox.wasTerminated]).toEqual(['RUNNING', false]);
  });

  test('FC-050 is gone when it stays unseen for half a minute', async () => {
    const { sandbox, platform } = await justLaunched();
    platform.answer('TerminateMicrovm', notFound);
    const before = platform.clock.now();
    expect(await sandbox.terminate()).toMatchObject({ lifecycle: 'TERMINATED', failures: [], undeleted: [] });
    expect(platform.clock.now() - before).toBe(30_000);
  });

  test('is found again by the process that takes a life up from its journal', async () => {
    const { sandbox, platform } = await justLaunched();
    const record = (await platform.ports.journal.read(sandbox.id)) as JournalRecord;
    sandbox.actor.stop();
    platform.release('GetMicrovm');
    platform.answer('GetMicrovm', notFound, vm('PENDING')).answer('TerminateMicrovm', notFound, {});
    const restored = await Sandbox.restore(platform.ports, record, { schedules: referenceSchedules });
    expect([restored.lifecycle, restored.microvmId]).toEqual(['PENDING', 'mvm-abc123']);
    expect(await restored.terminate()).toMatchObject({ terminateAccepted: true, lifecycle: 'TERMINATING' });
  });
});

test('once a VM was RUNNING, a 404 is its end at once', async () => {
  const platform = launchAnswers().answer('TerminateMicrovm', notFound);
  const sandbox = new Sandbox(platform.ports, { schedules: referenceSchedules });
  await sandbox.run(request);
  expect(await sandbox.terminate()).toMatchObject({ lifecycle: 'TERMINATED', failures: [] });
  expect(platform.count('TerminateMicrovm')).toBe(1);
});

test('FC-110 a repeated launch that is throttled as a 400 does not prove that the first made nothing', async () => {
  const throttled = refusal(400, 'ThrottlingException', 'Rate exceeded');
  const platform = launchAnswers().answer('RunMicrovm', 'lost');
  const sandbox = new Sandbox(platform.ports, { schedules: referenceSchedules });
  await expect(sandbox.run(request)).rejects.toMatchObject({ reason: 'response' });
  platform.answer('RunMicrovm', throttled);
  await expect(sandbox.run(request)).rejects.toMatchObject({ reason: 'throttled' });
  expect(sandbox.substate).toBe('PENDING.unresolved');
  // The VM of the first try is named by the next answer, and ended.
  platform.answer('RunMicrovm', vm('PENDING')).answer('TerminateMicrovm', {});
  expect(await sandbox.terminate()).toMatchObject({ terminateAccepted: true, undeleted: [] });
  expect(new Set(platform.calls.map(({ body }) => body?.['clientToken']).filter(Boolean)).size).toBe(1);
});

describe('a launch that is still being prepared', () => {
  test('FC-047 is stopped by a terminate, and nothing is sent for it', async () => {
    const platform = launchAnswers();
    const sandbox = new Sandbox(platform.ports, { schedules: referenceSchedules });
    const run = sandbox.run(request).catch((error: unknown) => error);
    expect(await sandbox.terminate()).toMatchObject({ terminateAccepted: false, undeleted: [], failures: [] });
    expect(await run).toMatchObject({ kind: 'Interrupted', reason: 'terminated' });
    expect([platform.count(), sandbox.substate]).toEqual([0, 'PENDING.idle']);
    // Nothing was made, so the sandbox may still launch.
    await sandbox.run(request);
    expect([platform.count('RunMicrovm'), sandbox.lifecycle]).toEqual([1, 'RUNNING']);
  });

  test('FC-059 is stopped when its scope ends', async () => {
    const platform = launchAnswers();
    const sandbox = new Sandbox(platform.ports, { schedules: referenceSchedules });
    const run = sandbox.run({ imageIdentifier: 'by-name' }).catch((error: unknown) => error);
    await sandbox[Symbol.asyncDispose]();
    expect(await run).toMatchObject({ kind: 'Interrupted', reason: 'terminated' });
    expect(platform.count('RunMicrovm')).toBe(0);
  });
});
