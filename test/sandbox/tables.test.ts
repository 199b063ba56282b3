/** Every cell of both tables of the lifecycle, over the real client, with the calls that go out for it. */
import { describe, expect, test } from '@jest/globals';
import { commandTypes, sandboxEvents, vmStates } from '../../machines/index.ts';
import type { Answered, SandboxCommand } from '../../machines/index.ts';
import { settle, vm } from '../helpers/scripted-platform.ts';
import { commandTable, pastWindow, reportTable } from './lifecycle-tables.ts';
import type { CommandCell } from './lifecycle-tables.ts';
import { reach } from './substates.ts';
import type { Stage } from './substates.ts';

const launch = {
  request: {
    imageIdentifier: 'arn:other',
    suspendedSec: 1,
    options: {},
    agentTokenRef: 'r',
    launchEnvRef: null,
    identityRef: null,
  },
  clientToken: 'another-intent',
  callerKept: false,
  wait: true,
  timeoutMs: 1_000,
};

/** Gives a command straight to the machine and reports the answer and the calls that went out. */
async function give(stage: Stage, command: SandboxCommand) {
  const { sandbox, platform } = stage;
  const answers: Answered[] = [];
  const before = platform.count();
  const variables = JSON.stringify(sandbox);
  const listening = sandbox.actor.on('ANSWERED', (event) => void answers.push(event));
  sandbox.actor.send(command);
  const after = JSON.stringify(sandbox);
  await settle();
  listening.unsubscribe();
  return { answers, calls: platform.operations.slice(before), unchanged: variables === after };
}

function expectCell(result: Awaited<ReturnType<typeof give>>, cell: CommandCell, commandId: string) {
  expect(result.answers).toHaveLength(1);
  expect(result.answers[0]).toMatchObject({ verdict: cell.verdict, commandId });
  expect(result.answers[0]?.refusal?.kind).toBe(cell.kind);
  expect(result.answers[0]?.refusal?.requirement ?? undefined).toBe(cell.requirement);
  // The first calls are the command's own; what the call leads to comes after.
  expect(result.calls.slice(0, cell.calls.length)).toEqual(cell.calls);
  if (cell.calls.length === 0) expect(result.calls).toEqual([]);
  if (cell.verdict === 'refused' || cell.verdict === 'no-op') expect(result.unchanged).toBe(true);
}

describe.each(Object.keys(commandTable))('%s', (substate) => {
  test('is reached', async () => {
    const { sandbox } = await (reach[substate] as () => Promise<Stage>)();
    expect(sandbox.substate).toBe(substate);
  });

  test.each(commandTypes)('answers %s', async (type) => {
    const stage = await (reach[substate] as () => Promise<Stage>)();
    const cell = commandTable[substate]?.[type] as CommandCell;
    const events = sandboxEvents({ now: () => stage.platform.clock.now(), nextId: () => 'given' });
    if (substate === 'PENDING.idle') await stage.platform.ports.secrets.put('r', 'token');
    const command = {
      RUN: () => events.run(launch),
      SUSPEND: events.suspend,
      RESUME: events.resume,
      TERMINATE: events.terminate,
    }[type]();
    expectCell(await give(stage, command), cell, 'given');
  });
});

test('PENDING.unresolved takes the same intent again, and only that', async () => {
  const stage = await (reach['PENDING.unresolved'] as () => Promise<Stage>)();
  const intent = stage.sandbox.actor.getSnapshot().context.launch;
  const first = stage.platform.calls.at(0)?.body;
  const events = sandboxEvents({ now: () => stage.platform.clock.now(), nextId: () => 'again' });
  const same = events.run({
    ...launch,
    request: intent?.request as typeof launch.request,
    clientToken: intent?.clientToken as string,
  });
  const result = await give(stage, same);
  expectCell(result, { verdict: 'accepted', calls: ['RunMicrovm'] }, 'again');
  const bodies = stage.platform.calls
    .filter((call) => call.operation === 'RunMicrovm')
    .map((call) => JSON.stringify(call.body));
  expect(bodies).toHaveLength(7);
  expect(new Set(bodies)).toEqual(new Set([JSON.stringify(first)]));
});

test('STATE-12 SUSPENDED.idle refuses a resume past the window, and takes it at the last instant', async () => {
  const open = await (reach['SUSPENDED.idle'] as () => Promise<Stage>)();
  await open.platform.clock.advance(600_000);
  const events = (stage: Stage) => sandboxEvents({ now: () => stage.platform.clock.now(), nextId: () => 'given' });
  expectCell(await give(open, events(open).resume()), { verdict: 'accepted', calls: ['ResumeMicrovm'] }, 'given');
  const closed = await (reach['SUSPENDED.idle'] as () => Promise<Stage>)();
  await closed.platform.clock.advance(600_001);
  expectCell(await give(closed, events(closed).resume()), pastWindow, 'given');
});

describe.each(Object.keys(reportTable))('%s', (row) => {
  test.each(vmStates)('reported %s', async (state) => {
    const stage = await (reach[row] as () => Promise<Stage>)();
    const { sandbox, platform } = stage;
    const from = sandbox.substate;
    const target = reportTable[row]?.[state] as string;
    const before = platform.count();
    await platform.clock.advance(1);
    const [microvmId, description] = ['mvm-abc123', vm(state)];
    sandbox.observe({
      type: `OBSERVED.${state}`,
      at: platform.clock.now(),
      askedAt: platform.clock.now(),
      description: {
        microvmId,
        state,
        endpoint: String(description['endpoint']),
        imageArn: 'a',
        imageVersion: '1',
        stateReason: null,
        idlePolicy: null,
        maximumDurationSec: null,
        startedAtMs: null,
        terminatedAtMs: null,
      },
    });
    expect(sandbox.substate).toBe(target === 'stay' ? from : target);
    if (sandbox.lifecycle === 'TERMINATING' || sandbox.lifecycle === 'TERMINATED')
      expect(sandbox.wasTerminated).toBe(true);
    if (from === 'RUNNING.idle' && (state === 'SUSPENDING' || state === 'SUSPENDED'))
      expect(sandbox.cause).toBe('platform');
    // A report itself sends nothing: only a launch that is brought back resumes.
    if (target !== 'PENDING.reviving')
      expect(platform.operations.slice(before).filter((name) => !name.startsWith('Get'))).toEqual([]);
  });

  test('ignores a report asked before the last accepted call', async () => {
    const { sandbox } = await (reach[row] as () => Promise<Stage>)();
    const from = sandbox.substate;
    sandbox.observe({ type: 'OBSERVED.TERMINATED', at: 0, askedAt: -1, description: null });
    expect(sandbox.substate).toBe(sandbox.actor.getSnapshot().context.acceptedAt === null ? 'TERMINATED' : from);
  });

  test('keeps a state that nobody knows beside the last known one', async () => {
    const { sandbox, platform } = await (reach[row] as () => Promise<Stage>)();
    const from = sandbox.substate;
    const at = platform.clock.now();
    const description = { ...(sandbox.microvm as NonNullable<typeof sandbox.microvm>), state: 'HIBERNATING' };
    sandbox.observe({ type: 'OBSERVED.UNKNOWN', at, askedAt: at, description });
    expect([sandbox.substate, sandbox.reported]).toEqual([from, 'HIBERNATING']);
  });
});
