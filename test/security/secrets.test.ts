/** Nothing secret shows: markers are planted in every secret of a whole life, and every surface is searched for them. */
import { expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { awsPorts, staticCredentials } from '../../adapters/index.ts';
import { startEmulator } from '../../adapters/emulator/index.ts';
import { Sandbox, VmchartError } from '../../effects/index.ts';
import type { Ports } from '../../effects/index.ts';

const secretKey = 'planted-secret-access-key-0001';
const agentToken = 'planted-agent-token-0002-0123456789abcdef';
const launchSecret = 'planted-launch-environment-0003';

test('FC-070 no secret in a snapshot, an inspection event, a journal, an error or a rendering', async () => {
  await using emulator = await startEmulator({
    credentials: { accessKeyId: 'AKIDPLANTED', secretAccessKey: secretKey },
  });
  const base = awsPorts({
    endpointUrl: emulator.endpoint,
    region: emulator.region,
    credentials: staticCredentials({ accessKeyId: 'AKIDPLANTED', secretAccessKey: secretKey }),
  });
  const surfaces: [string, string][] = [];
  const show = (what: string, value: unknown) => {
    surfaces.push([`${what} (inspect)`, inspect(value, { depth: 12, showHidden: true, getters: false })]);
    surfaces.push([`${what} (JSON)`, JSON.stringify(value) ?? '']);
  };
  const proxyTokens: string[] = [];
  const ports: Ports = {
    ...base,
    journal: {
      ...base.journal,
      write: async (record) => (show('journal', record), base.journal.write(record)),
    },
  };
  const inspected: string[] = [];
  const sandbox = new Sandbox(ports, {
    inspect: (event) => {
      if (event.type === '@xstate.event') inspected.push(JSON.stringify(event.event));
      if (event.type === '@xstate.snapshot')
        inspected.push(JSON.stringify((event.snapshot as { context?: unknown }).context ?? null));
    },
  });

  const session = await sandbox.run({
    imageIdentifier: emulator.imageArn,
    agentToken,
    launchEnv: { PLANTED: launchSecret },
  });
  proxyTokens.push(
    (await session.headers())['X-aws-proxy-auth'] ??
      Object.entries(await session.headers()).find(([name]) => /proxy-auth/i.test(name))?.[1] ??
      '',
  );
  expect((await session.run('test "$PLANTED" = planted-launch-environment-0003 && echo delivered')).stdout).toBe(
    'delivered\n',
  );
  const errors = [
    session.exec('no-such-exec').poll(),
    session.run('true', { user: 'nobody-of-that-name' }),
    sandbox.run({ imageIdentifier: emulator.imageArn, agentToken, launchEnv: { PLANTED: launchSecret.repeat(200) } }),
    new Sandbox(ports).run({
      imageIdentifier: emulator.imageArn,
      agentToken,
      launchEnv: { PLANTED: launchSecret.repeat(200) },
    }),
    new Sandbox(ports).run({
      imageIdentifier: `${emulator.imageArn}-missing`,
      agentToken,
      launchEnv: { PLANTED: launchSecret },
    }),
    Sandbox.adopt(ports, { microvmId: sandbox.microvmId ?? '', agentToken, endpoint: 'https://elsewhere.example' }),
  ];
  for (const failing of errors) {
    const error = await failing.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(VmchartError.is(error)).toBe(true);
    show('error', error);
    surfaces.push(['error stack', String((error as Error).stack)]);
  }
  show('sandbox', sandbox);
  show('session', session);
  show('record', sandbox.record());
  show('persisted snapshot', sandbox.actor.getPersistedSnapshot());
  show('context', sandbox.actor.getSnapshot().context);
  show('recorder of the emulator', emulator.recorder);
  await sandbox.suspend();
  await sandbox.resume();
  await sandbox.terminate({ waitForTerminated: true });
  for (const text of inspected) surfaces.push(['inspection event', text]);

  expect(proxyTokens[0]?.length).toBeGreaterThan(100);
  expect(inspected.length).toBeGreaterThan(20);
  const markers = [secretKey, agentToken, launchSecret, ...proxyTokens.map((token) => token.slice(0, 60))];
  const found = surfaces.filter(([, text]) => markers.some((marker) => text.includes(marker))).map(([what]) => what);
  expect(found).toEqual([]);
}, 30_000);
