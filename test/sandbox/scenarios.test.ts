/** The acceptance scenarios of the sandbox, under the reference schedule and a clock that sleeps move. */
import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { Sandbox, leaked, mintAgentToken, referenceSchedules } from '../../effects/index.ts';
import type { RunRequest } from '../../effects/index.ts';
import { seededEntropy, systemEntropy } from '../../adapters/index.ts';
import { parseVmState, vmStates } from '../../machines/index.ts';
import { errorOf } from '../helpers/error-of.ts';
import { ScriptedPlatform, imageArn, launchAnswers, refusal, vm } from '../helpers/scripted-platform.ts';

const options = { schedules: referenceSchedules };
const image = 'arn:image';

async function launched(request: RunRequest = {}, platform = launchAnswers()) {
  const sandbox = new Sandbox(platform.ports, options);
  await sandbox.run({ imageIdentifier: image, ...request });
  return { sandbox, platform };
}

async function suspended(suspendedSec: number) {
  const { sandbox, platform } = await launched({ suspendedSec });
  platform.answer('SuspendMicrovm', {}).answer('GetMicrovm', vm('SUSPENDED'));
  await sandbox.suspend();
  expect(platform.clock.now()).toBe(0);
  return { sandbox, platform };
}

describe('launch', () => {
  test('SBX-01 a launch reaches RUNNING with its token and one read', async () => {
    const platform = launchAnswers();
    const sandbox = new Sandbox(platform.ports, options);
    expect([sandbox.lifecycle, sandbox.imageExists, sandbox.tokenInstalled]).toEqual(['PENDING', false, false]);
    const session = await sandbox.run({ imageIdentifier: image });
    expect(session.endpoint).toBe('https://mvm-abc123.microvm.us-east-1.amazonaws.com');
    expect(sandbox.lifecycle).toBe('RUNNING');
    expect([sandbox.imageExists, sandbox.tokenInstalled, sandbox.bootstrapCount]).toEqual([true, true, 1]);
    expect(sandbox.microvmId).toBe('mvm-abc123');
    const body = platform.calls[0]?.body;
    expect(body?.['runHookPayload']).toMatch(/^\{"agent_token":/);
    expect(body?.['idlePolicy']).toMatchObject({ suspendedDurationSeconds: 600 });
    expect(platform.operations).toEqual(['RunMicrovm', 'GetMicrovm', 'CreateMicrovmAuthToken']);
    expect(platform.daemonCalls).toEqual(['GET /v1/health']);
  });

  test('SBX-02 the launch environment travels in the payload', async () => {
    const launchEnv = { ANTHROPIC_BASE_URL: 'https://gateway.example', PATH: '/usr/local/bin:/usr/bin:/bin' };
    const { platform } = await launched({ launchEnv });
    const payload = JSON.parse(String(platform.calls[0]?.body?.['runHookPayload'])) as Record<string, unknown>;
    expect(payload['agent_token']).toMatch(/./);
    expect(payload['env']).toEqual(launchEnv);
  });

  test('SBX-03 a pinned version is sent, an absent one is left out', async () => {
    const pinned = await launched({ imageVersion: '2.0' });
    const latest = await launched();
    expect(pinned.platform.calls[0]?.body).toMatchObject({ imageVersion: '2.0' });
    expect(latest.platform.calls[0]?.body).not.toHaveProperty('imageVersion');
  });

  test('SBX-04 a payload over its ceiling is refused with zero calls and leaves the handle usable', async () => {
    const platform = launchAnswers();
    const sandbox = new Sandbox(platform.ports, options);
    const error = await errorOf(
      sandbox.run({ imageIdentifier: image, launchEnv: { AWS_SESSION_TOKEN: 't'.repeat(4096) } }),
    );
    expect(error.kind).toBe('InvalidArg');
    expect(error.message).toContain('ceiling of 4096');
    expect(error.message).toContain('launch env contributed');
    expect(error.message).not.toContain('tttttttt');
    expect([platform.count(), sandbox.lifecycle, sandbox.bootstrapCount, sandbox.microvmId]).toEqual([
      0,
      'PENDING',
      0,
      null,
    ]);
    await sandbox.run({ imageIdentifier: image });
    expect(sandbox.lifecycle).toBe('RUNNING');
  });

  test.each([
    ['maxIdleSec 59', { maxIdleSec: 59 }, 'maxIdleDurationSeconds'],
    ['a role name', { executionRoleArn: 'execution-role' }, 'role *name*'],
    ['a version with a line feed', { imageVersion: '2.0\n' }, 'contains whitespace'],
  ])('SBX-05 %s is refused with zero calls', async (_what, request, token) => {
    const platform = launchAnswers();
    const sandbox = new Sandbox(platform.ports, options);
    const error = await errorOf(sandbox.run({ imageIdentifier: image, ...request }));
    expect(error.kind).toBe('InvalidArg');
    expect(error.message).toContain(token);
    expect([platform.count(), sandbox.lifecycle, sandbox.microvmId]).toEqual([0, 'PENDING', null]);
  });

  test('SBX-06 a launch that dies leaves PENDING, no token, and the reason in the error', async () => {
    const platform = launchAnswers().answer('GetMicrovm', vm('TERMINATED', { stateReason: 'run hook returned 500' }));
    const sandbox = new Sandbox(platform.ports, options);
    const error = await errorOf(sandbox.run({ imageIdentifier: image }));
    expect(error.kind).toBe('LaunchDied');
    expect(error.message).toContain('run hook returned 500');
    expect([sandbox.tokenInstalled, sandbox.bootstrapCount, sandbox.lifecycle, sandbox.imageExists]).toEqual([
      false,
      0,
      'PENDING',
      true,
    ]);
    expect(sandbox.substate).toBe('PENDING.held');
  });

  test('SBX-07 a second run is refused: a second VM needs a second Sandbox', async () => {
    const { sandbox, platform } = await launched();
    const before = platform.count();
    const error = await errorOf(sandbox.run({ imageIdentifier: image }));
    expect([error.kind, error.requirement]).toEqual(['InvalidArg', 'STATE-3']);
    expect(error.message).toContain('STATE-3');
    expect(error.message).toContain('needs a second Sandbox');
    expect([sandbox.bootstrapCount, platform.count(), platform.count('RunMicrovm')]).toEqual([1, before, 1]);
  });
});

describe('suspend and resume', () => {
  test('SBX-08 a suspend is one call and keeps the token', async () => {
    const { sandbox, platform } = await suspended(600);
    expect([sandbox.lifecycle, sandbox.tokenInstalled, sandbox.bootstrapCount]).toEqual(['SUSPENDED', true, 1]);
    const calls = platform.calls.filter((call) => call.operation === 'SuspendMicrovm');
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ method: 'POST', path: '/2025-09-09/microvms/mvm-abc123/suspend', body: null });
  });

  test('SBX-09 a VM that dies while suspending ends in TERMINATED without an error', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('SuspendMicrovm', {}).also('GetMicrovm', vm('TERMINATED', { stateReason: 'idle policy' }));
    await sandbox.suspend();
    expect([sandbox.lifecycle, sandbox.wasTerminated]).toEqual(['TERMINATED', true]);
  });

  test('SBX-10 a refused suspend leaves RUNNING and may be repeated', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('SuspendMicrovm', refusal(409, 'ConflictException'), {}).answer('GetMicrovm', vm('SUSPENDED'));
    const error = await errorOf(sandbox.suspend());
    expect(error.kind).toBe('Platform');
    expect(sandbox.lifecycle).toBe('RUNNING');
    await sandbox.suspend();
    expect([sandbox.lifecycle, platform.count('SuspendMicrovm')]).toEqual(['SUSPENDED', 2]);
  });

  test('SBX-11 a suspend outside RUNNING is refused with zero calls', async () => {
    const { sandbox, platform } = await suspended(600);
    const error = await errorOf(sandbox.suspend());
    expect([error.kind, error.requirement, platform.count('SuspendMicrovm')]).toEqual(['InvalidArg', 'STATE-5', 1]);
    expect(error.message).toContain('STATE-5');
    expect(error.message).toContain('SUSPENDED');
    const fresh = launchAnswers();
    expect((await errorOf(new Sandbox(fresh.ports, options).suspend())).kind).toBe('Precondition');
    expect(fresh.count()).toBe(0);
  });

  test('SBX-12 SBX-13 a resume delivers nothing and drops the proxy token', async () => {
    const { sandbox, platform } = await suspended(600);
    const auth = sandbox.session?.proxyAuth;
    await sandbox.session?.headers();
    expect([auth?.isCached(), auth?.mintCount]).toEqual([true, 1]);
    platform.answer('ResumeMicrovm', {}).also('GetMicrovm', vm('RUNNING'));
    const session = await sandbox.resume();
    expect(session.endpoint).toBe('https://mvm-abc123.microvm.us-east-1.amazonaws.com');
    expect([sandbox.lifecycle, sandbox.tokenInstalled, sandbox.bootstrapCount]).toEqual(['RUNNING', true, 1]);
    expect([platform.count('RunMicrovm'), auth?.isCached()]).toEqual([1, false]);
    await session.headers();
    expect(auth?.mintCount).toBe(2);
  });

  test('SBX-14 a resume past the window is refused before any call, and moves no clock', async () => {
    const { sandbox, platform } = await suspended(60);
    expect(sandbox.suspendedWindowMs).toBe(60_000);
    await platform.clock.advance(61_000);
    platform.answer('ResumeMicrovm', {}).answer('GetMicrovm', vm('TERMINATED'));
    const error = await errorOf(sandbox.resume());
    expect([error.kind, error.code, error.requirement]).toEqual(['WindowClosed', 'ERR_WINDOW_CLOSED', 'STATE-12']);
    for (const token of [
      '61s',
      '60s suspendedDurationSeconds',
      'idlePolicy',
      'GetMicrovm does not return it',
      'Refused before ResumeMicrovm',
    ]) {
      expect(error.message).toContain(token);
    }
    expect([platform.count('ResumeMicrovm'), platform.clock.now()]).toEqual([0, 61_000]);
  });

  test('SBX-15 the window is open at its last instant', async () => {
    const { sandbox, platform } = await suspended(60);
    await platform.clock.advance(60_000);
    platform.answer('ResumeMicrovm', {}).also('GetMicrovm', vm('RUNNING'));
    await sandbox.resume();
    expect([sandbox.lifecycle, platform.count('ResumeMicrovm')]).toEqual(['RUNNING', 1]);
  });

  test('SBX-16 each suspension starts its own window', async () => {
    const platform = launchAnswers().answer(
      'GetMicrovm',
      vm('RUNNING'),
      vm('SUSPENDED'),
      vm('RUNNING'),
      vm('SUSPENDED'),
      vm('RUNNING'),
    );
    platform.answer('SuspendMicrovm', {}).answer('ResumeMicrovm', {});
    const { sandbox } = await launched({ suspendedSec: 60 }, platform);
    for (let cycle = 0; cycle < 2; cycle += 1) {
      await sandbox.suspend();
      expect(sandbox.lifecycle).toBe('SUSPENDED');
      await platform.clock.advance(45_000);
      await sandbox.resume();
      expect(sandbox.lifecycle).toBe('RUNNING');
    }
    expect([sandbox.bootstrapCount, platform.clock.now(), platform.count('ResumeMicrovm')]).toEqual([1, 90_000, 2]);
  });
});

describe('terminate', () => {
  test('SBX-17 a terminated VM is never resumed', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('TerminateMicrovm', {});
    const report = await sandbox.terminate();
    expect([report.terminateAccepted, sandbox.wasTerminated]).toEqual([true, true]);
    const error = await errorOf(sandbox.resume());
    expect([error.kind, error.requirement]).toEqual(['InvalidArg', 'STATE-11']);
    expect(error.message).toContain('STATE-11');
    expect([platform.count('ResumeMicrovm'), sandbox.lifecycle]).toEqual([0, 'TERMINATING']);
  });

  test('SBX-18 acceptance is TERMINATING; a wait sees TERMINATED', async () => {
    const first = await launched();
    first.platform.answer('TerminateMicrovm', {});
    const report = await first.sandbox.terminate();
    expect([report.terminateAccepted, first.sandbox.wasTerminated, report.lifecycle, leaked(report)]).toEqual([
      true,
      true,
      'TERMINATING',
      false,
    ]);
    const second = await launched();
    second.platform.answer('TerminateMicrovm', {}).also('GetMicrovm', vm('TERMINATED'));
    const waited = await second.sandbox.terminate({ waitForTerminated: true });
    expect([waited.lifecycle, second.sandbox.lifecycle]).toEqual(['TERMINATED', 'TERMINATED']);
  });

  async function built(name: string) {
    const platform = launchAnswers()
      .answer('CreateMicrovmImage', { imageArn: imageArn(name), name, state: 'CREATING', imageVersion: '1' })
      .answer('GetMicrovmImage', { imageArn: imageArn(name), name, state: 'CREATED' })
      .answer('ListMicrovmImageVersions', {
        items: [{ imageArn: imageArn(name), imageVersion: '1', state: 'SUCCESSFUL', status: 'ACTIVE' }],
      })
      .answer('TerminateMicrovm', {});
    const sandbox = new Sandbox(platform.ports, options);
    await sandbox.buildImage({
      name,
      baseImageArn: 'arn:aws:lambda:us-east-1:aws:microvm-image:al2023-1',
      buildRoleArn: 'arn:aws:iam::123456789012:role/build',
      codeArtifact: { uri: 's3://bucket/artifact.zip' },
    });
    await sandbox.run();
    return { sandbox, platform };
  }

  test('SBX-19 teardown is VM, then image, and the log group is named last', async () => {
    const { sandbox, platform } = await built('agentd-conformance');
    platform.answer('DeleteMicrovmImage', { imageIdentifier: imageArn('agentd-conformance'), state: 'DELETING' });
    const report = await sandbox.terminate({ deleteImage: true, deleteLogGroup: true });
    expect([report.terminateAccepted, report.imageDeleted, leaked(report)]).toEqual([true, true, true]);
    expect(platform.operations.filter((name) => /^(Terminate|Delete)/.test(name))).toEqual([
      'TerminateMicrovm',
      'DeleteMicrovmImage',
    ]);
    expect(report.undeleted).toEqual(['/aws/lambda-microvms/agentd-conformance']);
    expect(report.failures.at(-1)).toMatch(/log group.*terraform destroy/);
    expect(sandbox.imageExists).toBe(false);
  });

  test('SBX-20 an image that cannot be deleted is named', async () => {
    const { sandbox, platform } = await built('img');
    platform.answer('DeleteMicrovmImage', refusal(409, 'ConflictException'));
    const before = platform.clock.now();
    const report = await sandbox.terminate({ deleteImage: true, deleteAttempts: 3, deleteBackoffMs: 1_000 });
    expect([report.imageDeleted, report.undeleted, sandbox.imageExists]).toEqual([false, [imageArn('img')], true]);
    expect([platform.count('DeleteMicrovmImage'), platform.count('ListMicrovmImageVersions')]).toEqual([3, 3]);
    expect(platform.clock.now() - before).toBe(2_000);
  });

  test('SBX-21 a terminate that fails is tried six times and names the VM', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('TerminateMicrovm', refusal(500, 'InternalServerException'));
    const report = await sandbox.terminate();
    expect([report.terminateAccepted, report.undeleted, sandbox.wasTerminated, report.lifecycle]).toEqual([
      false,
      ['mvm-abc123'],
      true,
      'TERMINATING',
    ]);
    expect(report.failures).not.toHaveLength(0);
    expect(platform.count('TerminateMicrovm')).toBe(6);
  });

  test('SBX-22 nothing launched, nothing to terminate', async () => {
    const platform = launchAnswers();
    const report = await new Sandbox(platform.ports, options).terminate();
    expect([report.terminateAccepted, leaked(report), report.lifecycle, platform.count()]).toEqual([
      false,
      false,
      'PENDING',
      0,
    ]);
  });
});

describe('what is refused, shown and remembered', () => {
  test('SBX-23 a run without an image says what to do', async () => {
    const platform = launchAnswers();
    const error = await errorOf(new Sandbox(platform.ports, options).run());
    expect(error.kind).toBe('Precondition');
    expect(error.message).toContain('build_image first');
    expect(platform.count()).toBe(0);
  });

  test('SBX-24 SBX-47 the six states are spelled as the service spells them', async () => {
    expect(vmStates).toEqual(['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING', 'TERMINATED']);
    expect(vmStates.map(parseVmState)).toEqual(vmStates);
    expect(parseVmState('Running')).toBeNull();
    const live = [];
    for (const state of vmStates) {
      const platform = new ScriptedPlatform().answer('GetMicrovm', vm(state));
      const sandbox = await Sandbox.adopt(platform.ports, { microvmId: 'mvm-abc123', agentToken: 't' });
      expect(sandbox.lifecycle).toBe(state);
      if (sandbox.isLive) live.push(state);
    }
    expect(live).toEqual(['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED']);
  });

  test('SBX-25 two hundred minted tokens are two hundred tokens', () => {
    const tokens = Array.from({ length: 200 }, () => mintAgentToken(systemEntropy()));
    expect(new Set(tokens).size).toBe(200);
    for (const token of tokens) expect(token).toMatch(/^(?!0{64})[0-9a-f]{64}$/);
  });

  test('SBX-26 a rendering shows the VM and not its token', async () => {
    const { sandbox } = await launched({ agentToken: 'super-secret-agent-token' });
    for (const text of [
      inspect(sandbox, { depth: 10 }),
      JSON.stringify(sandbox),
      String(sandbox),
      inspect(sandbox.session),
    ]) {
      expect(text).not.toContain('super-secret');
    }
    expect(inspect(sandbox)).toMatch(/mvm-abc123.*RUNNING/);
  });

  test('SBX-27 SBX-43 a dropped live VM is warned of, a torn down one is not', async () => {
    const { sandbox, platform } = await launched();
    expect([sandbox.isLive, sandbox.isTornDown]).toEqual([true, false]);
    expect(sandbox.abandonmentWarning?.match(/mvm-abc123/g)).toHaveLength(2);
    platform.answer('TerminateMicrovm', {});
    await sandbox.terminate();
    expect([sandbox.isLive, sandbox.isTornDown, sandbox.abandonmentWarning]).toEqual([false, true, null]);
  });
});

describe('the newer generation', () => {
  test('SBX-28 the session is handed out once the daemon is bootstrapped', async () => {
    const platform = launchAnswers();
    platform.health = [503, 'bootstrapped'];
    await launched({}, platform);
    expect(platform.daemonCalls).toEqual(['GET /v1/health', 'GET /v1/health']);
  });

  test('SBX-29 SBX-62 a launch that does not wait is finished by waitUntilReady', async () => {
    const platform = launchAnswers();
    platform.health = [503, 'bootstrapped'];
    const sandbox = new Sandbox(platform.ports, options);
    const session = await sandbox.run({ imageIdentifier: image, wait: false });
    expect(session.endpoint).toMatch(/^https:/);
    expect([sandbox.lifecycle, sandbox.bootstrapCount, platform.count('GetMicrovm'), platform.daemonCalls]).toEqual([
      'PENDING',
      0,
      0,
      [],
    ]);
    await sandbox.waitUntilReady();
    expect([sandbox.lifecycle, sandbox.bootstrapCount, platform.daemonCalls.length]).toEqual(['RUNNING', 1, 2]);
  });

  test('SBX-30 a daemon that never comes is a Timeout, and the VM runs on', async () => {
    const platform = launchAnswers();
    platform.health = [503];
    const sandbox = new Sandbox(platform.ports, options);
    expect((await errorOf(sandbox.run({ imageIdentifier: image }))).kind).toBe('Timeout');
    expect(platform.daemonCalls.length).toBeGreaterThan(1);
    expect([sandbox.lifecycle, sandbox.tokenInstalled, platform.count('TerminateMicrovm')]).toEqual([
      'RUNNING',
      true,
      0,
    ]);
  });

  test('SBX-31 a bare name is resolved to the exact match', async () => {
    const items = ['wanted-image-old', 'wanted-image'].map((name) => ({
      imageArn: imageArn(name),
      name,
      state: 'CREATED',
    }));
    const { platform } = await launched(
      { imageIdentifier: 'wanted-image' },
      launchAnswers().answer('ListMicrovmImages', { items }),
    );
    expect(platform.operations.slice(0, 2)).toEqual(['ListMicrovmImages', 'RunMicrovm']);
    expect(platform.calls[1]?.body).toMatchObject({ imageIdentifier: imageArn('wanted-image') });
  });

  test('SBX-32 an ARN costs no listing', async () => {
    const { sandbox, platform } = await launched({ imageIdentifier: imageArn('a') });
    expect([platform.operations[0], sandbox.launchImageArn]).toEqual(['RunMicrovm', imageArn('a')]);
  });

  test('SBX-33 SBX-34 a refused launch still names its image, an unknown image leaves the handle as it was', async () => {
    const items = [{ imageArn: imageArn('wanted'), name: 'wanted', state: 'CREATED' }];
    const refusing = launchAnswers()
      .answer('ListMicrovmImages', { items })
      .answer('RunMicrovm', refusal(400, 'ValidationException'));
    const sandbox = new Sandbox(refusing.ports, options);
    await errorOf(sandbox.run({ imageIdentifier: 'wanted' }));
    expect([sandbox.launchImageArn, sandbox.microvmId, refusing.count('RunMicrovm')]).toEqual([
      imageArn('wanted'),
      null,
      1,
    ]);

    const empty = launchAnswers().answer('ListMicrovmImages', { items: [] });
    const other = new Sandbox(empty.ports, options);
    const error = await errorOf(other.run({ imageIdentifier: 'no-such-image' }));
    expect(error.code).toBe('ERR_PRECONDITION');
    expect(error.message).toContain('no-such-image');
    expect([empty.count('RunMicrovm'), other.launchImageArn, other.imageExists, other.bootstrapCount]).toEqual([
      0,
      null,
      false,
      0,
    ]);
    await other.run({ imageIdentifier: image });
    expect(empty.count('RunMicrovm')).toBe(1);
  });

  test('SBX-35 local refusals come before the listing', async () => {
    const platform = launchAnswers();
    const sandbox = new Sandbox(platform.ports, options);
    expect((await errorOf(sandbox.run({ imageIdentifier: 'bare', maxDurationSec: 0 }))).kind).toBe('InvalidArg');
    expect([platform.count(), sandbox.launchImageArn]).toEqual([0, null]);
  });

  test('SBX-41 the draws of one launch: token, seeds, nonce', async () => {
    const drawn: string[] = [];
    const source = seededEntropy(3);
    const entropy = {
      fill: (bytes: Uint8Array) => (source.fill(bytes), void drawn.push(Buffer.from(bytes).toString('hex'))),
    };
    const platform = launchAnswers(new ScriptedPlatform({ entropy }));
    const { sandbox } = await launched({ identity: true }, platform);
    const body = platform.calls[0]?.body;
    const payload = JSON.parse(String(body?.['runHookPayload'])) as Record<string, string>;
    expect(payload['agent_token']).toBe(drawn[0]);
    expect(payload['identity_seed']).toBe(Buffer.from(drawn[1] ?? '', 'hex').toString('base64'));
    expect(String(body?.['clientToken']).endsWith(drawn[3] ?? 'x')).toBe(true);
    expect(drawn).toHaveLength(4);
    expect(sandbox.tunnelIdentity?.hostSeed).toBe(Buffer.from(drawn[2] ?? '', 'hex').toString('base64'));
  });

  test('SBX-42 without entropy there is no launch', async () => {
    const entropy = {
      fill: () => {
        throw new Error('pool');
      },
    };
    const platform = launchAnswers(new ScriptedPlatform({ entropy }));
    const error = await errorOf(new Sandbox(platform.ports, options).run({ imageIdentifier: image }));
    expect([error.kind, platform.count('RunMicrovm')]).toEqual(['Unexpected', 0]);
  });

  const adoption = { microvmId: 'mvm-abc123', agentToken: 'planted-token' };
  const adopted = (state: string, platform = new ScriptedPlatform()) => {
    platform.answer('GetMicrovm', vm(state));
    return Sandbox.adopt(platform.ports, adoption, options).then((sandbox) => ({ sandbox, platform }));
  };

  test('SBX-48 an adopted VM is held: it cannot be launched again', async () => {
    const { sandbox, platform } = await adopted('RUNNING');
    expect([sandbox.lifecycle, sandbox.tokenInstalled, sandbox.bootstrapCount, sandbox.imageExists]).toEqual([
      'RUNNING',
      true,
      1,
      true,
    ]);
    expect(sandbox.session?.agentToken).toBe('planted-token');
    expect((await errorOf(sandbox.run({ imageIdentifier: image }))).requirement).toBe('STATE-3');
    expect([platform.operations, sandbox.abandonmentWarning]).toEqual([['GetMicrovm'], null]);
  });

  test('SBX-50 an adopted VM lives on without a payload', async () => {
    const { sandbox, platform } = await adopted('RUNNING');
    platform.answer('SuspendMicrovm', {}).answer('ResumeMicrovm', {}).answer('TerminateMicrovm', {});
    platform.answer('GetMicrovm', vm('SUSPENDED'), vm('RUNNING'), vm('TERMINATED'));
    await sandbox.suspend();
    await sandbox.resume();
    await sandbox.terminate({ waitForTerminated: true });
    expect([sandbox.lifecycle, platform.count('RunMicrovm'), sandbox.bootstrapCount]).toEqual(['TERMINATED', 0, 1]);
    expect(JSON.stringify(platform.calls)).not.toMatch(/runHookPayload|planted-token/);
  });

  test('SBX-51 SBX-60 the reported window counts where there is no launch of ours', async () => {
    const { sandbox, platform } = await adopted('RUNNING');
    platform.answer('SuspendMicrovm', {}).answer('GetMicrovm', vm('SUSPENDED'));
    await sandbox.suspend();
    await platform.clock.advance(601_000);
    expect(sandbox.suspendedWindowMs).toBeNull();
    const error = await errorOf(sandbox.resume());
    expect([error.kind, platform.count('ResumeMicrovm')]).toEqual(['WindowClosed', 0]);
    expect(error.message).toContain('600s');
  });

  test('SBX-52 an adopted suspended VM is left to the service', async () => {
    const { sandbox, platform } = await adopted('SUSPENDED');
    platform.answer('ResumeMicrovm', {}).answer('GetMicrovm', vm('RUNNING'));
    await sandbox.resume();
    expect([sandbox.lifecycle, platform.count('ResumeMicrovm')]).toEqual(['RUNNING', 1]);
  });

  test('SBX-53 an adopted dead VM has no session and takes no command', async () => {
    const { sandbox, platform } = await adopted('TERMINATED');
    expect([sandbox.wasTerminated, sandbox.session]).toEqual([true, null]);
    expect((await errorOf(sandbox.resume())).requirement).toBe('STATE-11');
    expect((await errorOf(sandbox.suspend())).requirement).toBe('STATE-5');
    expect(platform.operations).toEqual(['GetMicrovm']);
  });

  test('SBX-54 an adopted PENDING VM counts its bootstrap once', async () => {
    const { sandbox, platform } = await adopted('PENDING');
    platform
      .answer('GetMicrovm', vm('RUNNING'))
      .answer('CreateMicrovmAuthToken', { authToken: { 'X-aws-proxy-auth': 'j' } });
    expect(sandbox.bootstrapCount).toBe(0);
    await sandbox.waitUntilReady({ timeoutMs: 60_000 });
    expect([sandbox.bootstrapCount, sandbox.tokenInstalled]).toEqual([1, true]);
    expect((await errorOf(sandbox.run({ imageIdentifier: image }))).requirement).toBe('STATE-3');
  });

  test('SBX-55 an adoption that cannot be right is refused, and shows no token', async () => {
    const platform = new ScriptedPlatform().answer('GetMicrovm', vm('RUNNING'));
    const empty = await errorOf(Sandbox.adopt(platform.ports, { ...adoption, agentToken: '' }));
    expect([empty.kind, platform.count()]).toEqual(['InvalidArg', 0]);
    const elsewhere = await errorOf(Sandbox.adopt(platform.ports, { ...adoption, endpoint: 'https://other.example' }));
    expect(elsewhere.kind).toBe('InvalidArg');
    const unknown = await errorOf(Sandbox.adopt(platform.answer('GetMicrovm', vm('REBOOTING')).ports, adoption));
    expect(unknown.kind).toBe('Platform');
    for (const error of [empty, elsewhere, unknown]) expect(inspect(error)).not.toContain('planted-token');
  });

  test('SBX-61 a caller-kept launch brings a suspended VM back once; another one fails fast', async () => {
    const platform = launchAnswers().answer('GetMicrovm', vm('SUSPENDED'), vm('RUNNING')).answer('ResumeMicrovm', {});
    const kept = await launched({ clientToken: 'kept-token', agentToken: 'a-token' }, platform);
    expect([kept.sandbox.lifecycle, kept.sandbox.bootstrapCount, platform.count('ResumeMicrovm')]).toEqual([
      'RUNNING',
      1,
      1,
    ]);

    const ordinary = launchAnswers().answer('GetMicrovm', vm('SUSPENDED'));
    const sandbox = new Sandbox(ordinary.ports, options);
    expect((await errorOf(sandbox.run({ imageIdentifier: image }))).kind).toBe('LaunchDied');
    expect(ordinary.count('ResumeMicrovm')).toBe(0);
  });

  test('SBX-63 a lifecycle wait looks 61 times in its 300 seconds', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('SuspendMicrovm', {}).answer('GetMicrovm', vm('SUSPENDING'));
    const before = platform.count('GetMicrovm');
    expect((await errorOf(sandbox.suspend())).kind).toBe('Timeout');
    expect(platform.count('GetMicrovm') - before).toBe(61);
    expect([sandbox.substate, platform.clock.now()]).toEqual(['SUSPENDING.unsettled', 300_000]);
  });
});
