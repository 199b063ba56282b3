/** A VM that another handle has ended, and the handle that does not know. */
import { describe, expect, test } from '@jest/globals';
import { Sandbox } from '../../effects/index.ts';
import { awsPorts } from 'vmchart';
import { startEmulator } from 'vmchart/emulator';
import { refusal, vm } from '../helpers/scripted-platform.ts';
import { reach } from './substates.ts';

const suspended = () => (reach['SUSPENDED.idle'] as NonNullable<(typeof reach)[string]>)();

test('a resume that the service refuses shows the end that another handle caused', async () => {
  await using platform = await startEmulator();
  const { endpoint: endpointUrl, region, credentials, imageArn: imageIdentifier } = platform;
  const ports = awsPorts({ endpointUrl, region, credentials });
  const mine = new Sandbox(ports);
  const { agentToken } = await mine.run({ imageIdentifier });
  await mine.suspend();
  const theirs = await Sandbox.adopt(ports, { microvmId: mine.microvmId ?? '', agentToken });
  await theirs.terminate({ waitForTerminated: true });

  await expect(mine.resume()).rejects.toMatchObject({ kind: 'Platform', status: 400 });
  expect([mine.lifecycle, mine.wasTerminated]).toEqual(['TERMINATED', true]);
  await expect(mine.resume()).rejects.toMatchObject({ requirement: 'STATE-11' });
  expect(platform.recorder.count('ResumeMicrovm')).toBe(1);
  expect((await ports.journal.read(mine.id))?.substate).toBe('TERMINATED');
});

describe('the look after a refused resume', () => {
  test.each([
    ['a VM that is still suspended', vm('SUSPENDED'), 'SUSPENDED.idle'],
    ['a read that fails', refusal(403, 'AccessDeniedException', 'no'), 'SUSPENDED.idle'],
    ['a VM that has ended', vm('TERMINATED'), 'TERMINATED'],
  ])('is one read, and finds %s', async (_what, answer, substate) => {
    const { sandbox, platform } = await suspended();
    platform.answer('ResumeMicrovm', refusal(400, 'ValidationException', 'no'));
    platform.answer('GetMicrovm', answer);
    const before = platform.count();
    await expect(sandbox.resume()).rejects.toMatchObject({ status: 400 });
    expect(sandbox.substate).toBe(substate);
    expect(platform.operations.slice(before)).toEqual(['ResumeMicrovm', 'GetMicrovm']);
  });

  test('is left out for another refusal', async () => {
    const { sandbox, platform } = await suspended();
    platform.answer('ResumeMicrovm', refusal(403, 'AccessDeniedException', 'no'));
    const before = platform.count();
    await expect(sandbox.resume()).rejects.toMatchObject({ status: 403 });
    expect(platform.operations.slice(before)).toEqual(['ResumeMicrovm']);
  });
});
