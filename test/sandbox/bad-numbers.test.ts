/** Numbers that make no sense: a typed error with no call, instead of a loop that never ends and starves the process. */
import { describe, expect, test } from '@jest/globals';
import { Sandbox } from '../../effects/index.ts';
import { ControlPlane } from '../../effects/control-plane/control-plane.ts';
import { errorOf } from '../helpers/error-of.ts';
import { launchAnswers, vm } from '../helpers/scripted-platform.ts';

/** What JavaScript hands over when a variable is not set or was read as text. */
const senseless = [Number.NaN, Number.POSITIVE_INFINITY, -1, 'x' as never];

describe.each(senseless)('%p milliseconds', (ms) => {
  test('a launch is not sent with a wait like that', async () => {
    const platform = launchAnswers();
    for (const wait of [{ readyTimeoutMs: ms }, { daemonTimeoutMs: ms }]) {
      const sandbox = new Sandbox(platform.ports);
      expect(await errorOf(sandbox.run({ imageIdentifier: 'arn:image', ...wait }))).toMatchObject({
        kind: 'InvalidArg',
        reason: 'duration',
      });
      expect(sandbox.substate).toBe('PENDING.idle');
    }
    expect(platform.count()).toBe(0);
  });

  test('nor a suspend, a resume or a wait', async () => {
    const platform = launchAnswers();
    const sandbox = new Sandbox(platform.ports);
    await sandbox.run({ imageIdentifier: 'arn:image' });
    const before = platform.count();
    for (const wait of [
      sandbox.suspend({ timeoutMs: ms }),
      sandbox.resume({ timeoutMs: ms }),
      sandbox.waitFor('SUSPENDED', { timeoutMs: ms }),
    ]) {
      expect(await errorOf(wait)).toMatchObject({ kind: 'InvalidArg', reason: 'duration' });
    }
    expect(platform.count()).toBe(before);
    expect(sandbox.substate).toBe('RUNNING.idle');
  });

  test('nor is the VM watched, which would be asking without end', async () => {
    const platform = launchAnswers();
    const sandbox = new Sandbox(platform.ports);
    await sandbox.run({ imageIdentifier: 'arn:image' });
    const before = platform.count();
    expect(await errorOf(sandbox.watch({ everyMs: ms }).next())).toMatchObject({ kind: 'InvalidArg' });
    expect(await errorOf(sandbox.watch({ everyMs: 0 }).next())).toMatchObject({ kind: 'InvalidArg' });
    expect(platform.count()).toBe(before);
  });

  test('but a VM is ended all the same, and the report says what was wrong', async () => {
    const platform = launchAnswers().answer('TerminateMicrovm', {});
    const sandbox = new Sandbox(platform.ports);
    await sandbox.run({ imageIdentifier: 'arn:image' });
    const report = await sandbox.terminate({ waitForTerminated: ms });
    expect(report).toMatchObject({ terminateAccepted: true, undeleted: [] });
    expect(report.failures.join()).toContain('waitForTerminated must be a finite number');
    expect(platform.count('TerminateMicrovm')).toBe(1);
  });

  test('single calls and sweeps refuse it, too', async () => {
    const platform = launchAnswers().answer('GetMicrovm', vm('RUNNING'));
    const plane = new ControlPlane(platform.ports);
    for (const call of [
      plane.getMicrovm('mvm-abc123', { timeoutMs: ms }),
      plane.getMicrovm('mvm-abc123', { maxRetries: ms }),
      plane.waitForImage('arn:image', { timeoutMs: ms }),
      plane.deleteImageFully('arn:image', { attempts: ms }),
      plane.deleteImageFully('arn:image', { backoffMs: ms }),
      plane.terminateAll(['mvm-abc123'], { perSecond: ms }),
      plane.terminateAll(['mvm-abc123'], { perSecond: 0 }),
      plane.terminateAll(['mvm-abc123'], { timeoutMs: ms }),
    ]) {
      expect(await errorOf(call)).toMatchObject({ kind: 'InvalidArg' });
    }
    expect(platform.count()).toBe(0);
  });
});
