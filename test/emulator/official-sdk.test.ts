import { describe, expect, test } from '@jest/globals';
import {
  CreateMicrovmAuthTokenCommand,
  CreateMicrovmImageCommand,
  DeleteMicrovmImageCommand,
  GetMicrovmCommand,
  GetMicrovmImageCommand,
  GetMicrovmImageVersionCommand,
  LambdaMicrovmsClient,
  ListMicrovmImageBuildsCommand,
  ListMicrovmsCommand,
  ListTagsCommand,
  paginateListMicrovmImages,
  ResourceNotFoundException,
  ResumeMicrovmCommand,
  RunMicrovmCommand,
  SuspendMicrovmCommand,
  TerminateMicrovmCommand,
  UntagResourceCommand,
  UpdateMicrovmImageVersionCommand,
} from '@aws-sdk/client-lambda-microvms';
import { startEmulator } from '../../adapters/emulator/index.ts';
import type { Emulator } from '../../adapters/emulator/index.ts';
import { fakeGuests } from './fake-guest.ts';

function connect({ endpoint, region, credentials }: Pick<Emulator, 'endpoint' | 'region' | 'credentials'>) {
  return new LambdaMicrovmsClient({ endpoint, region, credentials });
}

describe('the official SDK client', () => {
  test('drives a whole life with nothing special but the address', async () => {
    await using emulator = await startEmulator({ guests: fakeGuests(), clock: 'manual' });
    const client = connect(emulator);
    const launch = {
      imageIdentifier: emulator.imageArn,
      runHookPayload: '{"agent_token":"t"}',
      clientToken: 'one-intent',
      idlePolicy: { maxIdleDurationSeconds: 900, suspendedDurationSeconds: 300, autoResumeEnabled: false },
    };
    const run = await client.send(new RunMicrovmCommand(launch));
    expect(run.state).toBe('PENDING');
    expect(run.startedAt).toBeInstanceOf(Date);
    await emulator.advance(1000);

    const replay = await client.send(new RunMicrovmCommand(launch));
    expect(replay.microvmId).toBe(run.microvmId);
    expect(replay.state).toBe('RUNNING');
    await expect(client.send(new RunMicrovmCommand({ ...launch, maximumDurationInSeconds: 60 }))).rejects.toMatchObject(
      {
        name: 'ConflictException',
        $metadata: { httpStatusCode: 409 },
      },
    );

    const microvmIdentifier = run.microvmId;
    const token = await client.send(
      new CreateMicrovmAuthTokenCommand({ microvmIdentifier, expirationInMinutes: 30, allowedPorts: [{ port: 9000 }] }),
    );
    const response = await fetch(`${run.endpoint}/hello?x=1`, {
      headers: { ...token.authToken, 'x-aws-proxy-port': '9000', authorization: 'Bearer guest' },
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ url: '/hello?x=1', headers: { authorization: 'Bearer guest' } });

    expect((await client.send(new ListMicrovmsCommand({}))).items).toHaveLength(1);
    await client.send(new SuspendMicrovmCommand({ microvmIdentifier }));
    expect((await client.send(new GetMicrovmCommand({ microvmIdentifier }))).state).toBe('SUSPENDING');
    await emulator.advance(1000);
    expect((await client.send(new GetMicrovmCommand({ microvmIdentifier }))).state).toBe('SUSPENDED');
    await client.send(new ResumeMicrovmCommand({ microvmIdentifier }));
    await emulator.advance(1000);
    expect((await client.send(new GetMicrovmCommand({ microvmIdentifier }))).state).toBe('RUNNING');
    await client.send(new TerminateMicrovmCommand({ microvmIdentifier }));
    await emulator.advance(1000);
    const end = await client.send(new GetMicrovmCommand({ microvmIdentifier }));
    expect(end).toMatchObject({ state: 'TERMINATED', stateReason: 'Success.' });
    expect(end.terminatedAt).toBeInstanceOf(Date);
    client.destroy();
  });

  test('builds, reads, lists, retires and deletes an image, every answer signed and decoded', async () => {
    await using emulator = await startEmulator({ guests: fakeGuests(), clock: 'manual' });
    const client = connect(emulator);
    const { imageArn: imageIdentifier } = await client.send(
      new CreateMicrovmImageCommand({
        name: 'mine',
        baseImageArn: 'arn:aws:lambda:us-east-1:aws:microvm-image:al2023-1',
        buildRoleArn: 'arn:aws:iam::123456789012:role/build',
        codeArtifact: { uri: 's3://bucket/key.zip' },
        resources: [{ minimumMemoryInMiB: 512 }],
        tags: { team: 'a b/c' },
      }),
    );
    await emulator.advance(1000);
    expect(await client.send(new GetMicrovmImageCommand({ imageIdentifier }))).toMatchObject({
      state: 'CREATED',
      latestActiveImageVersion: '1.0',
      tags: { team: 'a b/c' },
    });
    const names: (string | undefined)[] = [];
    for await (const page of paginateListMicrovmImages({ client, pageSize: 1 }, {})) {
      names.push(...(page.items ?? []).map(({ name }) => name));
    }
    expect(names).toEqual(['mine', 'agentd']);
    const imageVersion = '1.0';
    expect(await client.send(new GetMicrovmImageVersionCommand({ imageIdentifier, imageVersion }))).toMatchObject({
      resources: [{ minimumMemoryInMiB: 512 }],
      status: 'ACTIVE',
    });
    const builds = await client.send(new ListMicrovmImageBuildsCommand({ imageIdentifier, imageVersion }));
    expect(builds.items?.map(({ buildState }) => buildState)).toEqual(['SUCCESSFUL', 'SUCCESSFUL']);
    await client.send(new UpdateMicrovmImageVersionCommand({ imageIdentifier, imageVersion, status: 'INACTIVE' }));
    await expect(client.send(new RunMicrovmCommand({ imageIdentifier }))).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      message: `No active version found for MicroVM image ${imageIdentifier ?? ''}`,
    });
    expect((await client.send(new ListTagsCommand({ Resource: imageIdentifier }))).Tags).toEqual({ team: 'a b/c' });
    await client.send(new UntagResourceCommand({ Resource: imageIdentifier, TagKeys: ['team'] }));
    await client.send(new DeleteMicrovmImageCommand({ imageIdentifier }));
    await emulator.advance(1000);
    await expect(client.send(new GetMicrovmImageCommand({ imageIdentifier }))).rejects.toBeInstanceOf(
      ResourceNotFoundException,
    );
    client.destroy();
  });

  test('FC-110 names errors as on AWS: throttles are retried, a null message stays null, a gateway is no JSON', async () => {
    await using emulator = await startEmulator({ guests: fakeGuests(), clock: 'manual' });
    const client = connect(emulator);
    const list = () => client.send(new ListMicrovmsCommand({}));
    emulator.faults.add({ kind: 'throttle-as-400', operation: 'ListMicrovms', retryAfterSec: 0 });
    emulator.faults.add({ kind: 'unavailable', operation: 'ListMicrovms' });
    expect((await list()).items).toEqual([]);
    expect(emulator.recorder.count('ListMicrovms')).toBe(3);
    emulator.faults.add({ kind: 'access-denied', operation: 'ListMicrovms' });
    await expect(list()).rejects.toMatchObject({ name: 'AccessDeniedException', message: 'UnknownError' });
    emulator.faults.add({ kind: 'gateway', operation: 'ListMicrovms', times: 3 });
    await expect(list()).rejects.toMatchObject({ name: 'SyntaxError', $metadata: { httpStatusCode: 502 } });
    client.destroy();
  });

  test('is refused with other keys', async () => {
    await using emulator = await startEmulator({ guests: fakeGuests() });
    const client = connect({ ...emulator, credentials: { ...emulator.credentials, secretAccessKey: 'other' } });
    await expect(client.send(new ListMicrovmsCommand({}))).rejects.toMatchObject({
      name: 'InvalidSignatureException',
      $metadata: { httpStatusCode: 403 },
    });
    client.destroy();
  });

  test('finds the emulator by its environment alone', async () => {
    await using emulator = await startEmulator({ guests: fakeGuests(), region: 'eu-north-1' });
    const names = Object.keys(emulator.environment());
    const before = Object.fromEntries(names.map((name) => [name, process.env[name]]));
    Object.assign(process.env, emulator.environment());
    try {
      const client = new LambdaMicrovmsClient({});
      expect((await client.send(new ListMicrovmsCommand({}))).items).toEqual([]);
      expect(emulator.recorder.requests).toMatchObject([{ region: 'eu-north-1', status: 200 }]);
      client.destroy();
    } finally {
      for (const name of names) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  });
});
