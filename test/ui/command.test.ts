import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { startEmulator } from '../../adapters/emulator/index.ts';
import { readReplay } from '../../adapters/trace/file.ts';
import type { Life } from '../../adapters/ui/assets/fold.js';
import { cli, envelopeOf, HandSignals, json } from '../cli/harness.ts';
import { until } from './page-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'vmchart-ui-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Serves until the test has looked; returns what the command ended with. */
async function serving<T>(
  words: readonly string[],
  look: (address: URL) => Promise<T>,
): Promise<{ code: number; seen: T }> {
  const interrupts = new HandSignals();
  let address = '';
  const ended = cli(['--json', 'ui', ...words], {
    interrupts,
    heard: (stdout) => {
      if (stdout.endsWith('\n')) address = (envelopeOf({ stdout }).data as { address: string }).address;
    },
  });
  await Promise.race([until(() => address !== ''), ended]);
  if (address === '') throw new Error((await ended).stdout);
  try {
    return { seen: await look(new URL(address)), code: 0 };
  } finally {
    interrupts.interrupt();
    expect((await ended).code).toBe(0);
  }
}

/** The lives as a page is greeted with them. */
async function lives(address: URL): Promise<Life[]> {
  const events = await fetch(new URL('/events', address));
  const reader = events.body?.getReader();
  let text = '';
  while (!text.includes('\n\n')) text += new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  return (JSON.parse(/data: (.*)/.exec(text)?.[1] ?? '{}') as { lives: Life[] }).lives;
}

const give = (address: URL, path: string, body: unknown) =>
  fetch(new URL(path, address), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-vmchart-token': new URLSearchParams(address.hash.slice(1)).get('token') ?? '',
    },
    body: JSON.stringify(body),
  });

test('vmchart ui --launch shows VMs on an emulator of its own, and ends with the first signal', async () => {
  const { seen } = await serving(['--launch', '2'], async (address) => {
    await until(
      async () => (await lives(address)).filter(({ state }) => state === 'RUNNING.idle').length === 2,
      25_000,
    );
    return await lives(address);
  });
  expect(seen.map(({ title, source, takesCommands }) => ({ title, source, takesCommands }))).toEqual([
    { title: 'vm-1', source: 'emulator', takesCommands: true },
    { title: 'vm-2', source: 'emulator', takesCommands: true },
  ]);
}, 60_000);

test('vmchart ui --endpoint-url shows the VMs of an emulator elsewhere, and commands reach them', async () => {
  await using emulator = await startEmulator({});
  const launched = await json(['run', '--keep', '--name', 'kept', '--endpoint-url', emulator.endpoint], {
    environment: { HOME: folder },
  });
  expect(launched.exitCode).toBe(0);
  await serving(['--endpoint-url', emulator.endpoint], async (address) => {
    const [life] = await lives(address);
    expect(life).toMatchObject({ state: 'RUNNING.idle', source: 'service', takesCommands: true, takesLines: false });
    const name = encodeURIComponent(life?.id ?? '');
    expect(await (await give(address, `/lives/${name}/commands`, { command: 'RESUME' })).json()).toMatchObject({
      verdict: 'refused',
      requirement: 'STATE-7',
    });
    expect(await (await give(address, `/lives/${name}/commands`, { command: 'SUSPEND' })).json()).toMatchObject({
      verdict: 'accepted',
    });
    await until(() => emulator.vms()[0]?.state === 'SUSPENDED');
    await until(async () => (await lives(address))[0]?.state === 'SUSPENDED.idle');
  });
}, 60_000);

test('run --record writes a history without secrets, and ui --replay shows it', async () => {
  const file = join(folder, 'life.jsonl');
  const { exitCode } = await json(['run', '--exec', 'echo what-was-printed', '--record', file]);
  expect(exitCode).toBe(0);
  const text = readFileSync(file, 'utf8');
  expect(text).not.toMatch(/what-was-printed|authorization|payload|Bearer|wJalrXUtnFEMI/i);
  const { entries } = readReplay(text, file);
  const states = entries.flatMap((entry) => (entry.kind === 'state' ? [entry.state.split('.')[0]] : []));
  expect([...new Set(states)]).toEqual(['PENDING', 'RUNNING', 'TERMINATING', 'TERMINATED']);
  const calls = entries.flatMap((entry) => (entry.kind === 'call' && entry.layer === 'wire' ? [entry.operation] : []));
  expect(calls).toEqual(expect.arrayContaining(['RunMicrovm', 'CreateMicrovmAuthToken', 'TerminateMicrovm']));
  expect(entries.at(-1)).toMatchObject({ kind: 'output', stream: 'stdout', bytes: 17, text: null });

  await serving(['--replay', file], async (address) => {
    const events = await fetch(new URL('/events', address));
    const reader = events.body?.getReader();
    let greeting = '';
    while (!greeting.includes('\n\n')) greeting += new TextDecoder().decode((await reader?.read())?.value);
    await reader?.cancel();
    const { replay } = JSON.parse(/data: (.*)/.exec(greeting)?.[1] ?? '{}') as { replay: { entries: unknown[] } };
    expect(replay.entries).toHaveLength(entries.length);
  });

  const drawn = join(folder, 'life.svg');
  expect((await json(['graph', '--replay', file, '-o', drawn])).exitCode).toBe(0);
  const svg = readFileSync(drawn, 'utf8');
  expect(svg).toMatch(/data-state="TERMINATED" class="seen node/);
  expect(svg).toMatch(/data-move="PENDING RUNNING" class="way edge/);
}, 60_000);

test('run --inspect shows the life on a page while it happens', async () => {
  await serving([], async (address) => {
    expect((await json(['run', '--exec', 'true', '--inspect', address.href])).exitCode).toBe(0);
    await until(async () =>
      (await lives(address)).some(({ state, source }) => state === 'TERMINATED' && source === 'inspect'),
    );
  });
}, 60_000);

test('a port that is taken is told in one sentence', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { exitCode, error } = await json(['ui', '--port', String(port)]);
  server.close();
  expect(exitCode).toBe(12);
  expect(error?.message).toBe(`Port ${port} is in use.`);
});
