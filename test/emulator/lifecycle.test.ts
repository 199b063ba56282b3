import { describe, expect, test } from '@jest/globals';
import { bench, policy } from './bench.ts';

const slow = { launchDelayMs: 2000, suspendDelayMs: 1000, resumeDelayMs: 1000, terminateDelayMs: 1000 };

describe('a VM over time', () => {
  test('FC-142 every transition takes time, and the next read shows the state in between', async () => {
    await using on = await bench(slow);
    const { emulator } = on;
    const run = await on.call('POST', '/microvms', { imageIdentifier: emulator.imageArn });
    const id = run.json.microvmId as string;
    expect(run.json.state).toBe('PENDING');
    expect(await on.state(id)).toBe('PENDING');
    await emulator.advance(2000);
    expect(await on.state(id)).toBe('RUNNING');
    expect(await on.suspend(id)).toMatchObject({ status: 200, json: {} });
    expect(await on.state(id)).toBe('SUSPENDING');
    await emulator.advance(1000);
    expect(await on.state(id)).toBe('SUSPENDED');
    expect(await on.terminate(id)).toMatchObject({ status: 200, json: {} });
    expect(await on.state(id)).toBe('TERMINATING');
    expect((await on.get(id)).json.terminatedAt).toBeNull();
    await emulator.advance(1000);
    expect((await on.get(id)).json).toMatchObject({ state: 'TERMINATED', stateReason: 'Success.' });
    await emulator.advance(24 * 3600 * 1000);
    expect(await on.get(id)).toMatchObject({ status: 200, json: { state: 'TERMINATED' } });
    expect((await on.call('GET', '/microvms')).json.items).toHaveLength(1);
  });

  test('FC-143 nothing revives a terminated VM', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    await on.terminate(id);
    await on.emulator.advance(5000);
    const refusal = {
      status: 400,
      error: 'ValidationException',
      json: { message: `The MicroVM ${id} has been terminated and its state cannot be changed.` },
    };
    expect(await on.suspend(id)).toMatchObject(refusal);
    expect(await on.resume(id)).toMatchObject(refusal);
    expect(await on.terminate(id)).toMatchObject({ status: 200 });
    await on.emulator.advance(5000);
    expect(await on.state(id)).toBe('TERMINATED');
  });

  test('FC-143 by option the answer is 409, with the state unchanged', async () => {
    await using on = await bench({
      unverified: { resumeOfTerminated: 'conflict', suspendOfSuspended: 'conflict', resumeOfRunning: 'conflict' },
    });
    const id = await on.runToRunning();
    expect(await on.resume(id)).toMatchObject({ status: 409, error: 'ConflictException' });
    await on.suspend(id);
    await on.emulator.advance(1000);
    expect(await on.suspend(id)).toMatchObject({
      status: 409,
      error: 'ConflictException',
      json: { resourceId: null, resourceType: null },
    });
    expect(await on.state(id)).toBe('SUSPENDED');
    await on.terminate(id);
    await on.emulator.advance(5000);
    expect(await on.resume(id)).toMatchObject({ status: 409, error: 'ConflictException' });
    expect(await on.state(id)).toBe('TERMINATED');
  });

  test('suspend twice, resume while RUNNING and terminate twice are 200 without effect', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    expect((await on.resume(id)).status).toBe(200);
    expect((await on.suspend(id)).status).toBe(200);
    await on.emulator.advance(100);
    expect((await on.suspend(id)).status).toBe(200);
    expect(await on.state(id)).toBe('SUSPENDED');
    expect((await on.terminate(id)).status).toBe(200);
    expect((await on.terminate(id)).status).toBe(200);
    expect(on.guest(id).hooks.map(({ name }) => name)).toEqual(['run', 'suspend']);
  });

  test('a launch that nobody waits for can be terminated while PENDING', async () => {
    await using on = await bench();
    const id = await on.run();
    expect((await on.suspend(id)).status).toBe(409);
    await on.terminate(id);
    await on.emulator.advance(1000);
    expect(await on.state(id)).toBe('TERMINATED');
    expect(on.guest(id).hooks).toEqual([]);
    expect(on.guest(id).destroyed).toBe(true);
  });
});

describe('hooks', () => {
  test('FC-008 the payload reaches the guest as a string inside an object; a 400 ends the VM unreached', async () => {
    await using on = await bench();
    on.guests.answers.run = 400;
    const states: string[] = [];
    on.emulator.events.on(({ to }) => states.push(to));
    const id = await on.run({ runHookPayload: '{"a":1}' });
    const token = await on.token(id);
    await on.emulator.advance(1000);
    expect(on.guest(id).hooks).toEqual([{ name: 'run', body: { microvmId: id, runHookPayload: '{"a":1}' } }]);
    expect(states).toEqual(['PENDING', 'TERMINATING', 'TERMINATED']);
    expect((await on.get(id)).json.stateReason).toBe(
      'Run lifecycle hook returned HTTP status 400. Please check your hook endpoint and application logs for more details.',
    );
    let forwarded = 0;
    on.guests.serve = () => void (forwarded += 1);
    expect(await on.through(id, '/', token)).toMatchObject({
      status: 502,
      text: '',
      headers: { 'x-aws-proxy-error': 'MICROVM_CONNECT_FAILED' },
    });
    expect(forwarded).toBe(0);
  });

  test('a suspend hook that answers 500 ends the VM', async () => {
    await using on = await bench();
    on.guests.answers.suspend = 500;
    const id = await on.runToRunning();
    await on.suspend(id);
    await on.emulator.advance(1000);
    expect((await on.get(id)).json).toMatchObject({
      state: 'TERMINATED',
      stateReason:
        'Suspend lifecycle hook returned HTTP status 500. Please check your hook endpoint and application logs for more details.',
    });
    expect(on.guest(id).frozen).toBe(false);
  });

  test('a run hook that never answers ends the VM after its time', async () => {
    await using on = await bench();
    on.guests.answers.run = null;
    const id = await on.run();
    await on.emulator.advance(29_000);
    expect(await on.state(id)).toBe('PENDING');
    await on.emulator.advance(2000);
    expect(await on.state(id)).toBe('TERMINATED');
  });

  test('the order is run, suspend, resume, terminate; a hook that the image does not enable is not called', async () => {
    await using on = await bench();
    const arn = (
      await on.call('POST', '/microvm-images', {
        name: 'plain',
        baseImageArn: 'arn:aws:lambda:us-east-1:aws:microvm-image:al2023-1',
        buildRoleArn: 'arn:aws:iam::123456789012:role/build',
        codeArtifact: { uri: 's3://bucket/key.zip' },
      })
    ).json.imageArn as string;
    await on.emulator.advance(1000);
    const ids = [await on.runToRunning(), await on.runToRunning({ imageIdentifier: arn })];
    for (const id of ids) {
      await on.suspend(id);
      await on.emulator.advance(100);
      expect(on.guest(id).frozen).toBe(true);
      await on.resume(id);
      await on.emulator.advance(100);
      expect(on.guest(id).frozen).toBe(false);
      await on.terminate(id);
      await on.emulator.advance(100);
      expect(on.guest(id).destroyed).toBe(true);
    }
    const [all = '', none = ''] = ids;
    expect(on.guest(all).hooks.map(({ name }) => name)).toEqual(['run', 'suspend', 'resume', 'terminate']);
    expect(on.guest(none).hooks).toEqual([]);
  });
});

describe('what the platform does by itself', () => {
  test('FC-023 only requests through the endpoint keep a VM awake', async () => {
    await using on = await bench({ suspendDelayMs: 0 });
    const [quiet, polled] = [await on.run(policy(60, 600, false)), await on.run(policy(60, 600, false))];
    const { emulator } = on;
    await emulator.advance(20);
    const token = await on.token(polled);
    for (let seconds = 20; seconds <= 300; seconds += 20) {
      await emulator.advance(20_000);
      await on.through(polled, '/v1/health', token);
      // Neither a read nor a mint is traffic, nor what happens inside.
      if (seconds < 60) {
        await on.get(quiet);
        await on.token(quiet);
        await on.guest(quiet).hook('ready', null);
        expect(await on.state(quiet)).toBe('RUNNING');
      }
      if (seconds === 60) expect(await on.state(quiet)).toBe('SUSPENDED');
    }
    await emulator.advance(11_000);
    expect(await on.state(polled)).toBe('RUNNING');
    await emulator.advance(60_000);
    expect(await on.state(polled)).toBe('SUSPENDED');
    expect(emulator.vms().map(({ cause }) => cause)).toEqual(['platform', 'platform']);
  });

  test('a request at 50 s moves the deadline of 60 s', async () => {
    await using on = await bench();
    const id = await on.runToRunning(policy(60, 600, false));
    await on.emulator.advance(50_000);
    expect((await on.through(id)).status).toBe(200);
    await on.emulator.advance(59_000);
    expect(await on.state(id)).toBe('RUNNING');
    await on.emulator.advance(2000);
    expect(await on.state(id)).toBe('SUSPENDED');
  });

  test('FC-022 the window ends a suspended VM, and restarts with every suspension', async () => {
    await using on = await bench();
    const id = await on.runToRunning(policy(3600, 1800, false));
    for (const rounds of [1, 2]) {
      await on.suspend(id);
      await on.emulator.advance(1_799_000);
      expect([rounds, await on.state(id)]).toEqual([rounds, 'SUSPENDED']);
      await on.resume(id);
      await on.emulator.advance(1000);
    }
    await on.suspend(id);
    await on.emulator.advance(1_801_000);
    expect((await on.get(id)).json).toMatchObject({
      state: 'TERMINATED',
      stateReason: 'MicroVM exceeded maximum lifetime.',
    });
  });

  test('FC-151 the lifetime counts running and suspended time alike', async () => {
    await using on = await bench({ launchDelayMs: 0, suspendDelayMs: 0, terminateDelayMs: 0 });
    const id = await on.run({ maximumDurationInSeconds: 100 });
    await on.emulator.advance(40_000);
    await on.suspend(id);
    await on.emulator.advance(59_900);
    expect(await on.state(id)).toBe('SUSPENDED');
    await on.emulator.advance(100);
    expect((await on.get(id)).json).toMatchObject({
      state: 'TERMINATED',
      stateReason: 'MicroVM exceeded maximum lifetime.',
    });
    const { startedAt, terminatedAt } = (await on.get(id)).json;
    expect(terminatedAt - startedAt).toBeCloseTo(100, 3);
  });

  test('a guest whose main process ended: 502 at once, RUNNING for a while, then its exit code', async () => {
    await using on = await bench({ exitDelayMs: 15_000 });
    const id = await on.runToRunning();
    on.guest(id).exit(124);
    expect((await on.through(id)).status).toBe(502);
    await on.emulator.advance(14_000);
    expect((await on.get(id)).json).toMatchObject({ state: 'RUNNING', stateReason: null });
    await on.emulator.advance(2000);
    expect((await on.get(id)).json).toMatchObject({
      state: 'TERMINATED',
      stateReason: 'Container Stopped with Exit Code: 124',
    });
    expect(on.guest(id).hooks.map(({ name }) => name)).toEqual(['run']);
  });

  test('FC-149 RUNNING and an answering daemon are two delays', async () => {
    await using on = await bench({ launchDelayMs: 1000, appReadyDelayMs: 3000 });
    const id = await on.run();
    const token = await on.token(id);
    await on.emulator.advance(2000);
    expect(await on.state(id)).toBe('RUNNING');
    expect(await on.through(id, '/', token)).toMatchObject({
      status: 502,
      headers: { 'x-aws-proxy-error': 'APP_CONNECT_FAILED' },
    });
    await on.emulator.advance(2000);
    expect((await on.through(id, '/', token)).status).toBe(200);
    expect(on.guest(id).hooks).toHaveLength(1);
  });

  test('FC-148 a VM whose inside cannot be made ends with a reason and leaves no port open', async () => {
    await using on = await bench({ endedEndpointsKept: 0 });
    on.guests.failCreate = 'no memory';
    const id = await on.run();
    const endpoint = on.endpoint(id);
    await on.emulator.advance(1000);
    expect((await on.get(id)).json).toMatchObject({
      state: 'TERMINATED',
      stateReason: 'MicroVM could not be started: no memory',
    });
    await expect(fetch(endpoint)).rejects.toThrow('fetch failed');
    const items = (await on.call('GET', '/microvms')).json.items as { state: string }[];
    expect(items.filter(({ state }) => state !== 'TERMINATED')).toEqual([]);
  });
});

describe('what is unverified is an option', () => {
  test('FC-152 silentStreamCounts and badTokenWakes, in all four combinations', async () => {
    for (const silentStreamCounts of [true, false]) {
      for (const badTokenWakes of [true, false]) {
        await using on = await bench({ unverified: { silentStreamCounts, badTokenWakes } });
        on.guests.serve = (_request, response) => void response.writeHead(200).flushHeaders();
        const id = await on.runToRunning(policy(60, 600, true));
        const headers = { 'x-aws-proxy-auth': await on.token(id), 'x-aws-proxy-port': '9000' };
        const stop = new AbortController();
        await fetch(on.endpoint(id), { headers, signal: stop.signal });
        await on.emulator.advance(90_000);
        expect(await on.state(id)).toBe(silentStreamCounts ? 'RUNNING' : 'SUSPENDED');
        await on.suspend(id);
        await on.emulator.advance(1000);
        expect(await on.through(id, '/', 'bad')).toMatchObject({ status: 403 });
        await on.emulator.advance(1000);
        expect(await on.state(id)).toBe(badTokenWakes ? 'RUNNING' : 'SUSPENDED');
        stop.abort();
      }
    }
  });

  test('staleFirstRead: the read right after a terminate still answers the state before', async () => {
    await using on = await bench({ unverified: { staleFirstRead: true } });
    const id = await on.runToRunning();
    await on.terminate(id);
    expect([await on.state(id), await on.state(id)]).toEqual(['RUNNING', 'TERMINATING']);
  });

  test('resumeShowsPending: PENDING between SUSPENDED and RUNNING', async () => {
    await using on = await bench({ unverified: { resumeShowsPending: true } });
    const id = await on.runToRunning();
    await on.suspend(id);
    await on.emulator.advance(100);
    await on.resume(id);
    expect(await on.state(id)).toBe('PENDING');
    await on.emulator.advance(100);
    expect(await on.state(id)).toBe('RUNNING');
  });

  test('applyWindowToExplicitSuspend: a VM that its caller suspended outlives the window', async () => {
    await using on = await bench({ unverified: { applyWindowToExplicitSuspend: false } });
    const id = await on.runToRunning(policy(60, 60, false));
    await on.suspend(id);
    await on.emulator.advance(240_000);
    expect(await on.state(id)).toBe('SUSPENDED');
    expect((await on.resume(id)).status).toBe(200);
    await on.emulator.advance(1000);
    expect(await on.state(id)).toBe('RUNNING');
  });

  test('readableDelayMs: a launched VM is not there for everybody at once', async () => {
    await using on = await bench({ readableDelayMs: 500 });
    const id = await on.run();
    expect(await on.get(id)).toMatchObject({
      status: 404,
      error: 'ResourceNotFoundException',
      json: { message: `MicroVM not found: ${id}`, resourceId: null, resourceType: null },
    });
    await on.emulator.advance(500);
    expect((await on.get(id)).status).toBe(200);
  });
});
