import { describe, expect, test } from '@jest/globals';
import { serviceQuotas } from '../../adapters/emulator/index.ts';
import { bench, policy, send } from './bench.ts';

const connector = (name: string) => `arn:aws:lambda:us-east-1:aws:network-connector:aws-network-connector:${name}`;

describe('what RunMicrovm refuses', () => {
  const arn = 'arn:aws:lambda:us-east-1:123456789012:microvm-image:agentd';
  const constraint = (text: string) => `1 validation error detected: ${text}`;
  const elevenConnectors = Array.from({ length: 11 }, () => connector('HTTP_INGRESS'));
  const idle = { maxIdleDurationSeconds: 60, suspendedDurationSeconds: 60, autoResumeEnabled: true };

  test.each<[string, object, number, string, string]>([
    [
      'a name that is no ARN',
      { imageIdentifier: 'agentd' },
      400,
      'ValidationException',
      "Malformed ARN - doesn't start with 'arn:'",
    ],
    [
      'no image',
      {},
      400,
      'ValidationException',
      constraint("Value null at 'imageIdentifier' failed to satisfy constraint: Member must not be null"),
    ],
    [
      'an unknown image',
      { imageIdentifier: `${arn}x` },
      404,
      'ResourceNotFoundException',
      `No active version found for MicroVM image ${arn}x`,
    ],
    [
      'a pinned version that is not there',
      { imageIdentifier: arn, imageVersion: '7.0' },
      404,
      'ResourceNotFoundException',
      `No active version found for MicroVM image ${arn} and version 7.0`,
    ],
    [
      'a payload of 4097, before it looks for the image',
      { imageIdentifier: `${arn}x`, runHookPayload: 'a'.repeat(4097) },
      400,
      'ValidationException',
      constraint(
        "Value at 'runHookPayload' failed to satisfy constraint: Member must have length less than or equal to 4096",
      ),
    ],
    [
      'a duration of 28801',
      { imageIdentifier: arn, maximumDurationInSeconds: 28_801 },
      400,
      'ValidationException',
      constraint(
        "Value '28801' at 'maximumDurationInSeconds' failed to satisfy constraint: Member must have value less than or equal to 28800",
      ),
    ],
    [
      'an idle time of 59',
      { imageIdentifier: arn, idlePolicy: { ...idle, maxIdleDurationSeconds: 59 } },
      400,
      'ValidationException',
      constraint(
        "Value '59' at 'idlePolicy.maxIdleDurationSeconds' failed to satisfy constraint: Member must have value greater than or equal to 60",
      ),
    ],
    [
      'an idle policy with a member missing',
      { imageIdentifier: arn, idlePolicy: { maxIdleDurationSeconds: 60, suspendedDurationSeconds: 60 } },
      400,
      'ValidationException',
      constraint("Value null at 'idlePolicy.autoResumeEnabled' failed to satisfy constraint: Member must not be null"),
    ],
    [
      'a bare connector name',
      { imageIdentifier: arn, ingressNetworkConnectors: ['ALL_INGRESS'] },
      400,
      'ValidationException',
      'Malformed network connector ARN',
    ],
    [
      'an unknown managed connector',
      { imageIdentifier: arn, egressNetworkConnectors: [connector('NO_EGRESS')] },
      400,
      'ValidationException',
      `Unrecognized managed network connector ARN: ${connector('NO_EGRESS')}`,
    ],
    [
      'two egress connectors',
      { imageIdentifier: arn, egressNetworkConnectors: [connector('INTERNET_EGRESS'), connector('INTERNET_EGRESS')] },
      400,
      'ValidationException',
      'Only one egress network connector can be provided',
    ],
    [
      'logging without a role',
      { imageIdentifier: arn, logging: { cloudWatch: {} } },
      400,
      'ValidationException',
      'Logging cannot be enabled without providing executionRoleArn',
    ],
    [
      'a client token of 129',
      { imageIdentifier: arn, clientToken: 'a'.repeat(129) },
      400,
      'ValidationException',
      constraint(
        `Value '${'a'.repeat(129)}' at 'clientToken' failed to satisfy constraint: Member must have length less than or equal to 128`,
      ),
    ],
  ])('FC-151 %s', async (_, body, status, error, message) => {
    await using on = await bench();
    const reply = await on.call('POST', '/microvms', body);
    expect(reply).toMatchObject({ status, error, json: { message } });
    expect(on.emulator.vms()).toEqual([]);
  });

  test('FC-151 eleven connectors', async () => {
    await using on = await bench();
    const reply = await on.call('POST', '/microvms', {
      imageIdentifier: arn,
      ingressNetworkConnectors: elevenConnectors,
    });
    expect(reply.status).toBe(400);
    expect(reply.json.message).toMatch(/at 'ingressNetworkConnectors' .* length less than or equal to 10$/);
  });

  test('a payload of 4096 is accepted', async () => {
    await using on = await bench();
    await on.run({ runHookPayload: 'a'.repeat(4096) });
  });

  test('every violation of the model stands in one message', async () => {
    await using on = await bench();
    const reply = await on.call('POST', '/microvms', { maximumDurationInSeconds: 0, idlePolicy: {} });
    expect(reply.json.message).toBe(
      '5 validation errors detected: ' +
        "Value null at 'imageIdentifier' failed to satisfy constraint: Member must not be null; " +
        "Value null at 'idlePolicy.maxIdleDurationSeconds' failed to satisfy constraint: Member must not be null; " +
        "Value null at 'idlePolicy.suspendedDurationSeconds' failed to satisfy constraint: Member must not be null; " +
        "Value null at 'idlePolicy.autoResumeEnabled' failed to satisfy constraint: Member must not be null; " +
        "Value '0' at 'maximumDurationInSeconds' failed to satisfy constraint: Member must have value greater than or equal to 1",
    );
  });

  test('a payload for an image whose run hook is not enabled', async () => {
    await using on = await bench();
    const image = await on.call('POST', '/microvm-images', {
      name: 'plain',
      baseImageArn: 'arn:aws:lambda:us-east-1:aws:microvm-image:al2023-1',
      buildRoleArn: 'arn:aws:iam::123456789012:role/build',
      codeArtifact: { uri: 's3://bucket/key.zip' },
    });
    await on.emulator.advance(1000);
    const launch = { imageIdentifier: image.json.imageArn, runHookPayload: '{}' };
    expect((await on.call('POST', '/microvms', launch)).json.message).toBe(
      'The run hook must be enabled in the MicroVM image to pass the run hook payload',
    );
  });

  test('FC-151 memory: the last one admitted may overshoot, then it is 402 with null members', async () => {
    await using on = await bench({ limits: { memoryMiB: 8192 } });
    const ids = [await on.run(), await on.run()];
    const refused = await on.call('POST', '/microvms', { imageIdentifier: on.emulator.imageArn });
    expect(refused).toMatchObject({ status: 402, error: 'ServiceQuotaExceededException' });
    expect(refused.json).toEqual({
      message: 'The base maximum allocated memory limit has been reached for this account.',
      resourceId: null,
      resourceType: null,
      serviceCode: null,
      quotaCode: null,
    });
    await on.terminate(ids[0] ?? '');
    await on.emulator.advance(1000);
    await on.run();
  });

  test('FC-151 rates, switchable, as 429 or as a 400 with the same name', async () => {
    for (const throttleStatus of [429, 400] as const) {
      await using on = await bench({ limits: { ratePerSec: serviceQuotas.ratePerSec, throttleStatus } });
      const launch = { imageIdentifier: on.emulator.imageArn };
      const replies = [];
      for (let count = 0; count < 6; count += 1) replies.push(await on.call('POST', '/microvms', launch));
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, throttleStatus]);
      expect(replies[5]).toMatchObject({
        error: 'ThrottlingException',
        headers: { 'retry-after': '1' },
        json: { message: 'Rate exceeded', serviceCode: null, quotaCode: null },
      });
      await on.emulator.advance(1000);
      const id = await on.run();
      const ends = [];
      for (let count = 0; count < 11; count += 1) ends.push((await on.terminate(id)).status);
      expect(ends).toEqual([...Array.from({ length: 10 }, () => 200), throttleStatus]);
    }
  });
});

describe('what a VM looks like', () => {
  test('numbers for times, null for what has no value, and nothing that was secret', async () => {
    await using on = await bench();
    const reply = await on.call('POST', '/microvms', {
      imageIdentifier: on.emulator.imageArn,
      runHookPayload: 'marker-payload',
      ...policy(60, 0, true),
    });
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.headers['x-amzn-requestid']).toMatch(/^[0-9a-f-]{36}$/);
    expect(reply.json).toEqual({
      microvmId: expect.stringMatching(/^microvm-[0-9a-f-]{36}$/),
      state: 'PENDING',
      endpoint: expect.any(String),
      imageArn: on.emulator.imageArn,
      imageVersion: '1.0',
      maximumDurationInSeconds: 28_800,
      startedAt: on.emulator.clock.wallNow() / 1000,
      executionRoleArn: null,
      idlePolicy: { maxIdleDurationSeconds: 60, suspendedDurationSeconds: 0, autoResumeEnabled: true },
      terminatedAt: null,
      stateReason: null,
      terminationReasonCode: null,
      ingressNetworkConnectors: [connector('HTTP_INGRESS')],
      egressNetworkConnectors: [connector('INTERNET_EGRESS')],
    });
    const [item] = (await on.call('GET', '/microvms')).json.items;
    expect(Object.keys(item).sort()).toEqual(['imageArn', 'imageVersion', 'microvmId', 'startedAt', 'state']);
    const seen = JSON.stringify([on.emulator.recorder.requests, on.emulator.vms(), reply.json]);
    expect(seen).not.toContain('marker-payload');
  });

  test('an unknown id is a 404 with null members', async () => {
    await using on = await bench();
    expect(await on.get('microvm-0')).toMatchObject({
      status: 404,
      error: 'ResourceNotFoundException',
      json: { message: 'MicroVM not found: microvm-0', resourceId: null, resourceType: null },
    });
    for (const act of [on.suspend('microvm-0'), on.resume('microvm-0'), on.terminate('microvm-0')]) {
      expect((await act).status).toBe(404);
    }
  });
});

describe('client tokens', () => {
  test('FC-001 the same request again is the same VM, in whatever state it is now', async () => {
    await using on = await bench();
    const launch = { imageIdentifier: on.emulator.imageArn, clientToken: 't1', ...policy(60, 600, true) };
    const id = (await on.call('POST', '/microvms', launch)).json.microvmId as string;
    await on.emulator.advance(100_000);
    // The order of the members is none of the parameters.
    const again = Object.fromEntries(Object.entries(launch).reverse());
    expect((await on.call('POST', '/microvms', again)).json).toMatchObject({ microvmId: id, state: 'SUSPENDED' });
    expect(on.emulator.vms()).toHaveLength(1);
  });

  test('FC-020 the same token with other parameters is a 409, and launches nothing', async () => {
    await using on = await bench();
    await on.run({ clientToken: 't1', runHookPayload: 'a' });
    const other = { imageIdentifier: on.emulator.imageArn, clientToken: 't1', runHookPayload: 'b' };
    expect(await on.call('POST', '/microvms', other)).toMatchObject({ status: 409, error: 'ConflictException' });
    expect(on.emulator.vms()).toHaveLength(1);
  });

  test('two requests with one token at the same time make one VM', async () => {
    await using on = await bench();
    const ids = await Promise.all([on.run({ clientToken: 't1' }), on.run({ clientToken: 't1' })]);
    expect(new Set(ids).size).toBe(1);
    expect(on.guests.guests).toHaveLength(1);
  });
});

describe('tokens for the endpoint', () => {
  test.each<[string, object, string]>([
    [
      '61 minutes',
      { expirationInMinutes: 61, allowedPorts: [{ port: 1 }] },
      'ExpirationMinutes 61 exceeded max allowed of 60.',
    ],
    [
      '0 minutes',
      { expirationInMinutes: 0, allowedPorts: [{ port: 1 }] },
      "1 validation error detected: Value '0' at 'expirationInMinutes' failed to satisfy constraint: Member must have value greater than or equal to 1",
    ],
    [
      'no ports',
      { expirationInMinutes: 1, allowedPorts: [] },
      "1 validation error detected: Value '[]' at 'allowedPorts' failed to satisfy constraint: Member must have length greater than or equal to 1",
    ],
    [
      'nothing at all',
      {},
      "2 validation errors detected: Value null at 'expirationInMinutes' failed to satisfy constraint: Member must not be null; Value null at 'allowedPorts' failed to satisfy constraint: Member must not be null",
    ],
  ])('FC-151 %s', async (_, body, message) => {
    await using on = await bench();
    const id = await on.run();
    expect(await on.call('POST', `/microvms/${id}/auth-token`, body)).toMatchObject({
      status: 400,
      error: 'ValidationException',
      json: { message },
    });
  });

  test('a port is a union of exactly one', async () => {
    await using on = await bench();
    const id = await on.run();
    const mint = (entry: object) =>
      on.call('POST', `/microvms/${id}/auth-token`, { expirationInMinutes: 1, allowedPorts: [entry] });
    expect(await mint({ allPorts: true })).toMatchObject({ status: 400, json: { Message: 'Expected null' } });
    expect((await mint({ type: 'port', port: 9000 })).status).toBe(400);
    expect((await mint({ port: 70_000 })).status).toBe(400);
    expect((await mint({ range: { startPort: 1, endPort: 9 } })).status).toBe(200);
  });

  test('minted while PENDING and SUSPENDED, refused once TERMINATED', async () => {
    await using on = await bench();
    const id = await on.run();
    await on.token(id);
    await on.emulator.advance(100);
    await on.suspend(id);
    await on.emulator.advance(100);
    await on.token(id);
    expect(await on.state(id)).toBe('SUSPENDED');
    await on.terminate(id);
    await on.emulator.advance(100);
    const body = { expirationInMinutes: 1, allowedPorts: [{ port: 1 }] };
    expect((await on.call('POST', `/microvms/${id}/auth-token`, body)).status).toBe(400);
  });

  test('FC-013 a shell token needs its connector, and no ALL_INGRESS beside it', async () => {
    await using on = await bench();
    const shell = async (ingress: string[]) => {
      const id = await on.run({ ingressNetworkConnectors: ingress.map(connector) });
      return await on.call('POST', `/microvms/${id}/shell-auth-token`, { expirationInMinutes: 5 });
    };
    expect((await shell(['HTTP_INGRESS'])).json.message).toBe(
      'Shell access requires SHELL_INGRESS network connector to be configured on the MicroVM.',
    );
    expect((await shell(['ALL_INGRESS', 'SHELL_INGRESS'])).json.message).toBe(
      'ALL_INGRESS cannot be combined with other ingress network connectors; use HTTP_INGRESS and/or SHELL_INGRESS instead',
    );
    const minted = await shell(['HTTP_INGRESS', 'SHELL_INGRESS']);
    expect(minted.status).toBe(200);
    expect(minted.json.authToken['X-aws-proxy-auth']).toHaveLength(767);
  });
});

describe('regions', () => {
  test('FC-112 a region without the service answers 403 without a message, any other works', async () => {
    await using on = await bench({ unsupportedRegions: ['eu-south-1'] });
    const list = (region: string) =>
      send(`${on.emulator.endpoint}/2025-09-09/microvms`, {
        headers: { authorization: `AWS4-HMAC-SHA256 Credential=A/20260101/${region}/lambda/aws4_request, Signature=0` },
      });
    expect(await list('eu-south-1')).toMatchObject({
      status: 403,
      error: 'AccessDeniedException',
      json: { message: null },
    });
    expect((await list('mars-1')).status).toBe(403);
    expect((await list('eu-central-1')).status).toBe(200);
  });

  test('each region has its own images and VMs', async () => {
    await using on = await bench({ region: 'eu-west-1' });
    expect(on.emulator.imageArn).toBe('arn:aws:lambda:eu-west-1:123456789012:microvm-image:agentd');
    await on.run();
    const other = await send(`${on.emulator.endpoint}/2025-09-09/microvms`, {
      headers: { authorization: 'AWS4-HMAC-SHA256 Credential=A/20260101/us-east-2/lambda/aws4_request, Signature=0' },
    });
    expect(other.json.items).toEqual([]);
  });
});
