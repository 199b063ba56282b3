import { describe, expect, test } from '@jest/globals';
import {
  CreateMicrovmAuthTokenCommand,
  GetMicrovmCommand,
  LambdaMicrovmsClient,
  ListMicrovmsCommand,
  ResumeMicrovmCommand,
  RunMicrovmCommand,
  SuspendMicrovmCommand,
  TerminateMicrovmCommand,
} from '@aws-sdk/client-lambda-microvms';
import { startEmulator } from '../../adapters/emulator/index.ts';
import { fakeGuests } from './fake-guest.ts';

describe('the official SDK client', () => {
  test('drives a whole life with nothing special but the address', async () => {
    await using emulator = await startEmulator({ guests: fakeGuests(), clock: 'manual' });
    const client = new LambdaMicrovmsClient({
      endpoint: emulator.endpoint,
      region: emulator.region,
      credentials: emulator.credentials,
    });
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
});
