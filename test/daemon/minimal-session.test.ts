/** The session of `agentd-protocol.md` 21.1, request by request. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, startGuest, token } from './guest-harness.ts';
import type { Harness } from './guest-harness.ts';

const hook = '/aws/lambda-microvms/runtime/v1/run';
const other = 'b2'.repeat(32);
const envelope = (agentToken: string) => ({ runHookPayload: JSON.stringify({ agent_token: agentToken }) });

let vm: Harness;
beforeAll(async () => {
  vm = await startGuest({ bootstrap: false });
});
afterAll(() => vm.close());

test('21.1 the minimal session answers each of its eighteen requests as written', async () => {
  const answer = async (path: string, options: Parameters<Harness['call']>[1] = {}) => {
    const { status, text } = await vm.call(path, options);
    return [status, text];
  };
  const start = { exec_id: 'x', command: ['/bin/sh', '-c', 'echo hi; exit 4'] };
  const started = JSON.stringify({ exec_id: 'x', phase: 'running' });
  const result = {
    exec_id: 'x',
    phase: 'exited',
    exit_code: 4,
    signal: null,
    timed_out: false,
    stdout: 'hi\n',
    stderr: '',
    truncated: false,
    writers_may_be_alive: false,
  };

  expect(await answer('/v1/exec/x')).toEqual([503, '']);
  expect(await answer(hook, { json: envelope(token), bearer: null })).toEqual([200, '']);
  expect(await answer(hook, { json: envelope(token), bearer: null })).toEqual([200, '']);
  expect(await answer(hook, { json: envelope(other), bearer: null })).toEqual([409, '']);
  expect(await answer('/v1/exec/x', { bearer: other })).toEqual([401, '']);
  expect(await answer('/v1/nope', { bearer: null })).toEqual([404, '']);
  expect(await answer('/v1/exec/x')).toEqual([404, '{"error":"unknown_exec","detail":"x"}']);
  expect(await answer('/v1/exec/start', { json: start })).toEqual([200, started]);
  expect(await answer('/v1/exec/start', { json: start })).toEqual([200, started]);
  await eventually(async () => (await vm.call('/v1/exec/x')).json()['phase'] === 'exited');
  expect(await answer('/v1/exec/x')).toEqual([200, JSON.stringify(result)]);
  expect(await answer('/v1/exec/x/ack', { method: 'POST' })).toEqual([
    200,
    JSON.stringify({ ...result, phase: 'acked' }),
  ]);
  expect((await vm.call('/v1/exec/x/ack', { method: 'POST' })).json()).toMatchObject({ error: 'already_acked' });
  expect(await answer('/v1/exec/x')).toEqual([200, '{"exec_id":"x","phase":"acked"}']);
  expect(await answer('/v1/exec/x/kill', { method: 'POST' })).toEqual([200, '{"exec_id":"x","killed":false}']);
});
