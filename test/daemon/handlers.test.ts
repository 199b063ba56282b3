/** The workload's own hook handlers inside a VM, and the identity that a VM gets of its own. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { manualClock } from '../../adapters/clock.ts';
import { createProcessGuests } from '../../adapters/emulator/guest/index.ts';
import { eventually, startGuest, token } from './guest-harness.ts';
import type { Harness } from './guest-harness.ts';

const isolated = /own root/.test(createProcessGuests().notice);
const withNamespaces = isolated ? test : test.skip;
const clock = manualClock();
let vm: Harness;

beforeAll(async () => {
  vm = await startGuest({ clock, payload: { env: { LAUNCH: 'launch' } }, environment: { IMAGE: 'image' } });
  await vm.run('mkdir -p /etc/agentd/hooks.d');
});
afterAll(() => vm.close());
beforeEach(() => vm.run('rm -rf /etc/agentd/hooks.d/* /tmp/*'));

const install = async (hook: string, body: string, mode = '0755'): Promise<void> => {
  const path = `/v1/fs/file?path=/etc/agentd/hooks.d/${hook}&mode=${mode}`;
  expect((await vm.call(path, { method: 'PUT', body: `#!/bin/sh\n${body}\n` })).status).toBe(204);
};
const lastHook = async (): Promise<Record<string, unknown>> => {
  const { hooks } = (await vm.call('/v1/health')).json() as { hooks: Record<string, unknown>[] };
  return hooks.at(-1) ?? {};
};

withNamespaces(
  '3.6 a handler runs before the answer, with the daemon’s environment, and changes no answer',
  async () => {
    await install('suspend', 'env | sort > /tmp/seen; pwd >> /tmp/seen; id -u >> /tmp/seen; cat >> /tmp/seen; exit 3');
    expect(await vm.guest.hook('suspend', null)).toEqual({ status: 200 });
    const seen = (await vm.call('/v1/fs/file?path=/tmp/seen')).text;
    for (const line of ['AGENTD_HOOK=suspend', 'IMAGE=image', 'LAUNCH=launch'])
      expect(seen.split('\n')).toContain(line);
    expect(seen).toMatch(/\n\/\n0\n$/);
    expect(seen).not.toContain(token);
    expect(await lastHook()).toEqual({
      hook: 'suspend',
      fired_at: expect.any(Number),
      handler: { exit_code: 3, signal: null, timed_out: false, duration_ms: 0 },
    });
  },
);

withNamespaces('3.6 without a handler there is no outcome, and one that is no program says so', async () => {
  expect(await vm.guest.hook('resume', null)).toEqual({ status: 200 });
  expect(await lastHook()).not.toHaveProperty('handler');
  await install('resume', 'true', '0644');
  expect(await vm.guest.hook('resume', null)).toEqual({ status: 200 });
  expect(await lastHook()).toMatchObject({ handler: { exit_code: null, error: 'not an executable regular file' } });
});

withNamespaces('3.6 a handler past its budget is killed with its whole group, and the hook is answered', async () => {
  await install('terminate', 'echo up > /tmp/up; sleep 1000 & sleep 1000');
  const answer = vm.guest.hook('terminate', null);
  await eventually(async () => (await vm.call('/v1/fs/file?path=/tmp/up')).status === 200);
  await clock.advance(20_000);
  expect(await answer).toEqual({ status: 200 });
  expect(await lastHook()).toMatchObject({
    handler: { exit_code: null, signal: 9, timed_out: true, duration_ms: 20_000 },
  });
  await eventually(async () => (await vm.run('cat /proc/[0-9]*/comm | grep -c sleep'))['stdout'] === '0\n');
});

withNamespaces('3.6 handlers run one at a time', async () => {
  await install('resume', 'mkdir /tmp/lock || echo twice >> /tmp/overlap; sleep 0.1; rmdir /tmp/lock');
  await Promise.all([1, 2, 3].map(() => vm.guest.hook('resume', null)));
  expect((await vm.call('/v1/fs/file?path=/tmp/overlap')).status).toBe(404);
});

test('17 the winning run hook repairs the identity once, unless that is switched off', async () => {
  const { identity_steps, identity_repaired, identity_degraded } = (await vm.call('/v1/health')).json();
  expect([identity_repaired, identity_degraded]).toEqual([true, false]);
  const kernel = isolated ? 'repaired' : 'not_applicable';
  expect(identity_steps).toEqual([
    { name: 'machine-id', outcome: 'repaired' },
    { name: 'hostname', outcome: kernel },
    { name: 'boot-id', outcome: kernel },
    { name: 'random-seed', outcome: 'not_applicable' },
    { name: 'cached-credential', outcome: 'not_applicable' },
  ]);
  const off = await startGuest({ environment: { AGENTD_REPAIR_IDENTITY: 'off' } });
  try {
    expect((await off.call('/v1/health')).json()).toMatchObject({ identity_steps: [], identity_repaired: false });
  } finally {
    await off.close();
  }
});
