/** A life taken up again from what a journal held, in every substate that a process can die in. */
import { describe, expect, test } from '@jest/globals';
import { Sandbox, referenceSchedules } from '../../effects/index.ts';
import { initialSnapshot, recordOf, restore, substateOf } from '../../machines/index.ts';
import type { JournalRecord } from '../../machines/index.ts';
import { refusal, vm } from '../helpers/scripted-platform.ts';
import { commandTable } from './lifecycle-tables.ts';
import { reach } from './substates.ts';
import type { Stage } from './substates.ts';

/** Where a life goes on when its process dies in a substate: a call in flight has lost its answer. */
const goesOnAt: Readonly<Record<string, string>> = {
  'PENDING.launching': 'PENDING.unresolved',
  'PENDING.awaitingRunning': 'PENDING.held',
  'PENDING.reviving': 'PENDING.held',
  'RUNNING.suspending': 'SUSPENDING.unsettled',
  'SUSPENDING.watching': 'SUSPENDING.unsettled',
  'SUSPENDING.rereading': 'SUSPENDING.unsettled',
  'SUSPENDED.resuming': 'SUSPENDED.idle',
  'SUSPENDED.awaitingRunning': 'SUSPENDED.idle',
  'SUSPENDED.rereading': 'SUSPENDED.idle',
  'TERMINATING.calling': 'TERMINATING.unaccepted',
  'TERMINATING.watching': 'TERMINATING.accepted',
};

const arrive = (substate: string) => (reach[substate] as () => Promise<Stage>)();

describe.each(Object.keys(commandTable))('FC-127 a life that ends in %s', (substate) => {
  test('goes on from its record, which survives JSON and starts nothing', async () => {
    const { sandbox } = await arrive(substate);
    const record = JSON.parse(JSON.stringify(sandbox.record())) as JournalRecord;
    expect(record.substate).toBe(substate);
    const snapshot = initialSnapshot(restore(record));
    expect(substateOf(snapshot)).toBe(goesOnAt[substate] ?? substate);
    expect(snapshot.context.call).toBeNull();
    expect(snapshot.context.microvmId).toBe(sandbox.microvmId);
    for (const name of ['tokenInstalled', 'imageExists', 'wasTerminated', 'bootstrapCount'] as const) {
      expect(snapshot.context[name]).toBe(sandbox.actor.getSnapshot().context[name]);
    }
  });

  test('is found in the journal with the intent of its last call', async () => {
    const { sandbox, platform } = await arrive(substate);
    const held = await platform.ports.journal.read(sandbox.id);
    if (substate === 'PENDING.idle') {
      expect(held).toBeNull();
      return;
    }
    expect(held).not.toBeNull();
    expect(held?.known.microvmId ?? held?.known.launch?.clientToken).toBeTruthy();
  });
});

test('FC-124 a process that dies while launching sends the same intent again, and makes no second VM', async () => {
  const { sandbox, platform } = await arrive('PENDING.launching');
  const record = (await platform.ports.journal.read(sandbox.id)) as JournalRecord;
  const first = platform.calls[0]?.body;
  sandbox.actor.stop();
  platform.release('RunMicrovm');

  const life = await Sandbox.restore(platform.ports, record, { schedules: referenceSchedules });
  expect(life.substate).toBe('PENDING.unresolved');
  expect(await life.terminate()).toMatchObject({ terminateAccepted: true, undeleted: [] });
  expect(platform.operations).toEqual(['RunMicrovm', 'RunMicrovm', 'TerminateMicrovm']);
  expect(platform.calls[1]?.body).toEqual(first);
  expect(life.microvmId).toBe('mvm-abc123');
});

test('the suspended window goes on over a restart, measured in wall time', async () => {
  const { sandbox, platform } = await arrive('SUSPENDED.idle');
  const record = sandbox.record();
  await platform.clock.advance(10_000);
  const { suspendedAt } = sandbox.actor.getSnapshot().context;
  // The new process has been up for 5 ms and its wall clock says the same as ours.
  const restored = restore(record, { at: 5, wallMs: platform.clock.wallNow() });
  expect(restored.resume?.known.suspendedAt).toBe(5 - (platform.clock.now() - (suspendedAt ?? 0)));
  expect(restore(record).resume?.known.suspendedAt).toBeNull();
});

test('FC-130 a substate of another release never loses the VM', async () => {
  const { sandbox } = await arrive('RUNNING.idle');
  const odd = { ...sandbox.record(), substate: 'warming' };
  expect(restore(odd).resume?.substate).toBe('PENDING.held');
  expect(restore({ ...odd, known: { ...odd.known, microvmId: null } }).resume?.substate).toBe('PENDING.unresolved');
  expect(restore({ ...odd, known: { ...odd.known, microvmId: null, launch: null } }).resume?.substate).toBe(
    'PENDING.idle',
  );
  expect(restore({ ...odd, known: { ...odd.known, wasTerminated: true } }).resume?.substate).toBe(
    'TERMINATING.unaccepted',
  );
});

test('FC-131 FC-133 a record is taken up only in its own region', async () => {
  const { sandbox, platform } = await arrive('RUNNING.idle');
  const before = platform.count();
  const elsewhere = { ...platform.ports, region: 'us-west-2' };
  await expect(Sandbox.restore(elsewhere, sandbox.record())).rejects.toMatchObject({
    kind: 'InvalidArg',
    reason: 'region-mismatch',
  });
  expect(platform.count()).toBe(before);
});

test('a restored life reads once and is where the VM is', async () => {
  const { sandbox, platform } = await arrive('SUSPENDED.idle');
  const record = sandbox.record();
  platform.answer('GetMicrovm', vm('RUNNING'));
  const before = platform.count();
  const life = await Sandbox.restore(platform.ports, record);
  expect(life.lifecycle).toBe('RUNNING');
  expect(platform.operations.slice(before)).toEqual(['GetMicrovm']);
  expect(life.session?.agentToken).toBe(sandbox.session?.agentToken);
});

test('the record of a context without a substate is read from its call', async () => {
  for (const substate of Object.keys(goesOnAt)) {
    const { sandbox } = await arrive(substate);
    expect(recordOf(sandbox.actor.getSnapshot().context, 0).substate).toBe(substate);
  }
});

test('FC-124 the journal closes an intent that made nothing, names a VM that was made, and notes an end', async () => {
  const refused = await arrive('PENDING.idle');
  refused.platform.answer('RunMicrovm', refusal(402, 'ServiceQuotaExceededException'));
  await expect(refused.sandbox.run({ imageIdentifier: 'arn:image' })).rejects.toMatchObject({ reason: 'quota' });
  expect(await refused.platform.ports.journal.read(refused.sandbox.id)).toMatchObject({
    substate: 'PENDING.idle',
    known: { launch: null },
  });

  const named = await arrive('PENDING.idle');
  await named.sandbox.run({ imageIdentifier: 'arn:image', wait: false });
  expect(await named.platform.ports.journal.read(named.sandbox.id)).toMatchObject({
    substate: 'PENDING.held',
    known: { microvmId: 'mvm-abc123', delivering: true },
  });

  const ended = await arrive('RUNNING.idle');
  ended.platform.answer('GetMicrovm', vm('TERMINATED'));
  await ended.sandbox.terminate({ waitForTerminated: true });
  expect(await ended.platform.ports.journal.read(ended.sandbox.id)).toMatchObject({ substate: 'TERMINATED' });
});

test('FC-124 a launch whose answer was lost is finished by the same intent', async () => {
  const { sandbox, platform } = await arrive('PENDING.unresolved');
  const sent = platform.count('RunMicrovm');
  const session = await sandbox.retryLaunch();
  expect([sandbox.lifecycle, platform.count('RunMicrovm') - sent, session]).toEqual(['RUNNING', 1, sandbox.session]);
  await expect(sandbox.retryLaunch()).rejects.toMatchObject({ kind: 'Precondition' });

  const other = await arrive('PENDING.unresolved');
  await expect(other.sandbox.run({ imageIdentifier: 'arn:another' })).rejects.toMatchObject({ requirement: 'STATE-3' });
  // The identical request is the same intent.
  await other.sandbox.run({ imageIdentifier: 'arn:image', suspendedSec: 600 });
  const tokens = other.platform.calls
    .filter(({ operation }) => operation === 'RunMicrovm')
    .map(({ body }) => body?.['clientToken']);
  expect(new Set(tokens).size).toBe(1);
});

test('FC-124 a kept token repeats its launch in another process, with the same body or not at all', async () => {
  const kept = { imageIdentifier: 'arn:image', clientToken: 'kept', agentToken: 'mine' };
  const begin = await arrive('PENDING.idle');
  begin.platform.answer('RunMicrovm', 'lost');
  const lost = begin.sandbox.run(kept);
  lost.catch(() => {});
  for (let turn = 0; turn < 8; turn += 1) await begin.platform.clock.advance(20_000);
  const record = begin.sandbox.record();
  begin.sandbox.actor.stop();
  begin.platform.answer('RunMicrovm', vm('PENDING'));
  const sent = begin.platform.count('RunMicrovm');

  const life = await Sandbox.restore(begin.platform.ports, record);
  await expect(life.run({ ...kept, agentToken: 'another' })).rejects.toMatchObject({ reason: 'intent-conflict' });
  expect(begin.platform.count('RunMicrovm')).toBe(sent);
  await life.run(kept);
  expect(life.lifecycle).toBe('RUNNING');
  const bodies = begin.platform.calls
    .filter(({ operation }) => operation === 'RunMicrovm')
    .map(({ body }) => JSON.stringify(body));
  expect(new Set(bodies).size).toBe(1);
});
