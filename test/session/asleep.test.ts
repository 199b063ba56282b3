import { expect, test } from '@jest/globals';
import { Sandbox, awsPorts } from 'vmchart';
import { startEmulator } from 'vmchart/emulator';
import { errorOf } from '../helpers/error-of.ts';

test('a request to a VM that this handle has suspended says that it is, and to resume it', async () => {
  await using platform = await startEmulator();
  const { endpoint: endpointUrl, region, credentials, imageArn: imageIdentifier } = platform;
  await using sandbox = new Sandbox(awsPorts({ endpointUrl, region, credentials }));
  const session = await sandbox.run({ imageIdentifier });
  await sandbox.suspend();
  expect(await errorOf(session.health())).toMatchObject({
    status: 502,
    reason: 'vm-unreachable',
    suggestions: ['The VM is suspended: resume it first, with `await sandbox.resume()`.'],
  });
});
