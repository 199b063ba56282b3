/** Failures reported from the field, each right for its whole kind, on the sandbox. */
import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import {
  Sandbox,
  VmchartError,
  ensureRunning,
  isBilling,
  isReachable,
  isResumable,
  isTerminal,
  referenceSchedules,
  suspendAll,
  useSandbox,
  withSandbox,
} from '../../effects/index.ts';
import type { RunRequest, SandboxOptions } from '../../effects/index.ts';
import { errorOf } from '../helpers/error-of.ts';
import { ScriptedPlatform, launchAnswers, refusal, settle, vm } from '../helpers/scripted-platform.ts';

const request: RunRequest = { imageIdentifier: 'arn:image' };
const fixed: SandboxOptions = { schedules: referenceSchedules };

async function launched(options: SandboxOptions = {}, more: RunRequest = {}, platform = launchAnswers()) {
  platform.answer('SuspendMicrovm', {}).answer('ResumeMicrovm', {}).answer('TerminateMicrovm', {});
  const sandbox = new Sandbox(platform.ports, { ...fixed, ...options });
  await sandbox.run({ ...request, ...more });
  return { sandbox, platform };
}

async function suspendedOne(options: SandboxOptions = {}, more: RunRequest = {}) {
  const { sandbox, platform } = await launched(options, more);
  platform.answer('GetMicrovm', vm('SUSPENDED'));
  await sandbox.suspend();
  return { sandbox, platform };
}

describe('launch and bootstrap', () => {
  test('FC-001 a repeated launch that finds its VM suspended resumes it once and goes on', async () => {
    const platform = launchAnswers()
      .answer('RunMicrovm', vm('SUSPENDED'))
      .answer('ResumeMicrovm', {})
      .answer('GetMicrovm', vm('PENDING'), vm('RUNNING'));
    const sandbox = new Sandbox(platform.ports, fixed);
    await sandbox.run({ ...request, clientToken: 't1', agentToken: 'mine' });
    expect([sandbox.lifecycle, sandbox.microvmId]).toEqual(['RUNNING', 'mvm-abc123']);
    expect(platform.operations.slice(0, 4)).toEqual(['RunMicrovm', 'ResumeMicrovm', 'GetMicrovm', 'GetMicrovm']);

    const late = launchAnswers()
      .answer('RunMicrovm', vm('SUSPENDED'))
      .answer('ResumeMicrovm', {})
      .answer('GetMicrovm', vm('SUSPENDED'), vm('SUSPENDED'), vm('RUNNING'));
    await new Sandbox(late.ports, fixed).run({ ...request, clientToken: 't1', agentToken: 'mine' });
    expect(late.count('ResumeMicrovm')).toBe(1);
  });

  test('FC-002 RUNNING is not ready: a second wait with its own deadline, which ends no VM', async () => {
    const platform = launchAnswers();
    platform.health = [502, 503, 'bootstrapped'];
    await launched({}, {}, platform);
    expect(platform.daemonCalls.length).toBeGreaterThanOrEqual(3);

    const never = launchAnswers().answer('TerminateMicrovm', {});
    never.health = [502];
    const sandbox = new Sandbox(never.ports, fixed);
    const error = await errorOf(sandbox.run({ ...request, daemonTimeoutMs: 10_000 }));
    expect([error.kind, error.reason, sandbox.lifecycle, never.count('TerminateMicrovm')]).toEqual([
      'Timeout',
      'not-bootstrapped',
      'RUNNING',
      0,
    ]);
  });

  test('FC-004 what fails between the launch and the handle leaves no VM', async () => {
    const platform = launchAnswers().answer('TerminateMicrovm', {});
    const upload = new VmchartError({ wireKind: 'ServerError' }, 'upload failed', { status: 502 });
    const error = await errorOf(withSandbox(platform.ports, request, () => Promise.reject(upload), fixed));
    expect(error).toBe(upload);
    expect([platform.count('RunMicrovm'), platform.count('TerminateMicrovm')]).toEqual([1, 1]);
    await withSandbox(platform.ports, request, () => Promise.resolve(), fixed);
    expect([platform.count('RunMicrovm'), platform.count('TerminateMicrovm')]).toEqual([2, 2]);
  });

  test.each([
    ['terminate', 1],
    ['keep', 0],
  ] as const)('FC-005 a passed deadline names the VM and its last state; onTimeout %s', async (onTimeout, deletes) => {
    const platform = launchAnswers().answer('GetMicrovm', vm('PENDING')).answer('TerminateMicrovm', {});
    const sandbox = new Sandbox(platform.ports, fixed);
    const error = await errorOf(sandbox.run({ ...request, readyTimeoutMs: 120_000 }, { onTimeout }));
    expect([error.kind, platform.clock.now(), platform.count('TerminateMicrovm')]).toEqual([
      'Timeout',
      120_000,
      deletes,
    ]);
    expect(error.message).toMatch(/mvm-abc123.*PENDING/);
    if (onTimeout === 'keep') {
      platform.answer('GetMicrovm', vm('RUNNING'));
      const adopted = await Sandbox.adopt(platform.ports, { microvmId: 'mvm-abc123', agentToken: 'token' });
      expect([adopted.lifecycle, platform.count('RunMicrovm')]).toEqual(['RUNNING', 1]);
    }
  });

  test('FC-016 adopting and resuming send no policy and no body', async () => {
    const platform = new ScriptedPlatform().answer('GetMicrovm', vm('SUSPENDED')).answer('ResumeMicrovm', {});
    const sandbox = await Sandbox.adopt(platform.ports, { microvmId: 'mvm-abc123', agentToken: 'token' }, fixed);
    platform.answer('GetMicrovm', vm('RUNNING'));
    await sandbox.resume();
    expect(platform.calls.every((call) => call.body === null)).toBe(true);
    expect(sandbox.microvm?.idlePolicy?.maxIdleSec).toBe(1800);
  });

  test('FC-019 a refused launch is not remembered: the next one is made', async () => {
    const platform = launchAnswers().answer('RunMicrovm', refusal(402, 'ServiceQuotaExceededException'), vm('PENDING'));
    const sandbox = new Sandbox(platform.ports, fixed);
    await errorOf(sandbox.run(request));
    await sandbox.run(request);
    expect([sandbox.lifecycle, platform.count('RunMicrovm')]).toEqual(['RUNNING', 2]);
  });

  test('FC-020 one intent has one token and one body over all its sends; the next intent has another', async () => {
    const platform = launchAnswers().answer('RunMicrovm', refusal(500, 'InternalServerException'), vm('PENDING'));
    await new Sandbox(platform.ports, fixed).run(request);
    const other = new Sandbox(platform.ports, fixed);
    await other.run(request);
    const [first, second, third] = platform.calls
      .filter((call) => call.operation === 'RunMicrovm')
      .map((call) => call.body);
    expect(JSON.stringify(first)).toBe(JSON.stringify(second));
    expect(third?.['clientToken']).not.toBe(first?.['clientToken']);
  });
});

describe('suspend, resume, idle windows', () => {
  test.each([
    ['recorded', 'expired-while-suspended'],
    ['unknown', 'gone'],
  ])('FC-022 a VM that is gone on wake-up: %s suspension', async (known, reason) => {
    const platform = launchAnswers().answer('SuspendMicrovm', {});
    let sandbox: Sandbox;
    if (known === 'recorded') {
      ({ sandbox } = await launched({ policy: { pastWindow: 'ask' } }, { suspendedSec: 1800 }, platform));
      platform.answer('GetMicrovm', vm('SUSPENDED'));
      await sandbox.suspend();
      expect(sandbox.resumableUntil).toBe(platform.clock.now() + 1_800_000);
      await platform.clock.advance(1_801_000);
    } else {
      platform.answer('GetMicrovm', vm('SUSPENDED'));
      sandbox = await Sandbox.adopt(platform.ports, { microvmId: 'mvm-abc123', agentToken: 't' }, fixed);
    }
    platform.answer('ResumeMicrovm', refusal(404, 'ResourceNotFoundException', 'MicroVM not found'));
    const before = platform.count();
    const error = await errorOf(sandbox.resume());
    expect([error.reason, platform.count() - before, sandbox.lifecycle]).toEqual([reason, 1, 'TERMINATED']);
  });

  test('FC-025 states are never collapsed: four predicates tell what each means', () => {
    expect([
      isBilling('SUSPENDED'),
      isReachable('SUSPENDED', false),
      isReachable('SUSPENDED', true),
      isResumable('SUSPENDED'),
      isTerminal('SUSPENDED'),
    ]).toEqual([false, false, 'on-demand', true, false]);
    expect([isBilling('SUSPENDING'), isBilling('RUNNING'), isBilling('TERMINATED'), isTerminal('TERMINATED')]).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  test('FC-026 with the host as the idle owner the platform is told not to decide', async () => {
    const { sandbox, platform } = await launched(
      {},
      { idleOwner: 'host', maxDurationSec: 28_800, suspendedSec: 900, autoResume: true },
    );
    expect(platform.calls[0]?.body?.['idlePolicy']).toEqual({
      maxIdleDurationSeconds: 28_800,
      suspendedDurationSeconds: 900,
      autoResumeEnabled: false,
    });
    platform.answer('GetMicrovm', vm('SUSPENDED'));
    await sandbox.refresh();
    expect([sandbox.lifecycle, sandbox.cause]).toEqual(['SUSPENDED', 'platform']);
  });

  test('FC-028 past the window the service may be asked instead: only its answer ends a VM', async () => {
    const { sandbox, platform } = await suspendedOne({ policy: { pastWindow: 'ask' } }, { suspendedSec: 60 });
    await platform.clock.advance(240_000);
    platform.answer('GetMicrovm', vm('RUNNING'));
    const before = platform.count();
    await sandbox.resume();
    expect([sandbox.lifecycle, platform.count() - before]).toEqual(['RUNNING', 2]);
  });

  test('FC-032 suspending a fleet wakes nothing', async () => {
    const { platform } = await launched();
    platform.answer(
      'GetMicrovm',
      vm('RUNNING'),
      vm('SUSPENDED'),
      vm('TERMINATED'),
      refusal(404, 'ResourceNotFoundException'),
    );
    const { sandbox } = await launched();
    const report = await suspendAll(new Sandbox(platform.ports).plane, ['m1', 'm2', 'm3', 'm4']);
    expect(report).toEqual({ suspended: 1, alreadySuspended: 1, terminal: 1, gone: 1, failed: [] });
    expect([platform.count('SuspendMicrovm'), platform.count('ResumeMicrovm'), sandbox.lifecycle]).toEqual([
      1,
      0,
      'RUNNING',
    ]);
  });

  test('FC-032 FC-038 a command whose wish is met succeeds without a call, when that is chosen', async () => {
    const lenient = { policy: { whenAlreadyThere: 'succeed' } } as const;
    const { sandbox, platform } = await suspendedOne(lenient);
    await sandbox.suspend();
    expect(platform.count('SuspendMicrovm')).toBe(1);
    platform.answer('GetMicrovm', vm('RUNNING'));
    await sandbox.refresh();
    await sandbox.resume();
    expect(platform.count('ResumeMicrovm')).toBe(0);
  });

  test('FC-037 nothing is sent into a VM whose resume failed', async () => {
    const { sandbox, platform } = await suspendedOne();
    platform.answer('ResumeMicrovm', refusal(400, 'ValidationException', 'a member is missing'));
    const before = platform.daemonCalls.length;
    const error = await errorOf(useSandbox(sandbox, (session) => session.run('true')));
    expect([error.status, platform.daemonCalls.length]).toEqual([400, before]);
  });

  test.each([
    ['RUNNING', [vm('RUNNING')], 'RUNNING', null, 1],
    ['TERMINATING', [vm('TERMINATING')], 'TERMINATING', 'launch-died', 1],
    ['SUSPENDING', [vm('SUSPENDING'), vm('SUSPENDED'), vm('RUNNING')], 'RUNNING', null, 2],
    ['SUSPENDED', [vm('SUSPENDED')], 'SUSPENDED', 'conflict', 1],
  ] as const)(
    'FC-038 a resume in conflict asks where the VM is: %s',
    async (_now, reads, lifecycle, reason, resumes) => {
      const { sandbox, platform } = await suspendedOne();
      platform.answer('ResumeMicrovm', refusal(409, 'ConflictException'), {}).answer('GetMicrovm', ...reads);
      const ended = await sandbox.resume().then(
        () => null,
        (error: VmchartError) => error.reason,
      );
      expect([ended, sandbox.lifecycle, platform.count('ResumeMicrovm')]).toEqual([reason, lifecycle, resumes]);
    },
  );

  test('FC-040 FC-043 the state comes from the service, and a change is told once', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('GetMicrovm', vm('SUSPENDED'));
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const change of sandbox.watch({ everyMs: 30_000, signal: stop.signal })) {
      seen.push(`${change.from} ${change.to} ${change.cause}`);
      // Ten more readings say the same.
      for (let poll = 0; poll < 10; poll += 1) await sandbox.refresh();
      stop.abort();
    }
    expect(seen).toEqual(['RUNNING SUSPENDED platform']);
  });

  test('FC-041 a VM that is gone poisons its session: nothing is sent any more', async () => {
    const { sandbox, platform } = await suspendedOne();
    const session = sandbox.session;
    platform.answer('ResumeMicrovm', { status: 410, body: { message: 'gone' } });
    expect((await errorOf(sandbox.resume())).reason).toBe('gone');
    expect(sandbox.lifecycle).toBe('TERMINATED');
    const before = platform.daemonCalls.length;
    await expect(session?.health()).rejects.toMatchObject({ reason: 'gone' });
    expect(platform.daemonCalls.length).toBe(before);
  });

  test.each([
    ['an answer of the guest', new VmchartError({ wireKind: 'ProtocolError' }, 'no', { status: 422 }), 0],
    ['no answer, and the service says RUNNING', new VmchartError({ wireKind: 'Transport' }, 'reset'), 1],
  ])('FC-056 what fails inside keeps a healthy VM: %s', async (_what, error, asked) => {
    const { sandbox, platform } = await launched();
    platform.answer('GetMicrovm', vm('RUNNING'));
    const reads = platform.count('GetMicrovm');
    expect(await errorOf(useSandbox(sandbox, () => Promise.reject(error)))).toBe(error);
    // The first read is that of making sure that it runs.
    expect([platform.count('GetMicrovm') - reads - 1, platform.count('TerminateMicrovm'), sandbox.lifecycle]).toEqual([
      asked,
      0,
      'RUNNING',
    ]);
  });

  test('FC-044 gone wins over the failure that led to it, which becomes the cause', async () => {
    const { sandbox, platform } = await launched();
    platform.health = [502];
    platform.answer('GetMicrovm', vm('RUNNING'), refusal(404, 'ResourceNotFoundException'));
    const error = await errorOf(useSandbox(sandbox, (session) => session.health()));
    expect([error.reason, (error.cause as VmchartError).status, sandbox.lifecycle]).toEqual([
      'gone',
      502,
      'TERMINATED',
    ]);
  });
});

describe('termination and leaks', () => {
  async function launching(answer: Parameters<ScriptedPlatform['answer']>[1]) {
    const platform = launchAnswers().answer('RunMicrovm', answer).answer('TerminateMicrovm', {}).hold('RunMicrovm');
    const sandbox = new Sandbox(platform.ports, fixed);
    const run = errorOf(sandbox.run(request));
    await settle();
    const terminated = sandbox.terminate();
    await settle();
    return { sandbox, platform, run, terminated };
  }

  test('FC-047 a terminate while launching ends the VM as soon as it has an id', async () => {
    const { sandbox, platform, run, terminated } = await launching(vm('PENDING'));
    expect(platform.count('TerminateMicrovm')).toBe(0);
    platform.release('RunMicrovm');
    expect((await run).kind).toBe('Interrupted');
    expect((await terminated).terminateAccepted).toBe(true);
    expect([platform.count('TerminateMicrovm'), sandbox.lifecycle]).toEqual([1, 'TERMINATING']);
  });

  test('FC-047 a launch that was surely refused leaves nothing to end', async () => {
    const { sandbox, platform, run, terminated } = await launching(refusal(400, 'ValidationException'));
    platform.release('RunMicrovm');
    expect((await run).status).toBe(400);
    expect(await terminated).toMatchObject({ undeleted: [], failures: [] });
    expect([platform.count('TerminateMicrovm'), sandbox.lifecycle]).toEqual([0, 'PENDING']);
  });

  test('FC-047 a lost launch answer is asked for again with the same intent, then ended', async () => {
    const { platform, run, terminated } = await launching('lost');
    platform.release('RunMicrovm');
    await settle();
    for (let send = 0; send < 5; send += 1) platform.also('RunMicrovm', 'lost');
    platform.also('RunMicrovm', vm('RUNNING'));
    expect((await run).retryable).toBe(true);
    expect((await terminated).terminateAccepted).toBe(true);
    const bodies = platform.calls
      .filter((call) => call.operation === 'RunMicrovm')
      .map((call) => JSON.stringify(call.body));
    expect(new Set(bodies).size).toBe(1);
    expect(platform.operations.at(-1)).toBe('TerminateMicrovm');
  });

  test('FC-049 TERMINATED is the end, TERMINATING is not, and a 404 is an end too', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('GetMicrovm', vm('TERMINATING'), vm('TERMINATED'));
    const before = platform.count('GetMicrovm');
    expect((await sandbox.terminate({ waitForTerminated: true })).lifecycle).toBe('TERMINATED');
    expect(platform.count('GetMicrovm') - before).toBe(2);
    expect(await sandbox.terminate()).toMatchObject({ lifecycle: 'TERMINATED', failures: [] });

    const vanished = await launched();
    vanished.platform.answer('GetMicrovm', refusal(404, 'ResourceNotFoundException'));
    expect((await vanished.sandbox.terminate({ waitForTerminated: true })).lifecycle).toBe('TERMINATED');
  });

  test.each([
    ['404', [refusal(404, 'ResourceNotFoundException')], [vm('RUNNING')], 'TERMINATED', 1],
    ['409, then TERMINATING', [refusal(409, 'ConflictException')], [vm('TERMINATING')], 'TERMINATING', 2],
    ['409, then RUNNING', [refusal(409, 'ConflictException'), {}], [vm('RUNNING')], 'TERMINATING', 3],
  ] as const)('FC-050 a terminate answered with %s is a success', async (_how, answers, reads, lifecycle, wire) => {
    const { sandbox, platform } = await launched();
    platform.answer('TerminateMicrovm', ...answers).answer('GetMicrovm', ...reads);
    const before = platform.count();
    const report = await sandbox.terminate();
    expect([report.terminateAccepted, report.failures, sandbox.lifecycle, platform.count() - before]).toEqual([
      true,
      [],
      lifecycle,
      wire,
    ]);
  });

  test('FC-055 SBX-44 SBX-45 a detached handle gives its VM away and does nothing any more', async () => {
    const { sandbox, platform } = await launched({}, { agentToken: 'super-secret-agent-token' });
    const before = platform.count();
    const session = sandbox.session;
    const record = sandbox.detach();
    expect(record).toMatchObject({ microvmId: 'mvm-abc123', region: 'us-east-1', port: 9000 });
    expect(record.agentToken).toBe('super-secret-agent-token');
    expect(inspect(record) + JSON.stringify(record) + inspect(sandbox)).not.toContain('super-secret');
    const refusals = [
      sandbox.suspend(),
      sandbox.resume(),
      sandbox.run(request),
      sandbox.waitUntilReady(),
      session?.health() ?? Promise.resolve(),
    ];
    for (const refused of refusals)
      expect(await errorOf(refused)).toMatchObject({ kind: 'Precondition', reason: 'detached' });
    expect(() => sandbox.detach()).toThrow(/detached/);
    const report = await sandbox.terminate();
    expect([report.terminateAccepted, report.failures[0]]).toEqual([false, expect.stringContaining('detached')]);
    expect([platform.count() - before, sandbox.session, sandbox.abandonmentWarning]).toEqual([0, null, null]);

    const reads = platform.count('GetMicrovm');
    await Sandbox.adopt(platform.ports, record);
    expect([platform.count('GetMicrovm') - reads, platform.count('RunMicrovm')]).toEqual([1, 1]);
    expect(() => new Sandbox(platform.ports).detach()).toThrow(expect.objectContaining({ kind: 'Precondition' }));
    const ended = await launched();
    await ended.sandbox.terminate();
    expect(() => ended.sandbox.detach()).toThrow(expect.objectContaining({ kind: 'Precondition' }));
  });

  test('FC-058 a failed suspend blocks nothing, and a terminate that waits ends at the end', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('SuspendMicrovm', refusal(500, 'InternalServerException'));
    expect((await errorOf(sandbox.suspend())).retryable).toBe(true);
    expect(sandbox.lifecycle).toBe('RUNNING');
    const before = platform.count('SuspendMicrovm');
    platform.answer('SuspendMicrovm', {}).answer('GetMicrovm', vm('SUSPENDED'));
    await sandbox.suspend();
    expect([platform.count('SuspendMicrovm') - before, sandbox.lifecycle]).toEqual([1, 'SUSPENDED']);
  });

  test('FC-059 a scope ends its VM once, and the body speaks first', async () => {
    const platform = launchAnswers().answer('TerminateMicrovm', {});
    expect(await withSandbox(platform.ports, request, () => Promise.resolve('value'), fixed)).toBe('value');
    expect(platform.count('TerminateMicrovm')).toBe(1);

    const failing = launchAnswers().answer('TerminateMicrovm', refusal(500, 'InternalServerException'));
    const leaks: string[] = [];
    const own = new Error('the body failed');
    const scope = withSandbox(failing.ports, request, () => Promise.reject(own), {
      ...fixed,
      onLeak: (report) => void leaks.push(...report.undeleted),
    });
    await expect(scope).rejects.toBe(own);
    expect(leaks).toEqual(['mvm-abc123']);
  });

  test('an adopted VM is not ended by the end of its handle, a launched one is', async () => {
    const platform = launchAnswers().answer('TerminateMicrovm', {});
    {
      await using adopted = await Sandbox.adopt(platform.ports, { microvmId: 'mvm-abc123', agentToken: 't' });
      expect(await ensureRunning(adopted)).toBe(adopted.session);
    }
    expect(platform.count('TerminateMicrovm')).toBe(0);
    {
      await using own = new Sandbox(platform.ports, fixed);
      await own.run(request);
    }
    expect(platform.count('TerminateMicrovm')).toBe(1);
  });
});

describe('waiting and aborting', () => {
  test('FC-118 a wait for a state that cannot come is refused, and the end of a VM ends every wait', async () => {
    const { sandbox, platform } = await launched();
    expect((await errorOf(sandbox.waitFor('PENDING'))).kind).toBe('InvalidArg');
    platform.answer('GetMicrovm', vm('TERMINATING'));
    expect((await errorOf(sandbox.waitFor('SUSPENDED'))).kind).toBe('LaunchDied');
  });

  test('FC-122 a state that nobody knows is kept beside the last known one, and terminate is still allowed', async () => {
    const { sandbox, platform } = await launched();
    platform.answer('GetMicrovm', vm('HIBERNATING'));
    await sandbox.refresh();
    expect([sandbox.lifecycle, sandbox.reported]).toEqual(['RUNNING', 'HIBERNATING']);
    expect((await sandbox.terminate()).terminateAccepted).toBe(true);
  });

  test.each([
    ['keep', 0],
    ['terminate', 1],
  ] as const)('an abort while launching ends the wait; onAbort %s decides about the VM', async (onAbort, deletes) => {
    const platform = launchAnswers().answer('TerminateMicrovm', {}).hold('RunMicrovm');
    const sandbox = new Sandbox(platform.ports, fixed);
    const stop = new AbortController();
    const run = sandbox.run(request, { signal: stop.signal, onAbort });
    const ended = expect(run).rejects.toThrow('enough');
    await settle();
    stop.abort(new Error('enough'));
    await settle();
    expect(sandbox.substate).toBe('PENDING.launching');
    platform.release('RunMicrovm');
    await ended;
    await settle();
    expect(platform.count('TerminateMicrovm')).toBe(deletes);
    if (onAbort === 'keep') expect(sandbox.lifecycle).toBe('RUNNING');
  });

  test('FC-136 FC-137 an outcome of an operation that is over changes nothing', async () => {
    const { sandbox } = await launched();
    const before = JSON.stringify(sandbox.actor.getSnapshot().context);
    const outcome = { op: 1, at: 0, askedAt: 0, description: null, error: null, definite: false, gone: true };
    sandbox.actor.send({ type: 'xstate.done.actor.suspend', output: outcome } as never);
    expect(JSON.stringify(sandbox.actor.getSnapshot().context)).toBe(before);
  });
});
