/** The live page in a browser: how long it takes to be there, and how much of its time a large, busy fleet takes. */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type Page as Tab } from 'playwright-core';
import { chartTheme, chartView } from '../adapters/cli/pictures/chart-pictures.ts';
import { lawsOfTheSpec } from '../adapters/cli/pictures/laws.ts';
import type { Tell } from '../adapters/trace/entry.ts';
import { startPage, type FleetSource } from '../adapters/ui/index.ts';
import { median } from './table.ts';
import type { BenchTable } from './table.ts';

const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const loads = 7;
const busyMs = 5_000;
const eventsPerSecond = 100;

/** A fleet that says what it is told. */
class ToldFleet implements FleetSource {
  tell: Tell = () => undefined;

  async start(tell: Tell): Promise<void> {
    this.tell = tell;
  }

  has(): boolean {
    return false;
  }

  async close(): Promise<void> {}

  state(life: number, from: string | null, state: string): void {
    const about = { at: Date.now(), life: `vm-${life}` };
    if (from === null) {
      const facts = { machine: 'sandbox', title: about.life, source: 'bench', takesCommands: false };
      this.tell({ kind: 'life', ...about, ...facts });
    }
    this.tell({ kind: 'state', ...about, from, state, event: 'bench', cause: null, reason: null });
  }
}

/** Milliseconds from asking for a page until it is as it should be: the middle of several. */
async function loadMs(browser: Browser, address: string, there: string): Promise<number> {
  const times: number[] = [];
  for (let load = 0; load < loads; load += 1) {
    const context = await browser.newContext();
    const tab = await context.newPage();
    await tab.goto(address);
    await tab.waitForSelector(there);
    times.push((await tab.evaluate('performance.now()')) as number);
    await context.close();
  }
  return median(times);
}

/** Shows the time of each frame, in milliseconds. */
async function framesDuring(tab: Tab, work: () => Promise<void>): Promise<number[]> {
  await tab.evaluate(
    `window.frames_ = []; (function next(last) { requestAnimationFrame((now) => { window.frames_.push(now - last); next(now); }); })(performance.now());`,
  );
  await work();
  return (await tab.evaluate('window.frames_')) as number[];
}

/** A fleet of so many VMs, with a hundred changes of state a second. */
async function busyFleet(browser: Browser, address: string, fleet: ToldFleet, vms: number) {
  for (let life = 0; life < vms; life += 1) fleet.state(life, null, 'RUNNING.idle');
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const tab = await context.newPage();
  await tab.goto(address);
  await tab
    .locator('tr[data-life]')
    .nth(vms - 1)
    .waitFor({ state: 'attached' });
  await tab.waitForSelector('#chart svg');
  const session = await context.newCDPSession(tab);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busySec = async () =>
    (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  const before = await busySec();
  const frames = await framesDuring(tab, async () => {
    const startedAt = performance.now();
    for (let told = 0; performance.now() - startedAt < busyMs;) {
      const due = ((performance.now() - startedAt) * eventsPerSecond) / 1_000;
      for (; told < due; told += 1) {
        const [from, state] = told % 2 === 0 ? ['RUNNING.idle', 'SUSPENDED.idle'] : ['SUSPENDED.idle', 'RUNNING.idle'];
        fleet.state((told >> 1) % vms, from ?? null, state ?? '');
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  const share = (await busySec()) - before;
  await context.close();
  const sorted = frames.toSorted((one, other) => one - other);
  const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  return [
    `${vms} VMs, ${eventsPerSecond} events a second`,
    `${Math.round((share * 100_000) / busyMs)} % busy`,
    `frames of ${at(0.5).toFixed(1)} ms, 95 % within ${at(0.95).toFixed(1)} ms`,
  ];
}

/** Loading beside a bare page, and a large fleet beside a small one. */
export async function measure(): Promise<BenchTable> {
  const table = { title: 'The live page', about: 'In headless Chromium.', columns: ['what', 'time', 'frames'] };
  if (chromiumPath === undefined) return { ...table, rows: [['Chromium is not installed', '', '']] };
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
  const bare = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>bare</title><p id="there">A bare page.');
  });
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
  const pageOf = async (fleet: ToldFleet) =>
    startPage({ sources: [fleet], draw: chartView, theme: chartTheme, laws: lawsOfTheSpec(), title: 'bench' });
  try {
    await using page = await pageOf(new ToldFleet());
    const bareAddress = `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`;
    const rows = [
      ['load, until it is live', `${Math.round(await loadMs(browser, page.address, '#link[data-up="true"]'))} ms`, ''],
      ['load of a bare page', `${Math.round(await loadMs(browser, bareAddress, '#there'))} ms`, ''],
    ];
    for (const vms of [5, 500]) {
      const fleet = new ToldFleet();
      await using busy = await pageOf(fleet);
      rows.push(await busyFleet(browser, busy.address, fleet, vms));
    }
    return { ...table, rows };
  } finally {
    await browser.close();
    bare.close();
  }
}
