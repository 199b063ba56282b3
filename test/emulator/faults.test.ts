import { describe, expect, test } from '@jest/globals';
import type { FaultKind } from '../../adapters/emulator/index.ts';
import { bench, policy, send } from './bench.ts';

describe('faults on request', () => {
  test.each<[FaultKind, number, string | null]>([
    ['throttle', 429, 'ThrottlingException'],
    ['throttle-as-400', 400, 'ThrottlingException'],
    ['quota', 402, 'ServiceQuotaExceededException'],
    ['internal', 500, 'InternalServerException'],
    ['capacity', 500, 'InsufficientCapacityException'],
    ['not-found', 404, 'ResourceNotFoundException'],
    ['conflict', 409, 'ConflictException'],
    ['access-denied', 403, 'AccessDeniedException'],
    ['gateway', 502, null],
    ['unavailable', 503, null],
  ])('%s answers %i once, and nothing happens', async (kind, status, error) => {
    await using on = await bench();
    on.emulator.faults.add({ kind, operation: 'RunMicrovm' });
    const launch = { imageIdentifier: on.emulator.imageArn };
    expect(await on.call('POST', '/microvms', launch)).toMatchObject({ status, error });
    expect(on.emulator.vms()).toEqual([]);
    expect(on.emulator.recorder.requests).toMatchObject([{ operation: 'RunMicrovm', fault: kind, status }]);
    expect((await on.call('POST', '/microvms', launch)).status).toBe(200);
  });

  test('the details of some: HTML of a gateway, a Retry-After, a null message', async () => {
    await using on = await bench();
    const list = () => on.call('GET', '/microvms');
    on.emulator.faults.add({ kind: 'gateway', operation: 'ListMicrovms' });
    expect((await list()).text).toMatch(/^<html>[^]*nginx/);
    on.emulator.faults.add({ kind: 'throttle', operation: '*', retryAfterSec: 7 });
    expect((await list()).headers['retry-after']).toBe('7');
    on.emulator.faults.add({ kind: 'access-denied', operation: '*' });
    expect((await list()).json).toEqual({ message: null });
    on.emulator.faults.add({ kind: 'garbage', operation: '*' });
    const garbage = await list();
    expect([garbage.status, garbage.json]).toEqual([200, null]);
    on.emulator.faults.add({ kind: 'empty', operation: '*' });
    expect((await list()).json).toEqual({});
  });

  test('FC-047 a lost answer: the VM is there, and the same token finds it again', async () => {
    await using on = await bench();
    on.emulator.faults.add({ kind: 'lost-answer', operation: 'RunMicrovm' });
    const launch = { imageIdentifier: on.emulator.imageArn, clientToken: 't' };
    await expect(on.call('POST', '/microvms', launch)).rejects.toThrow('socket hang up');
    const [vm] = on.emulator.vms();
    expect((await on.call('POST', '/microvms', launch)).json.microvmId).toBe(vm?.microvmId);
    expect(on.emulator.recorder.count('RunMicrovm')).toBe(2);
  });

  test('a lost request: nothing is there', async () => {
    await using on = await bench();
    on.emulator.faults.add({ kind: 'lost-request', operation: '*' });
    await expect(on.run()).rejects.toThrow('socket hang up');
    expect(on.emulator.vms()).toEqual([]);
  });

  test('a delay takes its time on the clock', async () => {
    await using on = await bench();
    on.emulator.faults.add({ kind: 'delay', operation: 'ListMicrovms', delayMs: 5000 });
    let done = false;
    const reply = on.call('GET', '/microvms').finally(() => (done = true));
    while (on.emulator.recorder.count('ListMicrovms') === 0) await on.emulator.advance(0);
    await on.emulator.advance(4999);
    expect(done).toBe(false);
    await on.emulator.advance(1);
    expect((await reply).status).toBe(200);
  });

  test('they can be counted, put off, aimed at one VM, and taken back', async () => {
    await using on = await bench();
    const [one, two] = [await on.run(), await on.run()];
    const { faults } = on.emulator;
    faults.add({ kind: 'internal', operation: 'GetMicrovm', times: 2, after: 1, microvmId: one });
    const statuses = [];
    for (let round = 0; round < 4; round += 1) {
      statuses.push((await on.get(one)).status);
      expect((await on.get(two)).status).toBe(200);
    }
    expect(statuses).toEqual([200, 500, 500, 200]);
    const takeBack = faults.add({ kind: 'internal', operation: '*', times: Infinity });
    expect(faults.pending).toHaveLength(1);
    expect((await on.get(one)).status).toBe(500);
    takeBack();
    expect((await on.get(one)).status).toBe(200);
    faults.add({ kind: 'internal', operation: '*' });
    faults.clear();
    expect((await on.get(one)).status).toBe(200);
  });

  test('by chance they are the same for the same seed', async () => {
    const outcome = async (seed: number) => {
      await using on = await bench();
      on.emulator.faults.random({ seed, rate: 0.5, kinds: ['internal', 'throttle'], operations: ['ListMicrovms'] });
      const statuses = [];
      for (let round = 0; round < 20; round += 1) statuses.push((await on.call('GET', '/microvms')).status);
      await on.run();
      return statuses;
    };
    const first = await outcome(7);
    expect(new Set(first)).toEqual(new Set([200, 429, 500]));
    expect(await outcome(7)).toEqual(first);
    expect(await outcome(8)).not.toEqual(first);
  });

  test.each<[FaultKind, number, string]>([
    ['throttle', 429, ''],
    ['throttle-as-400', 400, ''],
    ['quota', 402, ''],
    ['internal', 500, ''],
    ['capacity', 500, ''],
    ['gateway', 502, ''],
    ['unavailable', 503, ''],
    ['not-found', 404, ''],
    ['conflict', 409, ''],
    ['access-denied', 403, 'Token authentication failed'],
  ])('the endpoint answers %s with %i once, and the guest hears nothing', async (kind, status, text) => {
    await using on = await bench();
    const id = await on.runToRunning();
    const token = await on.token(id);
    let served = 0;
    on.guests.serve = (_request, response) => void ((served += 1), response.end('ok'));
    on.emulator.faults.add({ kind, operation: 'Endpoint' });
    expect(await on.through(id, '/', token)).toMatchObject({ status, text });
    expect(served).toBe(0);
    expect(await on.through(id, '/', token)).toMatchObject({ status: 200, text: 'ok' });
  });

  test.each<[FaultKind, string]>([
    ['garbage', '{"items":['],
    ['empty', '{}'],
  ])('the endpoint puts %s in the place of what the guest answered', async (kind, text) => {
    await using on = await bench();
    const id = await on.runToRunning();
    const token = await on.token(id);
    let served = 0;
    on.guests.serve = (_request, response) => void ((served += 1), response.writeHead(201).end('real'));
    on.emulator.faults.add({ kind, operation: 'Endpoint' });
    expect(await on.through(id, '/', token)).toMatchObject({ status: 200, text });
    expect(served).toBe(1);
  });

  test('one that would hit nothing, or cannot be meant, is refused', async () => {
    await using on = await bench();
    const { faults } = on.emulator;
    const fault = { kind: 'internal', operation: '*' } as const;
    for (const wrong of [
      { kind: 'nonsense' as FaultKind },
      { operation: 'Nope' as 'RunMicrovm' },
      { operation: undefined as unknown as 'RunMicrovm' },
      { times: 0 },
      { times: 1.5 },
      { times: Number.NaN },
      { after: -1 },
      { delayMs: -1 },
      { delayMs: Infinity },
      { retryAfterSec: 0.5 },
    ]) {
      expect(() => faults.add({ ...fault, ...wrong })).toThrow(TypeError);
    }
    for (const wrong of [
      { rate: 1.1 },
      { rate: Number.NaN },
      { seed: Number.NaN },
      { kinds: [] },
      { operations: ['Nope' as 'RunMicrovm'] },
    ]) {
      expect(() => faults.random({ seed: 1, rate: 0.5, ...wrong })).toThrow(TypeError);
    }
    expect(faults.pending).toEqual([]);
    expect((await on.call('GET', '/microvms')).status).toBe(200);
  });

  test('FC-031 the endpoint fails too: 503 once, a lost answer, a 429', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const token = await on.token(id);
    let served = 0;
    on.guests.serve = (_request, response) => {
      served += 1;
      response.end('ok');
    };
    const { faults } = on.emulator;
    faults.add({ kind: 'unavailable', operation: 'Endpoint' });
    faults.add({ kind: 'throttle', operation: 'Endpoint' });
    faults.add({ kind: 'lost-answer', operation: 'Endpoint' });
    expect((await on.through(id, '/', token)).status).toBe(503);
    expect((await on.through(id, '/', token)).status).toBe(429);
    expect(served).toBe(0);
    await expect(on.through(id, '/', token)).rejects.toThrow('socket hang up');
    expect(served).toBe(1);
    expect((await on.through(id, '/', token)).status).toBe(200);
  });
});

describe('the record', () => {
  test('counts by operation, keeps bodies without secrets, and forgets on demand', async () => {
    await using on = await bench({ recordedRequests: 3 });
    const id = await on.run({ runHookPayload: 'marker-payload', ...policy(60, 60, true) });
    await on.get(id);
    await on.token(id);
    await on.call('GET', '/nothing');
    const { recorder } = on.emulator;
    expect([
      recorder.count('RunMicrovm'),
      recorder.count('GetMicrovm'),
      recorder.count('Unknown'),
      recorder.count(),
    ]).toEqual([1, 1, 1, 4]);
    expect(recorder.requests.map(({ operation }) => operation)).toEqual([
      'GetMicrovm',
      'CreateMicrovmAuthToken',
      'Unknown',
    ]);
    expect(recorder.requests[1]).toMatchObject({
      method: 'POST',
      path: `/2025-09-09/microvms/${id}/auth-token`,
      microvmId: id,
      body: { allowedPorts: [{ allPorts: {} }] },
      status: 200,
      fault: null,
    });
    recorder.clear();
    expect([recorder.count(), recorder.requests]).toEqual([0, []]);
  });

  test('a flood of large requests does not fill the memory', async () => {
    await using on = await bench();
    const body = { imageIdentifier: 'arn:x', more: 'x'.repeat(900_000) };
    for (let round = 0; round < 60; round += 1) await on.call('POST', '/microvms', body);
    const { recorder } = on.emulator;
    expect(recorder.count('RunMicrovm')).toBe(60);
    expect(recorder.requests.length).toBeGreaterThan(20);
    expect(JSON.stringify(recorder.requests).length).toBeLessThan(40_000_000);
    await on.get('the-latest');
    expect(recorder.requests.at(-1)?.microvmId).toBe('the-latest');
  });

  test('a launch is recorded with its policy, without its payload', async () => {
    await using on = await bench();
    await on.run({ runHookPayload: 'marker-payload', ...policy(60, 60, true) });
    expect(on.emulator.recorder.requests[0]?.body).toEqual({
      imageIdentifier: on.emulator.imageArn,
      runHookPayload: '<redacted>',
      ...policy(60, 60, true),
    });
  });
});

describe('the admin routes', () => {
  const admin = (on: Awaited<ReturnType<typeof bench>>, method: string, path: string, body?: object, token?: string) =>
    send(`${on.emulator.endpoint}/_emulator/${path}`, {
      method,
      headers: { 'x-emulator-token': token ?? on.emulator.adminToken },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  test('move the clock, add faults, and show the record', async () => {
    await using on = await bench();
    const id = await on.run();
    const state = await admin(on, 'POST', 'clock/advance', { ms: 1000 });
    expect(state.json).toMatchObject({ microvms: [{ microvmId: id, state: 'RUNNING' }] });
    await admin(on, 'POST', 'faults', { kind: 'internal', operation: 'GetMicrovm', times: 'always' });
    expect([(await on.get(id)).status, (await on.get(id)).status]).toEqual([500, 500]);
    expect((await admin(on, 'GET', 'faults')).json.pending).toEqual([
      { kind: 'internal', operation: 'GetMicrovm', times: 'always' },
    ]);
    await admin(on, 'DELETE', 'faults');
    expect((await on.get(id)).status).toBe(200);
    const wrong = [{ times: 0 }, { times: 1.5 }, { retryAfterSec: 0.5 }];
    for (const more of wrong) {
      const added = await admin(on, 'POST', 'faults', { kind: 'throttle', operation: '*', ...more });
      expect(added.status).toBe(400);
    }
    expect((await admin(on, 'POST', 'faults/random', { seed: 1, rate: 7 })).json.message).toMatch(
      /share between 0 and 1/,
    );
    await admin(on, 'POST', 'faults/random', { seed: 1, rate: 1, kinds: ['quota'] });
    expect((await on.get(id)).status).toBe(402);
    await admin(on, 'DELETE', 'faults');
    const record = await admin(on, 'GET', 'requests');
    expect(record.json.counts).toEqual({ RunMicrovm: 1, GetMicrovm: 4 });
    await admin(on, 'DELETE', 'requests');
    expect(on.emulator.recorder.count()).toBe(0);
    expect((await admin(on, 'POST', 'builds/fail', { failure: 'container' })).status).toBe(200);
    expect((await admin(on, 'GET', 'state')).json.notice).toBe('Fake VMs.');
  });

  test('want the token and a loopback host, and say what is wrong', async () => {
    await using on = await bench({ clock: 'real' });
    expect((await admin(on, 'GET', 'state', undefined, 'guess')).status).toBe(403);
    const rebound = await send(`${on.emulator.endpoint}/_emulator/state`, {
      headers: { host: 'evil.example', 'x-emulator-token': on.emulator.adminToken },
    });
    expect(rebound.status).toBe(403);
    expect((await admin(on, 'POST', 'clock/advance', { ms: 1 })).json.message).toBe(
      'Only a manual clock can be advanced.',
    );
    expect((await admin(on, 'POST', 'clock/advance', { ms: -1 })).status).toBe(400);
    expect((await admin(on, 'POST', 'faults', { kind: 'nonsense', operation: '*' })).json.message).toMatch(
      /^'kind' has to be one of/,
    );
    expect((await admin(on, 'GET', 'toString')).status).toBe(404);
    expect((await admin(on, 'POST', 'faults', {}, on.emulator.adminToken.slice(1))).status).toBe(403);
  });
});
