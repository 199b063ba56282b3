/** What nobody has measured for certain: each value of an option shows. */
import { describe, expect, test } from '@jest/globals';
import { bench } from './bench.ts';

const ids = (reply: { json: { items: { microvmId: string }[] } }) => reply.json.items.map(({ microvmId }) => microvmId);

describe('what is unverified is an option of the front', () => {
  test('endedReadableMs: an ended VM is forgotten after a while, by id and in lists', async () => {
    await using on = await bench({ unverified: { endedReadableMs: 60_000 } });
    const id = await on.runToRunning();
    await on.terminate(id);
    await on.emulator.advance(50_000);
    expect([await on.state(id), ids(await on.call('GET', '/microvms'))]).toEqual(['TERMINATED', [id]]);
    await on.emulator.advance(11_000);
    expect(await on.get(id)).toMatchObject({ status: 404, json: { message: `MicroVM not found: ${id}` } });
    expect([(await on.terminate(id)).status, ids(await on.call('GET', '/microvms'))]).toEqual([404, []]);

    await using keeping = await bench();
    const kept = await keeping.runToRunning();
    await keeping.terminate(kept);
    await keeping.emulator.advance(7 * 86_400_000);
    expect(await keeping.state(kept)).toBe('TERMINATED');
  });

  test('listOrder: the newest VM first, or the oldest', async () => {
    for (const listOrder of ['newest-first', 'oldest-first'] as const) {
      await using on = await bench({ unverified: { listOrder } });
      const launched = [await on.run(), await on.run(), await on.run()];
      const wanted = listOrder === 'oldest-first' ? launched : launched.toReversed();
      const first = await on.call('GET', '/microvms?maxResults=2');
      const cursor = encodeURIComponent(first.json.nextToken as string);
      const second = await on.call('GET', `/microvms?maxResults=2&nextToken=${cursor}`);
      expect([...ids(first), ...ids(second)]).toEqual(wanted);
    }
  });

  test('versionFilter: 1 is 1.0, or is not', async () => {
    for (const [versionFilter, found] of [
      ['numeric', 1],
      ['exact', 0],
    ] as const) {
      await using on = await bench({ unverified: { versionFilter } });
      await on.run();
      expect(ids(await on.call('GET', '/microvms?imageVersion=1'))).toHaveLength(found);
      expect(ids(await on.call('GET', '/microvms?imageVersion=1.0'))).toHaveLength(1);
    }
  });

  test('versionsOfMissing: 404, or an empty list', async () => {
    const path = `/microvm-images/${encodeURIComponent('arn:aws:lambda:us-east-1:123456789012:microvm-image:none')}/versions`;
    await using on = await bench();
    expect((await on.call('GET', path)).status).toBe(404);
    await using empty = await bench({ unverified: { versionsOfMissing: 'empty' } });
    expect(await empty.call('GET', path)).toMatchObject({ status: 200, json: { items: [], nextToken: null } });
  });

  test('payloadUnit: 4096 characters, or 4096 bytes', async () => {
    const launch = async (payloadUnit: 'utf16-units' | 'bytes', runHookPayload: string) => {
      await using on = await bench({ unverified: { payloadUnit } });
      return (await on.call('POST', '/microvms', { imageIdentifier: on.emulator.imageArn, runHookPayload })).status;
    };
    expect(await launch('utf16-units', '\u00e9'.repeat(4096))).toBe(200);
    expect(await launch('bytes', '\u00e9'.repeat(4096))).toBe(400);
    expect(await launch('bytes', '\u00e9'.repeat(2048))).toBe(200);
    expect(await launch('utf16-units', 'a'.repeat(4097))).toBe(400);
  });

  test('omittedPayload: what the run hook gets of a launch without one', async () => {
    for (const [omittedPayload, seen] of [
      ['empty-text', { runHookPayload: '' }],
      ['null', { runHookPayload: null }],
      ['absent', {}],
    ] as const) {
      await using on = await bench({ unverified: { omittedPayload } });
      const microvmId = await on.runToRunning();
      const run = on.guest(microvmId).hooks.find(({ name }) => name === 'run');
      expect(JSON.parse(JSON.stringify(run?.body))).toEqual({ microvmId, ...seen });
    }
  });

  test('tokenBeforePort: which of two mistakes is named', async () => {
    for (const [tokenBeforePort, status] of [
      [false, 400],
      [true, 403],
    ] as const) {
      await using on = await bench({ unverified: { tokenBeforePort } });
      const id = await on.runToRunning();
      const ask = (token: string) =>
        fetch(on.endpoint(id), { headers: { 'x-aws-proxy-auth': token, 'x-aws-proxy-port': 'none' } });
      expect((await ask('bad')).status).toBe(status);
      expect((await ask(await on.token(id))).status).toBe(400);
    }
  });

  test('unseenTexts: what nobody has seen is left out, what was seen stays', async () => {
    await using on = await bench({
      unverified: { unseenTexts: 'absent' },
      limits: { ratePerSec: { SuspendMicrovm: 1 } },
    });
    const id = await on.runToRunning({ clientToken: 't' });
    expect(
      await on.call('POST', '/microvms', { imageIdentifier: on.emulator.imageArn, clientToken: 't' }),
    ).toMatchObject({ status: 200 });
    const reused = { imageIdentifier: on.emulator.imageArn, clientToken: 't', maximumDurationInSeconds: 60 };
    expect(await on.call('POST', '/microvms', reused)).toMatchObject({
      status: 409,
      error: 'ConflictException',
      json: { message: null },
    });
    on.emulator.faults.add({ kind: 'capacity', operation: 'RunMicrovm' });
    expect((await on.call('POST', '/microvms', reused)).json).toEqual({ message: null });
    await on.suspend(id);
    const throttled = await on.suspend(id);
    expect([throttled.status, throttled.json.message, throttled.headers['retry-after']]).toEqual([
      429,
      null,
      undefined,
    ]);

    const token = await on.token(id, [{ allPorts: {} }], 1);
    const denied = await on.through(id, '/', 'bad');
    expect([denied.text, denied.headers['x-aws-proxy-error']]).toEqual(['Request missing authentication', undefined]);
    await on.emulator.advance(61_000);
    expect(await on.through(id, '/', token)).toMatchObject({ status: 403, text: '' });
    expect((await on.get('microvm-none')).json.message).toBe('MicroVM not found: microvm-none');
  });

  test('unseenTexts: a reason whose wording nobody has seen is null', async () => {
    for (const [unseenTexts, reason] of [
      ['plausible', expect.stringContaining('timed out')],
      ['absent', null],
    ] as const) {
      await using on = await bench({ unverified: { unseenTexts } });
      on.guests.answers.run = null;
      const id = await on.run();
      await on.emulator.advance(120_000);
      expect((await on.get(id)).json).toMatchObject({ state: 'TERMINATED', stateReason: reason });
    }
  });
});
