/** Options that do not exist: TypeScript refuses them, and plain JavaScript would let them pass. */
import { expect, test } from '@jest/globals';
import { Sandbox, referenceSchedules } from '../../effects/index.ts';
import type { RunRequest, TerminateOptions } from '../../effects/index.ts';
import { ScriptedPlatform, launchAnswers } from '../helpers/scripted-platform.ts';

function begin() {
  const platform = launchAnswers(new ScriptedPlatform());
  platform.answer('TerminateMicrovm', {});
  return { platform, sandbox: new Sandbox(platform.ports, { schedules: referenceSchedules }) };
}

test.each([
  ['suspendSec', 'did you mean suspendedSec?'],
  ['maxIdleSecs', 'did you mean maxIdleSec?'],
  ['ready', 'did you mean readyTimeoutMs?'],
  ['colour', 'There is no option colour.'],
])('a launch with %s is refused before any call', async (name, words) => {
  const { platform, sandbox } = begin();
  const request = { imageIdentifier: 'arn:image', [name]: 5 } as RunRequest;
  const error = await sandbox.run(request).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'unknown-option' });
  expect((error as Error).message).toContain(words);
  expect(platform.count()).toBe(0);
  await sandbox.run({ imageIdentifier: 'arn:image', [name]: undefined } as RunRequest);
  expect(sandbox.lifecycle).toBe('RUNNING');
});

test('a terminate with an unknown option ends the VM all the same, never throws, and names it', async () => {
  const { sandbox } = begin();
  await sandbox.run({ imageIdentifier: 'arn:image' });
  expect(await sandbox.terminate({ wait: true } as TerminateOptions)).toMatchObject({
    terminateAccepted: true,
    undeleted: [],
    failures: ['There is no option wait; did you mean waitForTerminated?'],
  });
});
