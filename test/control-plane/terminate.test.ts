import { describe, expect, test } from '@jest/globals';
import type { HttpRequest } from 'vmchart/effects';
import { VmchartError } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';
import { recordedPlane, refusal, vm } from './plane-recorder.ts';
import { errorOf } from '../helpers/error-of.ts';

const conflict = refusal(409, 'ConflictException');
const missing = refusal(404, 'ResourceNotFoundException', 'MicroVM not found: m');

describe('FC-050 a terminate that finds nothing to do is a success', () => {
  test('a VM that is gone', async () => {
    const { plane, recorder } = recordedPlane({ TerminateMicrovm: [missing] });
    expect(await plane.terminateMicrovm('m')).toBe('already-gone');
    expect(recorder.calls).toHaveLength(1);
  });

  test.each(['TERMINATING', 'TERMINATED'])('a conflict with a VM that is %s', async (state) => {
    const { plane, recorder } = recordedPlane({ TerminateMicrovm: [conflict], GetMicrovm: [{ body: vm(state) }] });
    expect(await plane.terminateMicrovm('m')).toBe('already-terminating');
    expect(recorder.operations).toEqual(['TerminateMicrovm', 'GetMicrovm']);
  });

  test('a conflict with a VM that vanished meanwhile', async () => {
    const { plane } = recordedPlane({ TerminateMicrovm: [conflict], GetMicrovm: [missing] });
    expect(await plane.terminateMicrovm('m')).toBe('already-terminating');
  });

  test('a conflict with a VM that still runs is sent once more', async () => {
    const { plane, recorder } = recordedPlane({
      TerminateMicrovm: [conflict, {}],
      GetMicrovm: [{ body: vm('RUNNING') }],
    });
    expect(await plane.terminateMicrovm('m')).toBe('accepted');
    expect(recorder.operations).toEqual(['TerminateMicrovm', 'GetMicrovm', 'TerminateMicrovm']);
  });

  test('a conflict that stays is an error', async () => {
    const { plane, recorder } = recordedPlane({ TerminateMicrovm: [conflict], GetMicrovm: [{ body: vm('RUNNING') }] });
    expect(await errorOf(plane.terminateMicrovm('m'))).toMatchObject({ kind: 'Platform', reason: 'conflict' });
    expect(recorder.count('TerminateMicrovm')).toBe(2);
  });

  test('FC-113 a page from a gateway is no success, whatever its status', async () => {
    const { plane } = recordedPlane({ TerminateMicrovm: [{ status: 404, body: '<html>' }] });
    expect(await errorOf(plane.terminateMicrovm('m'))).toMatchObject({ reason: 'gateway', status: 404 });
  });
});

test('SBX-21 a terminate that always fails is sent six times', async () => {
  const { plane, recorder } = recordedPlane({ TerminateMicrovm: [refusal(500, null)] });
  await errorOf(plane.terminateMicrovm('m'));
  expect(recorder.calls).toHaveLength(6);
});

describe('FC-046 ending many VMs', () => {
  /** A service that takes ten terminates in any second and throttles the rest. */
  function limited(failing: ReadonlySet<string> = new Set()) {
    const sent: { id: string; atMs: number; accepted: boolean }[] = [];
    const { plane, clock } = recordedPlane(
      {},
      {
        ports: {
          http: {
            send: async ({ url }: HttpRequest) => {
              const id = url.slice(url.lastIndexOf('/') + 1);
              const atMs = clock.now();
              const inLastSecond = sent.filter((call) => call.atMs > atMs - 1_000).length;
              const status = failing.has(id) ? 500 : inLastSecond >= 10 ? 429 : 200;
              sent.push({ id, atMs, accepted: status === 200 });
              return { status, headers: {}, body: Buffer.from('{}') };
            },
            openStream: () => Promise.reject(new Error('unused')),
          },
        },
      },
    );
    return { plane, clock, sent };
  }

  const most = (times: readonly number[]) =>
    Math.max(...times.map((from) => times.filter((atMs) => atMs >= from && atMs < from + 1_000).length));
  const ids = Array.from({ length: 255 }, (_, index) => `m${index}`);

  test('255 are all accepted, with at most ten sends in any second', async () => {
    const { plane, sent } = limited();
    const report = await plane.terminateAll(ids);
    expect(report.unconfirmed).toEqual([]);
    expect([...report.accepted].sort()).toEqual([...ids].sort());
    expect(most(sent.map((call) => call.atMs))).toBeLessThanOrEqual(10);
  });

  test('one that never succeeds is named, and holds up nothing', async () => {
    const { plane, sent } = limited(new Set(['m7']));
    const report = await plane.terminateAll(ids);
    expect(report.unconfirmed.map((one) => one.microvmId)).toEqual(['m7']);
    expect(report.unconfirmed[0]?.error).toBeInstanceOf(VmchartError);
    expect(report.accepted).toHaveLength(254);
    expect(most(sent.map((call) => call.atMs))).toBeLessThanOrEqual(10);
  });

  test('faster than the limit, throttled sends come again until they are through', async () => {
    const { plane, sent } = limited();
    const report = await plane.terminateAll(ids.slice(0, 60), { perSecond: 100 });
    expect(report.unconfirmed).toEqual([]);
    expect(report.accepted).toHaveLength(60);
    expect(sent.length).toBeGreaterThan(60);
  });

  test('doubles are sent once, and what is gone is told apart', async () => {
    const { plane, recorder } = recordedPlane({ TerminateMicrovm: [missing] });
    expect(await plane.terminateAll(['m', 'm'])).toEqual({ accepted: [], alreadyGone: ['m'], unconfirmed: [] });
    expect(recorder.calls).toHaveLength(1);
  });

  test('a refused id is named without a call, and a denial is not repeated', async () => {
    const { plane, recorder } = recordedPlane({ TerminateMicrovm: [refusal(403, 'AccessDeniedException')] });
    const report = await plane.terminateAll(['', 'm1']);
    expect(report.unconfirmed.map((one) => one.error.kind)).toEqual(['InvalidArg', 'Credentials']);
    expect(recorder.calls).toHaveLength(1);
  });

  test('an abort stops the sending', async () => {
    const clock = manualClock();
    const { plane, recorder } = recordedPlane({ TerminateMicrovm: [{}] }, { clock });
    const stop = new AbortController();
    const work = plane.terminateAll(ids, { signal: stop.signal });
    await clock.advance(500);
    stop.abort(new Error('enough'));
    await expect(work).rejects.toThrow('enough');
    expect(recorder.calls.length).toBeLessThan(10);
  });
});
