import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createActor, createMachine, fromPromise } from 'xstate';
import { inspectAll, inspectTo, statelyInspector, type Inspector } from '../../adapters/inspect.ts';
import type { Life } from '../../adapters/ui/assets/fold.js';
import type { Page } from '../../adapters/ui/index.ts';
import { adopt, initialSnapshot, sandboxMachine } from '../../machines/index.ts';
import { openPage, until } from './page-fixture.ts';

let page: Page;
const inspectors: Inspector[] = [];
beforeEach(async () => {
  page = await openPage([]);
});
afterEach(async () => {
  for (const inspector of inspectors.splice(0)) await inspector.close();
  await page.close();
});

const kept = (inspector: Inspector) => {
  inspectors.push(inspector);
  return inspector;
};

type Entry = Life['log'][number];

async function logOf(life: string): Promise<Entry[]> {
  const response = await fetch(`${page.origin}/lives/${encodeURIComponent(life)}`);
  return response.ok ? ((await response.json()) as { entries: Entry[] }).entries : [];
}

const statesOf = (entries: readonly Entry[]) =>
  entries.flatMap((entry) => (entry.kind === 'state' ? [entry.state] : []));

const orders = createMachine({
  id: 'orders',
  initial: 'open',
  states: {
    open: { on: { PAY: { target: 'paying' } } },
    paying: { invoke: { id: 'charge', src: fromPromise(() => Promise.resolve('ok')), onDone: 'paid' } },
    paid: {},
  },
});

test('one line shows any actor system: states, calls, and a chart of a machine that nobody knew', async () => {
  const actor = createActor(orders, { id: 'order-17', inspect: kept(inspectTo(page.address)) }).start();
  actor.send({ type: 'PAY' });
  await until(async () => statesOf(await logOf('order-17')).includes('paid'));
  const log = await logOf('order-17');
  expect(statesOf(log)).toEqual(['open', 'paying', 'paid']);
  expect(log.some((entry) => entry.kind === 'call' && entry.operation === 'charge' && entry.ok)).toBe(true);
  const chart = (await (await fetch(`${page.origin}/charts/orders`)).json()) as { picture: { content: string } };
  for (const state of ['open', 'paying', 'paid']) expect(chart.picture.content).toContain(`data-state="${state}"`);
});

test('a page that was started anew has another token: whoever has the old address is not shown', async () => {
  const old = page;
  await old.close();
  page = await openPage([], { port: Number(new URL(old.origin).port) });
  createActor(orders, { id: 'stale', inspect: kept(inspectTo(old.address)) }).start();
  const actor = createActor(orders, { id: 'fresh', inspect: kept(inspectTo(page.address)) }).start();
  actor.send({ type: 'PAY' });
  await until(async () => statesOf(await logOf('fresh')).includes('paid'));
  expect(await logOf('stale')).toEqual([]);
});

test('a command from the page reaches a lifecycle elsewhere, when its program allows it', async () => {
  const input = adopt({
    sandboxId: 'elsewhere',
    region: 'us-east-1',
    microvmId: 'microvm-1',
    endpoint: 'vm.example',
    state: 'SUSPENDED',
    description: null,
  });
  const options = { input, snapshot: initialSnapshot(input) };
  const open = createActor(sandboxMachine, {
    ...options,
    inspect: kept(inspectTo(page.address, { commands: true })),
  }).start();
  await until(async () => (await logOf('elsewhere')).length > 0);
  const reply = await fetch(`${page.origin}/lives/elsewhere/commands`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-vmchart-token': page.token },
    body: '{"command":"SUSPEND"}',
  });
  expect(await reply.json()).toEqual({ verdict: 'sent', requirement: null, message: null });
  await until(async () => (await logOf('elsewhere')).some((entry) => entry.kind === 'answer'));
  expect((await logOf('elsewhere')).find((entry) => entry.kind === 'answer')).toMatchObject({
    command: 'SUSPEND',
    verdict: 'refused',
    requirement: 'STATE-5',
  });
  expect(open.getSnapshot().value).toEqual({ SUSPENDED: 'idle' });
});

test('Stately’s own inspector can be pointed at the page, and the page at the same time at ours', async () => {
  const stately = kept(statelyInspector(`${page.origin.replace('http', 'ws')}/feed?token=${page.token}`));
  const ours = kept(inspectTo(page.address));
  const actor = createActor(orders, { id: 'both', inspect: inspectAll(stately, ours) }).start();
  actor.send({ type: 'PAY' });
  const named = async () => {
    const events = await fetch(`${page.origin}/events`);
    const reader = events.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    await reader?.cancel();
    const hello = JSON.parse(/data: (.*)/.exec(new TextDecoder().decode(value))?.[1] ?? '{}') as { lives: Life[] };
    return hello.lives.map(({ title, state }) => `${title}: ${state}`);
  };
  await until(async () => (await named()).filter((life) => life.endsWith(': paid')).length === 2);
  const lives = await named();
  expect(lives).toContain('both: paid');
  // Stately names an actor by its own id and that of its session.
  expect(lives.find((life) => life !== 'both: paid')).toMatch(/^both x:\d+: paid$/);
});

test.each(['http://127.0.0.1:1', 'ws://127.0.0.1:1/#token=x', 'not an address'])(
  '%s is no address of a page: refused in one sentence',
  (address) => {
    expect(() => inspectTo(address)).toThrow(
      expect.objectContaining({ kind: 'InvalidArg', reason: 'bad-page-address' }),
    );
  },
);

test('a program whose page is not there is not disturbed', async () => {
  const inspect = inspectTo('http://127.0.0.1:9/#token=x');
  const actor = createActor(orders, { inspect }).start();
  actor.send({ type: 'PAY' });
  await until(() => actor.getSnapshot().value === 'paid');
  await inspect.close();
});
