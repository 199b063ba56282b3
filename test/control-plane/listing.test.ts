import { describe, expect, test } from '@jest/globals';
import { sweep, VmchartError } from 'vmchart/effects';
import { imageArn, recordedPlane, refusal, vm } from './plane-recorder.ts';
import { errorOf } from '../helpers/error-of.ts';

const item = (microvmId: string, state: string) => ({ microvmId, state, imageArn, imageVersion: '1.0', startedAt: 1 });
const page = (items: readonly object[], nextToken?: string | null) => ({ body: { items, nextToken } });
const states = (list: readonly { microvmId: string; state: string }[]) =>
  list.map((vm) => `${vm.microvmId} ${vm.state}`);

describe('ListMicrovms', () => {
  test('FC-107 an empty page with a cursor is not the end', async () => {
    const { plane, recorder } = recordedPlane({
      ListMicrovms: [page([], 't1'), page([], 't2'), page([item('m1', 'RUNNING')], null)],
    });
    expect(states(await plane.listMicrovms())).toEqual(['m1 RUNNING']);
    expect(recorder.calls).toHaveLength(3);
  });

  test.each([undefined, null, ''])('a cursor of %j is the end', async (nextToken) => {
    const { plane, recorder } = recordedPlane({ ListMicrovms: [page([], nextToken)] });
    expect(await plane.listMicrovms()).toEqual([]);
    expect(recorder.calls).toHaveLength(1);
  });

  test('FC-109 a VM on two pages keeps its first place and its last reading', async () => {
    const { plane } = recordedPlane({
      ListMicrovms: [
        page([item('A', 'RUNNING'), item('B', 'RUNNING')], 't1'),
        page([item('B', 'SUSPENDED'), item('C', 'RUNNING')]),
      ],
    });
    expect(states(await plane.listMicrovms())).toEqual(['A RUNNING', 'B SUSPENDED', 'C RUNNING']);
  });

  test('FC-049 TERMINATED VMs are left out by default, by their last reading', async () => {
    const answers = {
      ListMicrovms: [
        page([item('m1', 'TERMINATED'), item('m2', 'RUNNING'), item('m3', 'TERMINATING')], 't'),
        page([item('m2', 'TERMINATED')]),
      ],
    };
    expect(states(await recordedPlane(answers).plane.listMicrovms())).toEqual(['m3 TERMINATING']);
    const all = await recordedPlane(answers).plane.listMicrovms({ includeTerminated: true });
    expect(states(all)).toEqual(['m1 TERMINATED', 'm2 TERMINATED', 'm3 TERMINATING']);
  });

  test('FC-106 FC-115 filters and cursor are encoded and sorted, on every page', async () => {
    const { plane, recorder } = recordedPlane({ ListMicrovms: [page([], 'abc-_d=='), page([])] });
    await plane.listMicrovms({ imageVersion: '1.0', imageIdentifier: 'arn:x' });
    expect(recorder.calls.map((call) => call.path)).toEqual([
      '/2025-09-09/microvms?imageIdentifier=arn%3Ax&imageVersion=1.0',
      '/2025-09-09/microvms?imageIdentifier=arn%3Ax&imageVersion=1.0&nextToken=abc-_d%3D%3D',
    ]);
  });

  test('pages can be read one at a time, and left early', async () => {
    const { plane, recorder } = recordedPlane({
      ListMicrovms: [page([item('m1', 'RUNNING')], 't'), page([item('m2', 'RUNNING')])],
    });
    for await (const found of plane.microvmPages()) {
      expect(states(found)).toEqual(['m1 RUNNING']);
      break;
    }
    expect(recorder.calls).toHaveLength(1);
  });

  test('a cursor that comes back is an error, not a loop', async () => {
    const { plane, recorder } = recordedPlane({ ListMicrovms: [page([], 'a'), page([], 'b'), page([], 'a')] });
    expect(await errorOf(plane.listMicrovms())).toMatchObject({ kind: 'Platform', reason: 'cursor-loop' });
    expect(recorder.calls).toHaveLength(3);
  });

  test('a throttled page is retried on its own', async () => {
    const { plane, recorder } = recordedPlane({
      ListMicrovms: [page([item('m1', 'RUNNING')], 't'), refusal(429, null), page([item('m2', 'RUNNING')])],
    });
    expect(states(await plane.listMicrovms())).toEqual(['m1 RUNNING', 'm2 RUNNING']);
    expect(recorder.calls[1]?.path).toBe(recorder.calls[2]?.path);
  });
});

describe('FC-053 a ledger against the account', () => {
  test('live, gone and unknown are told apart over all pages', async () => {
    const { plane } = recordedPlane({
      ListMicrovms: [page([item('m1', 'RUNNING')], 't'), page([item('m2', 'TERMINATED'), item('m9', 'SUSPENDED')])],
    });
    const report = await plane.reconcile(['m1', 'm2', 'm3']);
    expect(Object.fromEntries(report.verdicts)).toEqual({ m1: 'live', m2: 'gone', m3: 'gone' });
    expect(states(report.unknownToLedger)).toEqual(['m9 SUSPENDED']);
    expect(report.clean).toBe(false);
  });

  test('when a page fails, what was not seen is unjudged and nothing is clean', async () => {
    const { plane } = recordedPlane({
      ListMicrovms: [page([item('m1', 'RUNNING')], 't'), refusal(500, null)],
    });
    const report = await plane.reconcile(['m1', 'm2', 'm3']);
    expect(Object.fromEntries(report.verdicts)).toEqual({ m1: 'live', m2: 'unjudged', m3: 'unjudged' });
    expect(report).toMatchObject({ clean: false, unknownToLedger: [], error: { status: 500 } });
  });

  test('clean is only what is gone for certain', async () => {
    const { plane } = recordedPlane({ ListMicrovms: [page([item('m1', 'TERMINATED')])] });
    expect(await plane.reconcile(['m1', 'm2'])).toMatchObject({ clean: true, error: null });
  });
});

describe('FC-052 a sweep over several scopes', () => {
  const denied = () => Promise.reject(new VmchartError('Credentials', 'denied', { status: 403 }));

  test('that failed everywhere is an error, not an empty success', async () => {
    const error = await errorOf(sweep([1, 2, 3], denied));
    expect(error).toMatchObject({ kind: 'Credentials', reason: 'scan-failed-everywhere' });
    expect(error.message).toContain('3');
  });

  test('keeps findings, failures and skipped scopes apart', async () => {
    const report = await sweep(['a', 'b', 'c', 'd'], async (scope) => {
      if (scope === 'a') return ['m1'];
      return scope === 'd' ? null : denied();
    });
    expect(report).toMatchObject({ ok: [['m1']], skipped: 1 });
    expect(report.failed).toHaveLength(2);
  });
});

describe('what an answer reads as', () => {
  const read = async (more: Record<string, unknown>) =>
    recordedPlane({ GetMicrovm: [{ body: vm('RUNNING', more) }] }).plane.getMicrovm('m');

  test.each<[unknown, number | null]>([
    [1_786_817_864.601, Date.parse('2026-08-15T18:17:44.601Z')],
    [0, 0],
    ['1786817864.601', Date.parse('2026-08-15T18:17:44.601Z')],
    [1.786e9, 1_786_000_000_000],
    ['2026-08-15T17:17:28Z', Date.parse('2026-08-15T17:17:28Z')],
    [1e300, null],
    [-1, null],
    [true, null],
    [null, null],
    ['soon', null],
    ['', null],
    [undefined, null],
  ])('FC-116 a timestamp of %j', async (startedAt, expected) => {
    expect((await read({ startedAt })).startedAtMs).toBe(expected);
  });

  test('FC-122 unknown states and members change nothing', async () => {
    const found = await read({ state: 'HIBERNATING', terminationReasonCode: null, shiny: { new: true } });
    expect(found.state).toBe('HIBERNATING');
    expect(Object.keys(found)).not.toContain('shiny');
  });

  test('every member that the service may leave out, or send as null, reads as absent', async () => {
    const bare = recordedPlane({ GetMicrovm: [{ body: { microvmId: 'm', state: 'PENDING', idlePolicy: null } }] });
    expect(await bare.plane.getMicrovm('m')).toEqual({
      microvmId: 'm',
      state: 'PENDING',
      endpoint: '',
      imageArn: '',
      imageVersion: '',
      stateReason: null,
      idlePolicy: null,
      maximumDurationSec: null,
      startedAtMs: null,
      terminatedAtMs: null,
    });
  });

  test('a member of a type that nobody expected reads as absent; numbers in strings are numbers', async () => {
    const odd = await read({ stateReason: 7, endpoint: [], idlePolicy: 'none', maximumDurationInSeconds: '60' });
    expect(odd).toMatchObject({ stateReason: null, endpoint: '', idlePolicy: null, maximumDurationSec: 60 });
    const policy = { maxIdleDurationSeconds: '60', suspendedDurationSeconds: 0, autoResumeEnabled: true };
    expect((await read({ idlePolicy: policy })).idlePolicy).toEqual({
      maxIdleSec: 60,
      suspendedSec: 0,
      autoResume: true,
    });
  });

  test('an empty 2xx is fine where nothing is read, and an error where something is', async () => {
    const { plane } = recordedPlane({ SuspendMicrovm: [{ body: '' }], GetMicrovm: [{ body: '' }] });
    await plane.suspendMicrovm('m');
    expect(await errorOf(plane.getMicrovm('m'))).toMatchObject({ reason: 'invalid-response' });
  });
});
