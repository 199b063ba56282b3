import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page as Tab } from 'playwright-core';
import { readReplay } from '../../adapters/trace/file.ts';
import { sandboxMachine } from '../../machines/index.ts';
import { explore } from '../../model/explorer.ts';
import { clientProperties } from '../../model/sandbox/client-properties.ts';
import { sandboxSystem } from '../../model/sandbox/system.ts';
import { chromiumPath, complaintsOf, keepPicture, launchBrowser } from './browser.ts';
import { openEmulatorPage, openPage, ToldSource, type EmulatorPage } from './page-fixture.ts';

const inBrowser = chromiumPath === null ? describe.skip : describe;
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** What axe finds wrong, by all of its rules. */
async function axe(tab: Tab): Promise<string[]> {
  await tab.evaluate(axeSource);
  const violations = (await tab.evaluate('axe.run().then(({ violations }) => violations)')) as Violation[];
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
  );
}

const row = (life: string) => `tr[data-life="${life}"]`;
const stateOf = (life: string) => `${row(life)} .pill`;

inBrowser('the page in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  /** A window of its own, with or without a preference for dark. */
  async function openTab(
    colorScheme: 'light' | 'dark' = 'light',
  ): Promise<{ context: BrowserContext; tab: Tab; complaints: string[] }> {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      colorScheme,
      reducedMotion: 'reduce',
    });
    const tab = await context.newPage();
    return { context, tab, complaints: complaintsOf(tab) };
  }

  describe('over the emulator', () => {
    let opened: EmulatorPage;
    let tab: Tab;
    let context: BrowserContext;
    let complaints: string[];
    beforeAll(async () => {
      opened = await openEmulatorPage();
      ({ context, tab, complaints } = await openTab());
      await tab.goto(opened.page.address);
    });
    afterAll(async () => {
      await context.close();
      await opened[Symbol.asyncDispose]();
    });

    test('the token leaves the address bar at once', async () => {
      await tab.waitForSelector('#link[data-up="true"]');
      expect(tab.url()).toBe(`${opened.page.origin}/`);
    });

    test('three VMs are launched from the page and their states are watched to RUNNING', async () => {
      for (let count = 1; count <= 3; count += 1) {
        await tab.getByRole('button', { name: 'Launch a VM' }).click();
        await tab.waitForSelector(row(`vm-${count}`));
      }
      for (const life of ['vm-1', 'vm-2', 'vm-3']) await tab.waitForSelector(`${stateOf(life)}[data-state="RUNNING"]`);
      await tab.getByRole('button', { name: 'RUNNING 3' }).waitFor();
      expect(await tab.locator('#tally').innerText()).toMatch(/RUNNING\s*3/);
      expect(
        await tab
          .locator(`${row('vm-3')} td`)
          .nth(4)
          .innerText(),
      ).toMatch(/^\d+ m \d\d s$/);
      await keepPicture(tab, 'fleet');
    }, 40_000);

    test('one is suspended from the page: its chart lights the state and traces the transition', async () => {
      await tab.click(row('vm-2'));
      await tab.getByRole('button', { name: 'Suspend', exact: true }).click();
      await tab.waitForSelector(`${stateOf('vm-2')}[data-state="SUSPENDED"]`);
      await tab.waitForSelector('#chart [data-state="SUSPENDED"].lit');
      await tab.waitForSelector('#chart [data-move="SUSPENDING SUSPENDED"].traced');
      expect(await tab.locator('#chart .lit').count()).toBe(1);
      expect(await tab.locator('#detail-state').innerText()).toMatch(/SUSPENDED\s+idle/);
      expect(
        await tab
          .locator('#timeline .stretch')
          .evaluateAll((all) => all.map((each) => each.getAttribute('data-state'))),
      ).toEqual(['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED']);
      expect(
        await tab
          .locator(`${row('vm-2')} td`)
          .nth(3)
          .innerText(),
      ).toMatch(/^\d+ m \d\d s$/);
      // The other two have not moved.
      expect(
        opened.emulator
          .vms()
          .map(({ state }) => state)
          .sort(),
      ).toEqual(['RUNNING', 'RUNNING', 'SUSPENDED']);
    }, 40_000);

    test('STATE-5 a second suspend is refused, explained, and sends nothing', async () => {
      const before = opened.emulator.recorder.count('SuspendMicrovm');
      await tab.getByRole('button', { name: 'Suspend', exact: true }).click();
      const refusal = tab.getByRole('alert').filter({ hasText: 'Suspend was refused' });
      await refusal.waitFor();
      const words = await refusal.innerText();
      expect(words).toContain('STATE-5');
      expect(words).toContain('No suspend call goes out unless the VM is running');
      expect(words).toContain('Nothing was sent');
      expect(await tab.locator('.log .row.refused').first().innerText()).toContain('refused STATE-5');
      expect(opened.emulator.recorder.count('SuspendMicrovm')).toBe(before);
      await keepPicture(tab, 'refused');
    }, 40_000);

    test('the calls are a sequence diagram: who asked whom, and how it ended', async () => {
      await tab.getByRole('tab', { name: 'Calls' }).click();
      const diagram = tab.getByRole('img', { name: /^Sequence of calls/ });
      await diagram.waitFor();
      const told = (await diagram.getAttribute('aria-label')) ?? '';
      expect(told).toMatch(
        /caller to lifecycle: SUSPEND;.*lifecycle to service: SuspendMicrovm;.*lifecycle to caller: SUSPEND done;.*lifecycle to caller: refused STATE-5/,
      );
      await keepPicture(tab, 'calls');
    }, 40_000);

    test('a resumed VM runs a line, and its output is shown as text whatever it is', async () => {
      await tab.getByRole('button', { name: 'Resume' }).click();
      await tab.waitForSelector(`${stateOf('vm-2')}[data-state="RUNNING"]`);
      await tab.getByRole('tab', { name: 'Output' }).click();
      await tab.getByLabel('Run a line').fill(`printf '<img src=x onerror=alert(1)>\\n'; echo fault >&2; exit 3`);
      await tab.keyboard.press('Enter');
      await tab.getByText('[exit 3]').waitFor({ timeout: 15_000 });
      expect(await tab.locator('.screen').innerText()).toContain('<img src=x onerror=alert(1)>');
      expect(await tab.locator('.screen .stderr').innerText()).toContain('fault');
      expect(await tab.locator('.screen img').count()).toBe(0);
      await keepPicture(tab, 'output');
    }, 40_000);

    test('all of it can be done from the keyboard', async () => {
      await tab.evaluate('document.activeElement.blur()');
      await tab.keyboard.press('/');
      expect(await tab.evaluate('document.activeElement.id')).toBe('filter');
      await tab.keyboard.press('ArrowDown');
      await tab.keyboard.press('End');
      const last = (await tab.evaluate('document.activeElement.dataset.life')) as string;
      // Not by `waitForFunction`, which evaluates text in the page, and the page's own policy forbids that.
      const title = tab.locator('#detail-title');
      await title.filter({ hasText: last }).waitFor();
      await tab.keyboard.press('ArrowUp');
      await title.filter({ hasNotText: last }).waitFor();
      await tab.getByRole('tab', { name: 'Output' }).focus();
      await tab.keyboard.press('ArrowLeft');
      await tab.keyboard.press('ArrowLeft');
      expect(await tab.getByRole('tab', { name: 'Events' }).getAttribute('aria-selected')).toBe('true');
      // A button is reached with Tab and pressed with Enter.
      await tab.getByRole('button', { name: 'Resume' }).focus();
      await tab.keyboard.press('Tab');
      expect(await tab.evaluate('document.activeElement.textContent')).toBe('Terminate');
      const life = await tab.locator('#detail-title').innerText();
      await tab.keyboard.press('Enter');
      await tab.waitForSelector(`${stateOf(life)}[data-state="TERMINATED"]`);
    }, 40_000);

    test('the inside of a state is drawn with the substate lit', async () => {
      await tab.click(row('vm-3'));
      await tab.getByRole('button', { name: 'Inside RUNNING' }).click();
      await tab.waitForSelector('#chart [data-state="RUNNING.idle"].lit');
      await tab.getByRole('button', { name: 'Wide' }).click();
      await keepPicture(tab, 'inside');
      await tab.getByRole('button', { name: 'Wide' }).click();
      await tab.getByRole('button', { name: 'Overview' }).click();
    }, 40_000);

    test('axe finds nothing, in light and in dark', async () => {
      expect(await axe(tab)).toEqual([]);
      const dark = await openTab('dark');
      await dark.tab.goto(opened.page.address);
      await dark.tab.waitForSelector('#chart svg');
      expect(await axe(dark.tab)).toEqual([]);
      await keepPicture(dark.tab, 'dark');
      await dark.context.close();
    }, 60_000);

    test('without the token the page can only be looked at, and says how to get it', async () => {
      const stranger = await openTab();
      await stranger.tab.goto(opened.page.origin);
      await stranger.tab.waitForSelector(row('vm-1'));
      expect(await stranger.tab.locator('#notice').innerText()).toContain('Open the address that vmchart printed');
      expect(await stranger.tab.getByRole('button', { name: 'Launch a VM' }).isVisible()).toBe(false);
      expect(await stranger.tab.locator('#commands').isVisible()).toBe(false);
      await stranger.context.close();
    }, 40_000);

    test('the page asks nobody but its own server, and complains about nothing', async () => {
      const asked: string[] = [];
      const other = await openTab();
      other.tab.on('request', (request) => asked.push(new URL(request.url()).origin));
      await other.tab.goto(opened.page.address);
      await other.tab.waitForSelector('#chart svg');
      expect([...new Set(asked)]).toEqual([opened.page.origin]);
      expect(other.complaints).toEqual([]);
      await other.context.close();
      expect(complaints).toEqual([]);
    }, 40_000);

    test('on a narrow screen everything is there, one below the other', async () => {
      const { context, tab } = await openTab();
      await tab.setViewportSize({ width: 480, height: 900 });
      await tab.goto(opened.page.address);
      await tab.waitForSelector('#chart svg');
      expect(await tab.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(480);
      expect(await axe(tab)).toEqual([]);
      await keepPicture(tab, 'narrow');
      await context.close();
    }, 40_000);
  });

  test('a counterexample of the checker is replayed step by step', async () => {
    const unguarded = sandboxMachine.provide({ guards: { 'STATE-12': () => true } });
    const { violation } = explore(sandboxSystem({ newLifeOnly: true }, unguarded), { properties: clientProperties });
    expect(violation?.requirement).toBe('STATE-12');
    const report = JSON.stringify({ type: 'check', ok: false, data: { counterexample: violation } });
    await using page = await openPage([], { replay: readReplay(report, 'report.json') });
    const { context, tab, complaints } = await openTab();
    await tab.goto(page.address);
    const says = tab.locator('#replay .says');
    await says.waitFor();
    const steps = violation?.steps ?? [];
    expect(await says.innerText()).toContain(`Step 0 of ${steps.length}`);
    for (const [index, { what, state }] of steps.entries()) {
      await tab.getByRole('button', { name: 'Step on' }).click();
      expect(await says.innerText()).toContain(`Step ${index + 1} of ${steps.length}`);
      expect(await says.innerText()).toContain(what);
      const top = /^[A-Z]+/.exec(state)?.[0] ?? '';
      await tab.waitForSelector(`#chart [data-state="${top}"].lit`);
    }
    expect(await says.innerText()).toContain('is violated');
    expect(await tab.locator('.log .row.refused').first().innerText()).toContain(violation?.says ?? '?');
    await keepPicture(tab, 'counterexample');
    await tab.getByRole('slider', { name: 'Step' }).focus();
    await tab.keyboard.press('Home');
    expect(await says.innerText()).toContain(`Step 0 of ${steps.length}`);
    await tab.getByRole('button', { name: 'Play' }).click();
    await tab.getByText(`Step ${steps.length} of ${steps.length}`).waitFor({ timeout: 30_000 });
    expect(await axe(tab)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  }, 90_000);

  test('a counterexample of the composed system lights the client and the VM, and names who acts', async () => {
    const steps = [
      ['caller 1', 'RUN', 'client = PENDING.launching, wire = a request'],
      ['service', 'makes a VM for the launch', 'vm = PENDING, wire = an answer: says PENDING'],
      ['daemon', 'gets the run hook', 'vm = RUNNING, boot = us'],
      ['host', 'asks where the VM is', 'report = RUNNING'],
      ['host', 'tells the client: RUNNING', 'client = RUNNING.idle'],
    ].map(([by = '', what = '', state = '']) => ({ by, what, state, effects: [], event: null }));
    const counterexample = {
      property: 'p',
      requirement: null,
      says: 'It never runs.',
      start: 'everything at its start',
      system: 'composedSystem({})',
      steps,
    };
    await using page = await openPage([], { replay: readReplay(JSON.stringify({ counterexample }), 'report.json') });
    const { context, tab, complaints } = await openTab();
    await tab.goto(page.address);
    const says = tab.locator('#replay .says');
    const lit = (state: string) => tab.waitForSelector(`#chart [data-state="${state}"].lit`);
    await lit('PENDING');
    for (const { by, what } of steps) {
      await tab.getByRole('button', { name: 'Step on' }).click();
      expect(await says.innerText()).toContain(`${by}: ${what}`);
    }
    await lit('RUNNING');
    expect(await tab.locator('.log').innerText()).toContain('vm = RUNNING, boot = us');
    await tab.locator('tr[data-life="vm"]').click();
    expect(await tab.locator('#detail-title').innerText()).toBe('vm');
    await tab.getByRole('button', { name: 'First step' }).click();
    for (const state of [null, 'PENDING', 'RUNNING']) {
      await tab.getByRole('button', { name: 'Step on' }).click();
      if (state !== null) await lit(state);
    }
    await keepPicture(tab, 'composed');
    expect(await axe(tab)).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  }, 60_000);

  test('500 VMs with 100 events a second take not much more of the page than five do', async () => {
    const few = await busySeconds(5);
    const many = await busySeconds(500);
    expect(many / few).toBeLessThan(5);
  }, 60_000);

  /** The processor time that the page takes while a fleet of this size changes 400 times in about four seconds. */
  async function busySeconds(size: number): Promise<number> {
    const source = new ToldSource();
    await using page = await openPage([source]);
    const life = (index: number) => `vm-${String(index).padStart(3, '0')}`;
    const change = (index: number, from: string | null, state: string) =>
      source.tell({
        kind: 'state',
        at: Date.now(),
        life: life(index),
        from,
        state,
        event: 'test',
        cause: null,
        reason: null,
      });
    for (let index = 0; index < size; index += 1) {
      source.tell({
        kind: 'life',
        at: Date.now(),
        life: life(index),
        machine: 'sandbox',
        title: life(index),
        source: 'test',
        takesCommands: false,
      });
      change(index, null, 'RUNNING.idle');
    }
    const { context, tab, complaints } = await openTab();
    await tab.goto(page.address);
    await tab
      .locator('tr[data-life]')
      .nth(size - 1)
      .waitFor({ state: 'attached' });
    await tab.waitForSelector('#chart svg');
    const session = await context.newCDPSession(tab);
    // Processor time, not wall time: what else this machine is doing makes no difference.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const busy = async () =>
      (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')?.value ??
      Number.NaN;
    const before = await busy();
    for (let told = 0; told < 400; told += 1) {
      const [from, state] = told % 2 === 0 ? ['RUNNING.idle', 'SUSPENDED.idle'] : ['SUSPENDED.idle', 'RUNNING.idle'];
      change((told >> 1) % size, from ?? null, state ?? '');
      // The pace of the events is what is tried.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const share = (await busy()) - before;
    change(size - 1, 'RUNNING.idle', 'TERMINATED');
    await tab.locator(stateOf(life(size - 1)), { hasText: 'TERMINATED' }).waitFor();
    expect(complaints).toEqual([]);
    if (size > 5) await keepPicture(tab, 'five-hundred');
    await context.close();
    return share;
  }

  // How long that takes is measured by `npm run bench -- page`.
  test('it loads little, in few requests', async () => {
    await using page = await openPage([new ToldSource()]);
    const { context, tab } = await openTab();
    let bytes = 0;
    let requests = 0;
    tab.on('response', (response) => {
      requests += 1;
      bytes += Number(response.headers()['content-length'] ?? 0);
    });
    await tab.goto(page.address);
    await tab.waitForSelector('#link[data-up="true"]');
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(150_000);
    expect(requests).toBeLessThan(30);
    await context.close();
  });
});
