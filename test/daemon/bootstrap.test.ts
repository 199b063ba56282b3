/** Who may ask what of the daemon: the one-shot bootstrap, the bearer check, and the order of all checks. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { bearerOf } from '../../adapters/emulator/daemon/bootstrap.ts';
import { startGuest, token } from './guest-harness.ts';
import type { CallOptions, Harness } from './guest-harness.ts';

const prefix = '/aws/lambda-microvms/runtime/v1';
const other = 'b2'.repeat(32);

const open: Harness[] = [];
const fresh = async (options: Parameters<typeof startGuest>[0] = {}): Promise<Harness> => {
  const vm = await startGuest({ isolation: 'plain', bootstrap: false, ...options });
  open.push(vm);
  return vm;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((vm) => vm.close()));
});

const run = (vm: Harness, payload: unknown) =>
  vm.call(`${prefix}/run`, {
    bearer: null,
    json: { runHookPayload: typeof payload === 'string' ? payload : JSON.stringify(payload) },
  });

describe('3 the run hook', () => {
  test('3.3 each unusable envelope or payload is a 400 that quotes no value', async () => {
    const vm = await fresh();
    const key = Buffer.alloc(32, 7).toString('base64');
    const empty: CallOptions[] = [
      { body: '{', headers: { 'content-type': 'application/json' } },
      { body: JSON.stringify({ runHookPayload: JSON.stringify({ agent_token: token }) }) },
      { json: {} },
      { json: { runHookPayload: null } },
      { json: { runHookPayload: { agent_token: token } } },
      { json: [] },
      { body: Buffer.from('{"runHookPayload":"\xff"}', 'latin1'), headers: { 'content-type': 'application/json' } },
      { json: { runHookPayload: 'x'.repeat(2_100_000) } },
    ];
    for (const options of empty) {
      const answer = await vm.call(`${prefix}/run`, { bearer: null, ...options });
      expect([answer.status, answer.text]).toEqual([400, '']);
    }
    const texts: readonly (readonly [unknown, RegExp])[] = [
      ['not json', /not a JSON object/],
      ['[]', /not a JSON object/],
      ['"text"', /not a JSON object/],
      [{}, /agent_token/],
      [{ agent_token: 7 }, /agent_token/],
      [{ agent_token: '' }, /agent_token/],
      [{ agent_token: token, env: [] }, /env/],
      [{ agent_token: token, env: { NAME: 7 } }, /"NAME"/],
      [{ agent_token: token, identity_seed: 7, identity_host_public_key: key }, /identity_seed/],
      [{ agent_token: token, identity_seed: key }, /identity_host_public_key is missing/],
      [{ agent_token: token, identity_host_public_key: key }, /identity_seed is missing/],
      [{ agent_token: token, identity_seed: key.slice(0, -1), identity_host_public_key: key }, /not base64/],
      [{ agent_token: token, identity_seed: key, identity_host_public_key: 'AAAA' }, /not 32 bytes/],
      [
        { agent_token: token, identity_seed: Buffer.alloc(32).toString('base64'), identity_host_public_key: key },
        /all zero/,
      ],
    ];
    for (const [payload, text] of texts) {
      const answer = await run(vm, payload);
      expect([payload, answer.status]).toEqual([payload, 400]);
      expect(answer.text).toMatch(text);
      expect(answer.text).not.toContain(token);
    }
    expect((await vm.call('/v1/health', { bearer: null })).json()['bootstrapped']).toBe(false);
    expect((await run(vm, { agent_token: token, env: null, identity_seed: null, more: 1 })).status).toBe(200);
  });

  test('3.4 exactly one of several racing bootstraps wins, with its environment', async () => {
    const vm = await fresh();
    const tokens = Array.from({ length: 8 }, (_, index) => `token-${index}`);
    const statuses = await Promise.all(
      tokens.map(async (agent_token) => (await run(vm, { agent_token, env: { WINNER: agent_token } })).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(7);
    const winner = tokens[statuses.indexOf(200)] as string;
    for (const bearer of tokens) {
      expect((await vm.call('/v1/procs', { bearer })).status).toBe(bearer === winner ? 200 : 401);
    }
    const exec = { exec_id: 'x', command: ['/bin/sh', '-c', 'echo $WINNER'] };
    await vm.call('/v1/exec/start', { bearer: winner, json: exec });
    let text = '';
    while (text === '') text = String((await vm.call('/v1/exec/x', { bearer: winner })).json()['stdout'] ?? '');
    expect(text).toBe(`${winner}\n`);
  });

  test('3.4 a broken identity is a 400 even on a replay, and a replay changes nothing', async () => {
    const vm = await fresh();
    expect((await run(vm, { agent_token: token })).status).toBe(200);
    expect((await run(vm, { agent_token: token, identity_seed: 'x' })).status).toBe(400);
    const before = (await vm.call('/v1/health')).json()['identity_steps'];
    expect((await run(vm, { agent_token: token, env: { LATE: 'x' } })).status).toBe(200);
    expect((await vm.run('echo $LATE'))['stdout']).toBe('\n');
    expect((await vm.call('/v1/health')).json()['identity_steps']).toEqual(before);
  });

  test('3.5 every call is noted before it is decided, the first 64 in full', async () => {
    const vm = await fresh();
    await vm.call(`${prefix}/ready`, { method: 'POST', bearer: null });
    await run(vm, 'refused');
    for (let calls = 0; calls < 65; calls += 1) await vm.guest.hook('validate', null);
    const { hooks, hooks_dropped } = (await vm.call('/v1/health')).json() as {
      hooks: { hook: string; fired_at: number }[];
      hooks_dropped: number;
    };
    expect(hooks).toHaveLength(64);
    expect(hooks_dropped).toBe(3);
    expect(hooks.slice(0, 3).map(({ hook }) => hook)).toEqual(['ready', 'run', 'validate']);
    expect(Math.abs((hooks[0]?.fired_at ?? 0) - Date.now() / 1_000)).toBeLessThan(30);
  });

  test('3.2 the other hooks answer 200 before and after the bootstrap, whatever their body', async () => {
    const vm = await fresh();
    for (const hook of ['ready', 'validate', 'suspend', 'resume', 'terminate']) {
      expect((await vm.call(`${prefix}/${hook}`, { bearer: null, body: '{broken', method: 'POST' })).status).toBe(200);
    }
    expect(await vm.guest.hook('run', null)).toEqual({ status: 400 });
  });

  test('the token is in nothing that can be looked at', async () => {
    const vm = await fresh();
    await run(vm, { agent_token: token, env: { LAUNCH: 'launch-marker' } });
    const shown = [
      inspect(vm.guest, { depth: 10, showHidden: true }),
      JSON.stringify(vm.guest),
      (await vm.call('/v1/health')).text,
      (await vm.call('/v1/schema')).text,
      String((await vm.run('env; cat /proc/self/environ', { inherit_image_env: true }))['stdout']),
    ].join('\n');
    expect(shown).not.toContain(token);
    expect(shown.split('launch-marker')).toHaveLength(3);
  });
});

describe('1.5 and 4 order of checks', () => {
  let vm: Harness;
  let early: Harness;
  beforeAll(async () => {
    vm = await startGuest({ isolation: 'plain', daemon: { settings: { maxBodyBytes: 100_000 } } });
    early = await startGuest({ isolation: 'plain', bootstrap: false });
  });
  afterAll(async () => {
    await vm.close();
    await early.close();
  });

  test('4 before the bootstrap every control route is 503, whatever it brings', async () => {
    for (const bearer of [null, token, 'é']) {
      expect(
        await early.call(
          '/v1/procs',
          bearer === 'é' ? { bearer: null, headers: { authorization: 'Bearer \xe9' } } : { bearer },
        ),
      ).toMatchObject({
        status: 503,
        text: '',
      });
    }
  });

  test('4 only the exact token is let in, byte for byte', async () => {
    const status = async (authorization: string) =>
      (await vm.call('/v1/procs', { bearer: null, headers: { authorization } })).status;
    for (const good of [`Bearer ${token}`, `bearer ${token}`, `BEARER ${token}`]) expect(await status(good)).toBe(200);
    for (const bad of [
      token,
      `Bearer${token}`,
      `Basic ${token}`,
      `Bearer ${other}`,
      `Bearer  ${token}`,
      `Bearer ${token}x`,
      'Bearer',
      'Bearer \xff\xfe',
    ]) {
      expect([bad, await status(bad)]).toEqual([bad, 401]);
    }
    const answer = await vm.call('/v1/procs', { bearer: null });
    expect([answer.status, answer.text, answer.headers['www-authenticate']]).toEqual([401, '', undefined]);
    expect(bearerOf('Bearer  x')).toEqual(Buffer.from(' x'));
  });

  test('1.5 the path comes first, then the declared length, then the token, then the method', async () => {
    const status = async (path: string, options: CallOptions) => (await vm.call(path, options)).status;
    const large = Buffer.alloc(100_001);
    expect(await status('/v1/nope', { bearer: null, body: large })).toBe(404);
    expect(await status('/v1/exec/x/nope', { bearer: null })).toBe(404);
    expect(await status('/v1/health/', { bearer: null })).toBe(404);
    expect(await status('/v1/procs', { bearer: null, body: large })).toBe(413);
    expect(await status('/v1/procs', { bearer: null, method: 'DELETE' })).toBe(401);
    const wrong = await vm.call('/v1/procs', { method: 'DELETE' });
    expect([wrong.status, wrong.headers['allow'], wrong.text]).toEqual([405, 'GET,HEAD', '']);
    const open = await vm.call('/v1/health', { bearer: null, method: 'POST', body: large });
    expect([open.status, open.headers['allow']]).toEqual([405, 'GET,HEAD']);
    expect(await status('/v1/exec/start', { method: 'GET' })).toBe(405);
    const head = await vm.call('/v1/health', { method: 'HEAD', bearer: null });
    expect([head.status, head.text, head.headers['content-type']]).toEqual([200, '', 'application/json']);
  });

  test('1.2 the version is on every answer', async () => {
    for (const [path, options] of [
      ['/v1/health', {}],
      ['/v1/nope', {}],
      ['/v1/procs', { bearer: null }],
      ['/v1/procs', { body: Buffer.alloc(100_001) }],
    ] as const) {
      expect((await vm.call(path, options)).headers['microvms-agentd-version']).toBe('0.12.0');
    }
  });

  test('1.2 the markers of newer daemons are off until asked for', async () => {
    const newer = await startGuest({
      isolation: 'plain',
      environment: { AGENTD_DEFAULT_USER: '0' },
      daemon: { generation: { powerOff: true }, settings: { version: '1.3.0' } },
    });
    try {
      expect((await newer.call('/v1/health')).headers).toMatchObject({
        'microvm-poweroff-on-exit': '1',
        'microvms-default-user-configured': '1',
        'microvms-agentd-version': '1.3.0',
      });
      const older = (await vm.call('/v1/health')).headers;
      expect([older['microvm-poweroff-on-exit'], older['microvms-default-user-configured']]).toEqual([
        undefined,
        undefined,
      ]);
      let ended: (code: number) => void = () => undefined;
      const exitCode = new Promise<number>((resolve) => {
        ended = resolve;
      });
      newer.guest.onExit((code) => ended(code));
      await newer.call('/v1/exec/start', { json: { exec_id: 'off', command: ['/bin/true'], poweroff_on_exit: true } });
      expect(await exitCode).toBe(0);
    } finally {
      await newer.close();
    }
  });

  test('6 the schema lists exactly the routes that are served, and the limits in force', async () => {
    const document = (await vm.call('/v1/schema', { bearer: null })).json() as unknown as {
      routes: { method: string; path: string; auth: string }[];
      limits: Record<string, number>;
      $defs: Record<string, unknown>;
      daemon_version: string;
    };
    expect(document.limits).toMatchObject({
      max_body_bytes: 100_000,
      exec_ttl_secs: 900,
      stream_replay_bytes: 1_048_576,
    });
    expect(Object.keys(document.limits)).toHaveLength(12);
    expect(Object.keys(document.$defs)).toHaveLength(25);
    expect(document.daemon_version).toBe('0.12.0');
    expect(document.routes).toHaveLength(20);
    for (const { method, path, auth } of document.routes) {
      if (auth !== 'bearer') continue;
      const answer = await vm.call(path.replace('{id}', 'x'), { method, bearer: null });
      expect([path, answer.status]).toEqual([path, 401]);
    }
    const references = new Set(JSON.stringify(document).match(/#\/\$defs\/\w+/g));
    for (const reference of references) expect(Object.keys(document.$defs)).toContain(reference.slice(8));
  });

  test('5 health has every field, with the environment that execs may inherit counted', async () => {
    const health = (await vm.call('/v1/health', { bearer: null })).json();
    expect(health).toEqual({
      version: '0.12.0',
      bootstrapped: true,
      disk: { available_bytes: expect.any(Number), reserve_bytes: 268_435_456, under_pressure: false },
      identity_degraded: false,
      identity_repaired: true,
      busy: false,
      execs: 0,
      hooks: [{ hook: 'run', fired_at: expect.any(Number) }],
      hooks_dropped: 0,
      identity_steps: ['machine-id', 'hostname', 'boot-id', 'random-seed', 'cached-credential'].map((name) => ({
        name,
        outcome: name === 'machine-id' ? 'repaired' : 'not_applicable',
      })),
      image_env_keys: 2,
    });
  });
});
