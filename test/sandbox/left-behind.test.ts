/** The end of a scope: what could not be ended is said, and a terminate that is under way is not cut off. */
import { describe, expect, test } from '@jest/globals';
import { Sandbox } from '../../effects/index.ts';
import { errorOf } from '../helpers/error-of.ts';
import { launchAnswers, refusal, settle } from '../helpers/scripted-platform.ts';

async function launched(platform = launchAnswers()) {
  const sandbox = new Sandbox(platform.ports);
  await sandbox.run({ imageIdentifier: 'arn:image' });
  return { platform, sandbox };
}

describe('the end of a scope', () => {
  test('warns of a VM whose terminate was refused', async () => {
    const { platform, sandbox } = await launched();
    platform.answer('TerminateMicrovm', refusal(403, 'AccessDeniedException'));
    await sandbox[Symbol.asyncDispose]();
    expect(platform.warnings).toHaveLength(1);
    expect(platform.warnings[0]).toMatch(/mvm-abc123 may live on.*bills/);
  });

  test('tries once more after a terminate that failed', async () => {
    const { platform, sandbox } = await launched();
    platform.answer('TerminateMicrovm', refusal(403, 'AccessDeniedException'), {});
    expect(await sandbox.terminate()).toMatchObject({ terminateAccepted: false, undeleted: ['mvm-abc123'] });
    expect(sandbox.abandonmentWarning).toContain('mvm-abc123');
    await sandbox[Symbol.asyncDispose]();
    expect(platform.count('TerminateMicrovm')).toBe(2);
    expect(platform.warnings).toEqual([]);
    expect(sandbox.abandonmentWarning).toBeNull();
  });

  test('waits for a terminate that is under way', async () => {
    const { platform, sandbox } = await launched();
    platform.answer('TerminateMicrovm', {});
    const ending = sandbox.terminate();
    expect(sandbox.substate).toBe('TERMINATING.calling');
    await sandbox[Symbol.asyncDispose]();
    expect(platform.count('TerminateMicrovm')).toBe(1);
    expect(await ending).toMatchObject({ terminateAccepted: true, undeleted: [] });
  });

  test('does not ask again where the end was accepted', async () => {
    const { platform, sandbox } = await launched();
    platform.answer('TerminateMicrovm', {});
    await sandbox.terminate();
    await sandbox[Symbol.asyncDispose]();
    expect(platform.count('TerminateMicrovm')).toBe(1);
  });

  test('a launch that was to be ended and could not be is told', async () => {
    const platform = launchAnswers().hold('GetMicrovm');
    platform.answer('TerminateMicrovm', refusal(403, 'AccessDeniedException'));
    const sandbox = new Sandbox(platform.ports);
    const stop = new AbortController();
    const running = sandbox.run({ imageIdentifier: 'arn:image' }, { signal: stop.signal, onAbort: 'terminate' });
    while (sandbox.microvmId === null) await settle();
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    expect(platform.warnings.join()).toContain('mvm-abc123 may live on');
  });

  test('a VM is ended even when nothing can be journaled', async () => {
    const platform = launchAnswers().answer('TerminateMicrovm', {});
    const { journal } = platform.ports;
    let full = false;
    const ports = {
      ...platform.ports,
      journal: {
        ...journal,
        write: async (record: Parameters<typeof journal.write>[0]) => {
          if (full) throw new Error('no space left');
          await journal.write(record);
        },
      },
    };
    const sandbox = new Sandbox(ports);
    await sandbox.run({ imageIdentifier: 'arn:image' });
    full = true;
    expect(await sandbox.terminate()).toMatchObject({ terminateAccepted: true, undeleted: [] });
    expect(platform.count('TerminateMicrovm')).toBe(1);
    expect(platform.warnings.join()).toContain('could not be journaled');
    expect(await errorOf(sandbox.suspend())).toMatchObject({ requirement: 'STATE-5' });
  });
});
