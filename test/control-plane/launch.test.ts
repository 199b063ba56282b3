import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import {
  assembleLaunch,
  checkLaunch,
  effectiveLaunchEnv,
  egressPostureFor,
  isDefinite,
  isSealed,
  managedConnectorArn,
  mintClientToken,
  parseEgressPosture,
  runHookPayload,
} from 'vmchart/effects';
import type { Entropy, LaunchRequest } from 'vmchart/effects';
import { seededEntropy, systemEntropy } from 'vmchart/adapters';
import { imageArn, recordedPlane, refusal, vm } from './plane-recorder.ts';
import { errorOf } from '../helpers/error-of.ts';

const role = 'arn:aws:iam::123456789012:role/vm';
const connector = (id: string) => `arn:aws:lambda:us-east-1:123456789012:network-connector:${id}`;
const secrets = { agentToken: 'a'.repeat(64) };
const assemble = (launch: LaunchRequest, more: Partial<Parameters<typeof assembleLaunch>[1]> = {}) =>
  assembleLaunch({ imageIdentifier: imageArn, ...launch }, { region: 'us-east-1', secrets, ...more });

/** The message of a local refusal, which must be InvalidArg. */
function refused(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).toMatchObject({ name: 'VmchartError', kind: 'InvalidArg' });
    return (error as Error).message;
  }
  throw new Error('it should have been refused');
}

describe('the body of a launch', () => {
  test('carries the defaults, the payload as text, everything inbound and nothing outbound', () => {
    expect(assemble({}).request).toEqual({
      imageIdentifier: imageArn,
      idlePolicy: { maxIdleDurationSeconds: 600, suspendedDurationSeconds: 600, autoResumeEnabled: false },
      maximumDurationInSeconds: 3600,
      runHookPayload: `{"agent_token":"${secrets.agentToken}"}`,
      ingressNetworkConnectors: ['arn:aws:lambda:us-east-1:aws:network-connector:aws-network-connector:ALL_INGRESS'],
    });
  });

  test('carries what was asked for, with connectors derived from intents', () => {
    const { request, egressPosture } = assemble(
      {
        imageVersion: '2.0',
        executionRoleArn: role,
        egress: true,
        shell: true,
        maxIdleSec: 60,
        suspendedSec: 0,
        autoResume: true,
        maxDurationSec: 28_800,
        logging: { group: '/my/group', stream: 'one' },
      },
      { clientToken: 'kept-1' },
    );
    expect(egressPosture).toBe('open');
    expect(request).toMatchObject({
      imageVersion: '2.0',
      executionRoleArn: role,
      idlePolicy: { maxIdleDurationSeconds: 60, suspendedDurationSeconds: 0, autoResumeEnabled: true },
      maximumDurationInSeconds: 28_800,
      logging: { cloudWatch: { logGroup: '/my/group', logStream: 'one' } },
      ingressNetworkConnectors: [
        managedConnectorArn('HTTP_INGRESS', 'us-east-1'),
        managedConnectorArn('SHELL_INGRESS', 'us-east-1'),
      ],
      egressNetworkConnectors: [managedConnectorArn('INTERNET_EGRESS', 'us-east-1')],
      clientToken: 'kept-1',
    });
  });

  test('equal inputs give equal bodies, whatever the order of the environment', () => {
    const body = (launchEnv: Record<string, string>) =>
      JSON.stringify(assemble({}, { secrets: { ...secrets, launchEnv } }).request);
    expect(body({ B: '2', A: '1' })).toBe(body({ A: '1', B: '2' }));
  });

  test('shows the size of its payload when it is printed, never the payload', () => {
    const { request } = assemble({}, { secrets: { agentToken: 'marker-token' } });
    expect(inspect(request)).not.toContain('marker');
    expect(inspect({ nested: [request] }, { depth: 9 })).not.toContain('marker');
    expect(inspect(request)).toContain('[30 bytes]');
  });

  test('SBX-02 SBX-57 denyEgress points the proxy variables nowhere, unless the caller set them', () => {
    const { request, egressPosture } = assemble(
      { denyEgress: true },
      { secrets: { ...secrets, launchEnv: { https_proxy: 'http://mine' } } },
    );
    const { env } = JSON.parse(request.runHookPayload ?? '') as { env: Record<string, string> };
    const nowhere = 'http://127.0.0.1:1';
    expect(env).toEqual({
      http_proxy: nowhere,
      https_proxy: 'http://mine',
      all_proxy: nowhere,
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      ALL_PROXY: nowhere,
    });
    expect(egressPosture).toBe('best-effort');
    expect(request).not.toHaveProperty('egressNetworkConnectors');
    expect(effectiveLaunchEnv({}, false)).toEqual({});
  });

  test('SBX-23 no image is Precondition', () => {
    expect(() => assembleLaunch({}, { region: 'us-east-1', secrets })).toThrow(
      expect.objectContaining({ kind: 'Precondition', message: expect.stringContaining('build_image first') }),
    );
  });

  test('a kept client token needs a kept agent token and no identity', () => {
    const kept = { keptClientToken: true };
    const parts = { region: 'us-east-1', secrets, clientToken: 't' };
    const launch = { imageIdentifier: imageArn };
    expect(refused(() => assembleLaunch(launch, parts, { ...kept, mintedAgentToken: true }))).toContain('agentToken');
    expect(refused(() => assembleLaunch({ ...launch, identity: true }, parts, kept))).toContain('identity');
    expect(assembleLaunch(launch, parts, kept).request.clientToken).toBe('t');
  });
});

describe('what a launch is refused for', () => {
  const base = { imageIdentifier: imageArn };
  const policy = { maxIdleDurationSeconds: 600, suspendedDurationSeconds: 600, autoResumeEnabled: false };

  test.each<[string, Parameters<typeof checkLaunch>[0], string]>([
    [
      'SBX-05 an idle time of 59 s',
      { ...base, idlePolicy: { ...policy, maxIdleDurationSeconds: 59 } },
      'maxIdleDurationSeconds',
    ],
    ['SBX-05 a role given by name', { ...base, executionRoleArn: 'execution-role' }, 'role *name*'],
    ['SBX-05 a version with a line end', { ...base, imageVersion: '2.0\n' }, 'contains whitespace'],
    ['SBX-35 a lifetime of 0 s', { ...base, maximumDurationInSeconds: 0 }, 'maximumDurationInSeconds'],
    ['a lifetime of 28801 s', { ...base, maximumDurationInSeconds: 28_801 }, 'second VM'],
    ['a lifetime that is no whole number', { ...base, maximumDurationInSeconds: 1.5 }, 'whole number'],
    ['a lifetime of NaN', { ...base, maximumDurationInSeconds: Number.NaN }, 'whole number'],
    [
      'a negative window',
      { ...base, idlePolicy: { ...policy, suspendedDurationSeconds: -1 } },
      'suspendedDurationSeconds',
    ],
    ['an empty version', { ...base, imageVersion: '' }, '1 to 2048'],
    ['an empty image', { imageIdentifier: '' }, 'empty'],
    ['an image of 257 characters', { imageIdentifier: `arn:${'x'.repeat(253)}` }, '257'],
    ['a client token with a space', { ...base, clientToken: 'a b' }, 'clientToken'],
    ['a client token of 129 characters', { ...base, clientToken: 'x'.repeat(129) }, 'clientToken'],
    ['an empty client token', { ...base, clientToken: '' }, 'clientToken'],
    ['a stream without its group', { ...base, logging: { cloudWatch: { logStream: 's' } } }, 'needs a log group'],
    ['a group with a space', { ...base, logging: { cloudWatch: { logGroup: 'a b' } } }, 'logGroup'],
    ['a stream with a colon', { ...base, logging: { cloudWatch: { logGroup: 'g', logStream: 'a:b' } } }, 'logStream'],
    ['a log without a role', { ...base, logging: { cloudWatch: { logGroup: 'g' } } }, 'executionRoleArn'],
  ])('%s', async (_what, request, token) => {
    expect(refused(() => checkLaunch(request))).toContain(token);
    const { plane, recorder } = recordedPlane();
    expect((await errorOf(plane.runMicrovm(request))).message).toContain(token);
    expect(recorder.calls).toEqual([]);
  });

  test('a refused client token is not repeated', () => {
    expect(refused(() => checkLaunch({ ...base, clientToken: 'marker with space' }))).not.toContain('marker');
  });

  test('the limits themselves pass', () => {
    for (const maximumDurationInSeconds of [1, 28_800]) checkLaunch({ ...base, maximumDurationInSeconds });
    checkLaunch({ ...base, idlePolicy: { ...policy, maxIdleDurationSeconds: 60, suspendedDurationSeconds: 0 } });
    checkLaunch({ ...base, clientToken: '!'.repeat(128) });
  });
});

describe('FC-010 an image by its bare name', () => {
  test('is refused without a resolver', async () => {
    const { plane, recorder } = recordedPlane();
    expect(await errorOf(plane.runMicrovm({ imageIdentifier: 'my-img' }))).toMatchObject({
      kind: 'InvalidArg',
      reason: 'invalid-image-identifier',
    });
    expect(recorder.calls).toEqual([]);
  });

  test('is resolved by exact match over all pages, since the filter matches substrings', async () => {
    const item = (name: string) => ({
      name,
      imageArn: imageArn.replace('my-img', name),
      state: 'CREATED',
      createdAt: 1,
    });
    const { plane, recorder } = recordedPlane({
      ListMicrovmImages: [
        { body: { items: [item('my-img-2')], nextToken: 't=' } },
        { body: { items: [], nextToken: 'u' } },
        { body: { items: [item('old-my-img'), item('my-img')], nextToken: null } },
      ],
      RunMicrovm: [{ body: vm('PENDING') }],
    });
    await plane.runMicrovm({ imageIdentifier: await plane.resolveImageArn('my-img') });
    expect(recorder.calls.slice(0, 3).map((call) => call.path)).toEqual([
      '/2025-09-09/microvm-images?nameFilter=my-img',
      '/2025-09-09/microvm-images?nameFilter=my-img&nextToken=t%3D',
      '/2025-09-09/microvm-images?nameFilter=my-img&nextToken=u',
    ]);
    expect(recorder.body(3)['imageIdentifier']).toBe(imageArn);
  });

  test('an ARN passes untouched and costs nothing', async () => {
    const { plane, recorder } = recordedPlane();
    expect(await plane.resolveImageArn(imageArn)).toBe(imageArn);
    expect(recorder.calls).toEqual([]);
  });

  test('a name that nothing has is Precondition, with the name and the region', async () => {
    const { plane } = recordedPlane({ ListMicrovmImages: [{ body: { items: [] } }] });
    const error = await errorOf(plane.resolveImageArn('no-such-image'));
    expect(error).toMatchObject({ kind: 'Precondition' });
    expect(error.message).toMatch(/no-such-image.*us-east-1/);
  });
});

describe('FC-013 connector sets that the service takes now and refuses later', () => {
  const ingress = (...names: Parameters<typeof managedConnectorArn>[0][]) =>
    names.map((name) => managedConnectorArn(name, 'us-east-1'));

  test.each<[string, object]>([
    ['everything beside a finer one', { ingressNetworkConnectors: ingress('ALL_INGRESS', 'SHELL_INGRESS') }],
    ['a shell without HTTP', { ingressNetworkConnectors: ingress('SHELL_INGRESS') }],
    ['a bare name', { ingressNetworkConnectors: ['ALL_INGRESS'] }],
    ['eleven', { ingressNetworkConnectors: Array.from({ length: 11 }, (_, index) => connector(`c${index}`)) }],
    ['a bare name outbound', { egressNetworkConnectors: ['INTERNET_EGRESS'] }],
    ['two outbound', { egressNetworkConnectors: [connector('a'), connector('b')] }],
    [
      'the managed one with one of your own',
      { egressNetworkConnectors: [...ingress('INTERNET_EGRESS'), connector('a')] },
    ],
  ])('%s is refused with zero calls', async (_what, members) => {
    const { plane, recorder } = recordedPlane();
    const error = await errorOf(plane.runMicrovm({ imageIdentifier: imageArn, ...members }));
    expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'invalid-connectors' });
    expect(recorder.calls).toEqual([]);
  });

  test('HTTP with a shell, and everything alone, pass', () => {
    checkLaunch({ imageIdentifier: imageArn, ingressNetworkConnectors: ingress('HTTP_INGRESS', 'SHELL_INGRESS') });
    checkLaunch({ imageIdentifier: imageArn, ingressNetworkConnectors: ingress('ALL_INGRESS') });
    checkLaunch({ imageIdentifier: imageArn, egressNetworkConnectors: [connector('a:12')] });
  });
});

describe('egress posture (client-behaviour 2.13)', () => {
  test('follows from the options and is never sealed', () => {
    expect([
      egressPostureFor(false, [], false),
      egressPostureFor(true, [], false),
      egressPostureFor(false, [], true),
      egressPostureFor(false, [connector('a')], false, 'us-east-1'),
      egressPostureFor(false, [connector('a')], true, 'us-east-1'),
    ]).toEqual(['unsealed', 'open', 'best-effort', 'unsealed', 'best-effort']);
    expect(isSealed('sealed')).toBe(true);
    expect(isSealed('best-effort')).toBe(false);
    expect(parseEgressPosture('sealed')).toBe('sealed');
    expect(parseEgressPosture('Sealed')).toBeNull();
  });

  test('refuses in a fixed order', () => {
    const bad = ['x'];
    expect(refused(() => egressPostureFor(true, bad, true))).toContain('opposite things');
    expect(refused(() => egressPostureFor(true, bad, false))).toContain('egressNetworkConnectors');
    const eleven = Array.from({ length: 11 }, (_, index) => connector(`c${index}`));
    expect(refused(() => egressPostureFor(false, [...eleven, 'x'], false))).toContain('"x"');
    expect(refused(() => egressPostureFor(false, eleven, false))).toContain('11');
  });

  test.each([
    connector('a').replace('us-east-1', 'eu-west-1'),
    connector(''),
    connector('a:01'),
    connector('a:'),
    connector('a b'),
    'arn:aws:lambda:us-east-1:1234:network-connector:a',
    'arn:aws:lambda:us-east-1:aws:network-connector:aws-network-connector:INTERNET_EGRESS',
    connector('x'.repeat(2_000)),
  ])('%s is no connector of your own in us-east-1', (arn) => {
    expect(refused(() => egressPostureFor(false, [arn], false, 'us-east-1'))).toContain('egressNetworkConnectors');
  });

  test('without a region an ARN is held against the region that it names', () => {
    expect(egressPostureFor(false, [connector('a').replace('us-east-1', 'eu-west-1')], false)).toBe('unsealed');
    expect(refused(() => egressPostureFor(false, [connector('a').replace('us-east-1', '.*')], false))).toContain(
      'connector',
    );
  });
});

describe('CTL-02 FC-007 the run hook payload', () => {
  const framing = runHookPayload({ agentToken: '' }).length;

  test('4096 bytes pass, 4097 are refused with both numbers and the trap explained', async () => {
    const fits = runHookPayload({ agentToken: 'a'.repeat(4_096 - framing) });
    expect(Buffer.byteLength(fits)).toBe(4_096);
    const message = refused(() => runHookPayload({ agentToken: 'a'.repeat(4_097 - framing) }));
    for (const token of ['4097 bytes', 'ceiling of 4096', '2025-09-09', 'wrong by 4x', 'one bearer token fits']) {
      expect(message).toContain(token);
    }
  });

  test('a body of 4096 bytes goes out, one of 4097 does not', async () => {
    const { plane, recorder } = recordedPlane({ RunMicrovm: [{ body: vm('PENDING') }] });
    await plane.runMicrovm({ imageIdentifier: imageArn, runHookPayload: 'a'.repeat(4_096) });
    expect(recorder.calls).toHaveLength(1);
    const error = await errorOf(plane.runMicrovm({ imageIdentifier: imageArn, runHookPayload: 'a'.repeat(4_097) }));
    expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'payload-too-large' });
    expect(error.message).toMatch(/4097.*4096/);
    expect(error.message).not.toMatch(/a{9}/);
    expect(recorder.calls).toHaveLength(1);
  });

  test('bytes are counted, not characters', () => {
    expect(refused(() => runHookPayload({ agentToken: '€'.repeat(1_400) }))).toContain(`${framing + 4_200} bytes`);
  });

  test('SBX-04 a launch environment that takes too much is named with its share', () => {
    const launchEnv = { AWS_SESSION_TOKEN: 't'.repeat(4_096), A: 'b' };
    const message = refused(() => runHookPayload({ ...secrets, launchEnv }));
    const rest = runHookPayload(secrets).length;
    const share = JSON.stringify({ agent_token: secrets.agentToken, env: launchEnv }).length - rest;
    expect(message).toContain(`launch env contributed ${share} bytes across 2 variable(s)`);
    expect(message).toContain(`take ${rest}`);
    expect(message).not.toMatch(/t{9}/);
  });

  test('a plain launch carries the token alone; an identity costs exactly 137 bytes', () => {
    const key = Buffer.alloc(32, 1).toString('base64');
    const plain = runHookPayload({ agentToken: 'x', launchEnv: {}, identity: null });
    expect(plain).toBe('{"agent_token":"x"}');
    const full = runHookPayload({ agentToken: 'x', identity: { seed: key, hostPublicKey: key } });
    expect(Object.keys(JSON.parse(full) as object)).toEqual([
      'agent_token',
      'identity_seed',
      'identity_host_public_key',
    ]);
    expect(full.length - plain.length).toBe(137);
  });
});

describe('client tokens (TRAP-1)', () => {
  test('200 mints of one scope are 200 tokens, and verbs never collide', () => {
    const entropy = systemEntropy();
    const tokens = Array.from({ length: 100 }, () => [
      mintClientToken('run', 'my-img', entropy),
      mintClientToken('create', 'my-img', entropy),
    ]).flat();
    expect(new Set(tokens).size).toBe(200);
    expect(tokens.every((token) => /^(run|create)-my-img-[0-9a-f]{16}$/.test(token))).toBe(true);
  });

  test('the label is the tail of its scope, at most 64 bytes, cut between characters', () => {
    const entropy = seededEntropy(1);
    const label = (scope: string) => mintClientToken('create', scope, entropy).slice('create-'.length, -17);
    expect(label(`x${'é'.repeat(40)}`)).toBe('é'.repeat(32));
    expect(label(`${'🚀'.repeat(16)}ab`)).toBe(`${'🚀'.repeat(15)}ab`);
    expect(mintClientToken('create', 'y'.repeat(999), entropy)).toHaveLength(88);
  });

  test('SBX-42 without randomness nothing is sent', async () => {
    const entropy: Entropy = {
      fill: () => {
        throw new Error('empty');
      },
    };
    const { plane, recorder } = recordedPlane({}, { ports: { entropy } });
    expect(await errorOf(plane.runMicrovm({ imageIdentifier: imageArn }))).toMatchObject({ kind: 'Unexpected' });
    expect(recorder.calls).toEqual([]);
  });
});

test('FC-115 a launch has no tags: MicroVMs cannot carry any', () => {
  // @ts-expect-error There is no such member.
  const launch: LaunchRequest = { imageIdentifier: imageArn, tags: { owner: 'me' } };
  expect(assemble(launch).request).not.toHaveProperty('tags');
});

describe('FC-046 a used-up quota opens a cool-down, when asked for', () => {
  const answers = { RunMicrovm: [refusal(402, 'ServiceQuotaExceededException')], TerminateMicrovm: [{}] };
  const launch = { imageIdentifier: imageArn };

  test('launches are refused locally until it is over', async () => {
    const { plane, recorder, clock } = recordedPlane(answers, { quotaCooldownMs: 60_000 });
    await errorOf(plane.runMicrovm(launch));
    await clock.advance(59_999);
    const refusal = await errorOf(plane.runMicrovm(launch));
    expect(refusal).toMatchObject({ reason: 'quota', retryAfterMs: 1 });
    expect(isDefinite(refusal)).toBe(true);
    expect(recorder.count('RunMicrovm')).toBe(1);
    await clock.advance(1);
    await errorOf(plane.runMicrovm(launch));
    expect(recorder.count('RunMicrovm')).toBe(2);
  });

  test('an accepted terminate ends it', async () => {
    const { plane, recorder } = recordedPlane(answers, { quotaCooldownMs: 60_000 });
    await errorOf(plane.runMicrovm(launch));
    await plane.terminateMicrovm('m');
    await errorOf(plane.runMicrovm(launch));
    expect(recorder.count('RunMicrovm')).toBe(2);
  });

  test('by default the next launch goes out', async () => {
    const { plane, recorder } = recordedPlane(answers);
    await errorOf(plane.runMicrovm(launch));
    await errorOf(plane.runMicrovm(launch));
    expect(recorder.count('RunMicrovm')).toBe(2);
  });
});
