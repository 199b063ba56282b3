/** A handle that is dropped while its VM lives: one warning when it is collected, and never a teardown. */
import { expect, test } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Sandbox } from '../../effects/index.ts';
import { launchAnswers } from '../helpers/scripted-platform.ts';
import type { ScriptedPlatform } from '../helpers/scripted-platform.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collects until the condition holds; a finalizer runs some turns after the collection that found it. */
async function collectUntil(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200 && !condition(); turn += 1) {
    collect();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

async function launchAndDrop(platform: ScriptedPlatform, end: (sandbox: Sandbox) => unknown): Promise<void> {
  const sandbox = new Sandbox(platform.ports);
  await sandbox.run({ imageIdentifier: 'arn:image' });
  await end(sandbox);
}

test('SBX-43 a dropped live sandbox warns once, naming the VM twice, and tears nothing down', async () => {
  const platform = launchAnswers();
  await launchAndDrop(platform, () => {});
  await collectUntil(() => platform.warnings.length > 0);
  expect(platform.warnings).toHaveLength(1);
  expect(platform.warnings[0]?.match(/mvm-abc123/g)).toHaveLength(2);
  expect(platform.warnings[0]).toMatch(/RUNNING.*Nothing was torn down.*maximumDurationInSeconds/);
  expect(platform.count('TerminateMicrovm')).toBe(0);
});

test('SBX-44 a detached or torn down sandbox is dropped in silence', async () => {
  const platform = launchAnswers().answer('TerminateMicrovm', {});
  await launchAndDrop(platform, (sandbox) => sandbox.detach());
  await launchAndDrop(platform, (sandbox) => sandbox.terminate());
  // Dropped last, so that its warning shows that the others had their turn.
  await launchAndDrop(platform, () => {});
  await collectUntil(() => platform.warnings.length > 0);
  expect(platform.warnings).toHaveLength(1);
});
