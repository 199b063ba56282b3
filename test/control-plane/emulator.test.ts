import { describe, expect, test } from '@jest/globals';
import { GetMicrovmCommand, LambdaMicrovmsClient, ListMicrovmsCommand } from '@aws-sdk/client-lambda-microvms';
import { ControlPlane } from 'vmchart/effects';
import { awsPorts } from 'vmchart/adapters';
import { startEmulator } from 'vmchart/emulator';
import { fakeGuests } from '../emulator/fake-guest.ts';
import { errorOf } from '../helpers/error-of.ts';

describe('the client over real sockets, signed, against the embedded platform', () => {
  test('goes through a whole life and reads what the official client reads', async () => {
    await using emulator = await startEmulator({ guests: fakeGuests(), clock: 'manual' });
    const { endpoint, region, credentials, imageArn } = emulator;
    const ports = awsPorts({ endpointUrl: endpoint, region, credentials, environment: {} });
    const plane = new ControlPlane(ports);
    const sdk = new LambdaMicrovmsClient({ endpoint, region, credentials });
    const launch = {
      imageIdentifier: imageArn,
      runHookPayload: '{"agent_token":"t"}',
      idlePolicy: { maxIdleDurationSeconds: 900, suspendedDurationSeconds: 300, autoResumeEnabled: false },
    };

    const { microvmId, state } = await plane.runMicrovm(launch, { clientToken: 'one-intent' });
    expect(state).toBe('PENDING');
    await emulator.advance(1_000);
    const replay = await plane.runMicrovm(launch, { clientToken: 'one-intent' });
    expect(replay).toMatchObject({ microvmId, state: 'RUNNING' });
    const other = { ...launch, maximumDurationInSeconds: 60 };
    expect(await errorOf(plane.runMicrovm(other, { clientToken: 'one-intent' }))).toMatchObject({
      reason: 'intent-conflict',
    });

    const official = await sdk.send(new GetMicrovmCommand({ microvmIdentifier: microvmId }));
    expect(await plane.getMicrovm(microvmId)).toEqual({
      microvmId,
      state: official.state,
      endpoint: official.endpoint,
      imageArn: official.imageArn,
      imageVersion: official.imageVersion,
      stateReason: official.stateReason ?? null,
      idlePolicy: { maxIdleSec: 900, suspendedSec: 300, autoResume: false },
      maximumDurationSec: official.maximumDurationInSeconds,
      startedAtMs: official.startedAt?.getTime(),
      terminatedAtMs: official.terminatedAt?.getTime() ?? null,
    });
    const listed = await sdk.send(new ListMicrovmsCommand({}));
    expect((await plane.listMicrovms()).map((vm) => vm.microvmId)).toEqual(listed.items?.map((vm) => vm.microvmId));

    const name = imageArn.slice(imageArn.lastIndexOf(':') + 1);
    expect(await plane.resolveImageArn(name)).toBe(imageArn);
    expect(Object.keys(await plane.minterFor(microvmId).mintForPorts([9000, 8080]))).toHaveLength(1);

    await plane.suspendMicrovm(microvmId);
    await emulator.advance(1_000);
    expect((await plane.getMicrovm(microvmId)).state).toBe('SUSPENDED');
    await plane.resumeMicrovm(microvmId);
    await emulator.advance(1_000);
    expect((await plane.getMicrovm(microvmId)).state).toBe('RUNNING');
    expect(await plane.terminateMicrovm(microvmId)).toBe('accepted');
    await emulator.advance(5_000);
    expect(await plane.listMicrovms()).toEqual([]);
    expect(await plane.reconcile([microvmId])).toMatchObject({ clean: true });
    expect(await plane.terminateMicrovm('microvm-00000000-0000-0000-0000-000000000000')).toBe('already-gone');

    ports.http.close?.();
    sdk.destroy();
  });

  test('a wrong secret is about the identity, and final', async () => {
    await using emulator = await startEmulator({ guests: fakeGuests(), clock: 'manual' });
    const { endpoint, region, credentials } = emulator;
    const wrong = { ...credentials, secretAccessKey: 'wrong' };
    const ports = awsPorts({ endpointUrl: endpoint, region, credentials: wrong, environment: {} });
    const error = await errorOf(new ControlPlane(ports).listMicrovms());
    expect(error).toMatchObject({ kind: 'Credentials', retryable: false, status: 403 });
    ports.http.close?.();
  });
});
