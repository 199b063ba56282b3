/** What a life leaves behind: secrets go with the end that was seen, the record when its owner says so. */
import { describe, expect, test } from '@jest/globals';
import { Sandbox, referenceSchedules } from '../../effects/index.ts';
import type { JournalRecord } from '../../machines/index.ts';
import { ScriptedPlatform, launchAnswers, refusal, vm } from '../helpers/scripted-platform.ts';
import { reach } from './substates.ts';

/** A platform whose store of secrets can be counted. */
function counted() {
  const platform = launchAnswers(new ScriptedPlatform());
  platform.answer('TerminateMicrovm', {});
  const kept = new Map<string, string>();
  const secrets = {
    put: async (ref: string, value: string) => void kept.set(ref, value),
    get: async (ref: string) => kept.get(ref) ?? null,
    remove: async (ref: string) => void kept.delete(ref),
  };
  const ports = { ...platform.ports, secrets };
  const sandbox = (options = {}) => new Sandbox(ports, { schedules: referenceSchedules, ...options });
  return { platform, ports, kept, sandbox };
}

const everything = { imageIdentifier: 'arn:image', identity: true, launchEnv: { KEY: 'value' } };

describe('the secrets of a life', () => {
  test('are kept while the end is accepted and not seen, and removed when it is seen', async () => {
    const { platform, ports, kept, sandbox } = counted();
    const life = sandbox();
    await life.run(everything);
    await life.terminate();
    expect(life.lifecycle).toBe('TERMINATING');
    expect(kept.size).toBeGreaterThan(0);

    platform.answer('GetMicrovm', vm('TERMINATED'));
    expect(await life.terminate({ waitForTerminated: true })).toMatchObject({ failures: [], lifecycle: 'TERMINATED' });
    expect([...kept.keys()]).toEqual([]);
    expect(await ports.journal.list()).toMatchObject([{ sandboxId: life.id, substate: 'TERMINATED' }]);
  });

  test('are removed when a read sees the end, and when a restored life had ended', async () => {
    const { platform, ports, kept, sandbox } = counted();
    const life = sandbox();
    await life.run(everything);
    const record = (await ports.journal.read(life.id)) as JournalRecord;
    const before = new Map(kept);
    platform.answer('GetMicrovm', vm('TERMINATED'));
    await life.refresh();
    await life.terminate();
    expect(kept.size).toBe(0);

    for (const [ref, value] of before) kept.set(ref, value);
    const ended = { ...record, substate: 'TERMINATED' };
    expect((await Sandbox.restore(ports, ended)).lifecycle).toBe('TERMINATED');
    expect(kept.size).toBe(0);
  });

  test('of an adopted VM go too, and those of another handle stay', async () => {
    const { platform, ports, kept, sandbox } = counted();
    const life = sandbox();
    await life.run(everything);
    const mine = [...kept.keys()];
    const adopted = await Sandbox.adopt(ports, { microvmId: 'mvm-abc123', agentToken: 'theirs' });
    expect(kept.size).toBe(mine.length + 1);
    platform.answer('GetMicrovm', vm('TERMINATED'));
    await adopted.terminate({ waitForTerminated: true });
    expect([...kept.keys()]).toEqual(mine);
  });

  test('of a launch that surely made nothing are not kept', async () => {
    const { platform, kept, sandbox } = counted();
    platform.answer('RunMicrovm', refusal(402, 'ServiceQuotaExceededException'));
    const life = sandbox();
    await expect(life.run(everything)).rejects.toMatchObject({ reason: 'quota' });
    expect(kept.size).toBe(0);
    launchAnswers(platform);
    await life.run(everything);
    expect(kept.size).toBeGreaterThan(0);
  });

  test('of a launch whose answer was lost are kept: the same intent needs them', async () => {
    const { sandbox, platform } = await (reach['PENDING.unresolved'] as NonNullable<(typeof reach)[string]>)();
    const { launch } = sandbox.record().known;
    expect(await platform.ports.secrets.get(launch?.request.agentTokenRef ?? '')).toMatch(/^[0-9a-f]{64}$/);
  });

  test('that cannot be removed are told of in the report, and nothing throws', async () => {
    const { platform, ports, sandbox } = counted();
    const warnings: string[] = [];
    Object.assign(ports, { warn: (text: string) => warnings.push(text) });
    const life = sandbox();
    await life.run({ imageIdentifier: 'arn:image' });
    ports.secrets.remove = () => Promise.reject(new Error('the disk is gone'));
    platform.answer('GetMicrovm', vm('TERMINATED'));
    const { failures } = await life.terminate({ waitForTerminated: true });
    expect(failures).toEqual([expect.stringContaining('the disk is gone')]);
    expect(warnings).toEqual(failures);
  });
});

describe('the record of a life', () => {
  test('is removed by its owner once the end was seen, and not before', async () => {
    const { platform, ports, kept, sandbox } = counted();
    const life = sandbox();
    await life.run(everything);
    for (const early of [life.forget(), life.terminate().then(() => life.forget())]) {
      await expect(early).rejects.toMatchObject({ kind: 'Precondition', reason: 'not-ended' });
    }
    expect(await ports.journal.list()).toHaveLength(1);
    platform.answer('GetMicrovm', vm('TERMINATED'));
    await life.terminate({ waitForTerminated: true });
    await life.forget();
    expect([await ports.journal.list(), kept.size]).toEqual([[], 0]);
    await life.forget();
  });

  test('of a launch that made nothing can be removed, one of an unresolved launch cannot', async () => {
    const { platform, ports, sandbox } = counted();
    platform.answer('RunMicrovm', refusal(402, 'ServiceQuotaExceededException'));
    const life = sandbox();
    await expect(life.run(everything)).rejects.toMatchObject({ reason: 'quota' });
    expect(await ports.journal.list()).toHaveLength(1);
    await life.forget();
    expect(await ports.journal.list()).toEqual([]);

    const open = await (reach['PENDING.unresolved'] as NonNullable<(typeof reach)[string]>)();
    await expect(open.sandbox.forget()).rejects.toMatchObject({ reason: 'not-ended' });
  });
});
