import { beforeAll, describe, expect, test } from '@jest/globals';
import { validateXML } from 'xmllint-wasm';
import { createMachine } from 'xstate';
import { viewOf } from '../../adapters/cli/pictures/chart-pictures.ts';
import { drawSvg } from '../../adapters/cli/pictures/draw.ts';
import { regionsOf } from '../../adapters/cli/pictures/regions.ts';
import { leaseMachine } from '../../examples/check-lease.ts';
import { clearest, clutterOf, layOut } from '../../adapters/graph/index.ts';
import { platformMachine, sandboxMachine, vmStates } from '../../machines/index.ts';
import { chartOf, machineCatalog, overviewOf, palette, toDot } from '../../model/export/index.ts';

const drawn = new Map<string, string>();
beforeAll(async () => {
  for (const { name, machine } of machineCatalog) drawn.set(name, await drawSvg(machine));
  drawn.set('flat', await drawSvg(sandboxMachine, { flat: true, highlight: 'RUNNING.suspending' }));
});
const picture = (name: string) => drawn.get(name) as string;

async function wellFormed(text: string): Promise<string> {
  const { rawOutput } = await validateXML({ xml: [{ fileName: 'p.svg', contents: text }], schema: [anything] });
  return rawOutput.replace(/p\.svg validates/, '').trim();
}
const anything = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="http://www.w3.org/2000/svg">
  <xs:element name="svg"><xs:complexType mixed="true"><xs:sequence><xs:any processContents="skip" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
  <xs:anyAttribute processContents="skip"/></xs:complexType></xs:element></xs:schema>`;

describe.each(machineCatalog)('the SVG of $name', ({ name, machine }) => {
  test('is well-formed, has a title, and no trace of its printer', async () => {
    const svg = picture(name);
    expect(await wellFormed(svg)).toBe('');
    expect(svg).toMatch(/^<svg [^>]*role="img" aria-label="[^"]+">\n<title>/);
    expect(svg).not.toMatch(/graphviz|xlink|<!--|pt"/i);
  });

  test('shows every state and every transition that changes one', () => {
    const svg = picture(name);
    const { states, transitions } = chartOf(machine);
    for (const { path } of states.slice(1)) expect(svg).toContain(`data-state="${path}"`);
    for (const { source, to, label } of transitions) {
      if (to === null) continue;
      expect(svg).toContain(`data-move="${source} ${to} `);
      expect(svg).toContain(`>${label}</text>`);
    }
  });

  test('every colour has its counterpart in the dark', () => {
    const svg = picture(name);
    const known = new Set(Object.values(palette).map(({ light }) => light));
    const used = new Set([...svg.matchAll(/ (?:fill|stroke)="(#[0-9a-f]{6})"/g)].map(([, colour]) => colour as string));
    expect([...used].filter((colour) => !known.has(colour))).toEqual([]);
    expect(svg).toContain('@media (prefers-color-scheme:dark)');
  });
});

test('the lifecycle at a glance shows the six states large, marks one, and names requirements', () => {
  const svg = picture('flat');
  for (const state of vmStates) expect(svg).toContain(`>${state}</text>`);
  expect(svg).toMatch(/<g data-state="RUNNING" class="node outer current">/);
  for (const id of ['STATE-3', 'STATE-5', 'STATE-11', 'STATE-12']) expect(svg).toContain(id);
});

test('from afar, what comes with time is drawn as time, and not as a command', async () => {
  const { arrows } = overviewOf(chartOf(platformMachine));
  expect(arrows.filter(({ events }) => events.includes('TICK')).map(({ trigger }) => trigger)).toEqual([
    'time',
    'time',
  ]);
  expect(await drawSvg(platformMachine, { flat: true })).toMatch(
    /data-move="TERMINATING TERMINATED" class="edge move time"/,
  );
});

test('the words of the arrows stand above every line', () => {
  const svg = picture('platform');
  for (const [edge] of svg.matchAll(/<g [^>]*class="edge [\s\S]*?<\/g>/g)) expect(edge).not.toContain('<text');
  expect(svg).toMatch(/<g class="labels" stroke="#f8faff" [^>]*paint-order="stroke">/);
});

test('of two layouts the one is taken in which fewer words lie on something', () => {
  const line = (y: number) => `<g class="edge move"><path fill="none" d="M0,${y}C10,${y} 90,${y} 100,${y}"/></g>`;
  const word = (x: number, y: number, text: string) => `<text x="${x}" y="${y}" font-size="10.00">${text}</text>`;
  const drawing = (content: string) => ({ width: 100, height: 100, content });
  const crossed = drawing(`${line(47)}${word(20, 50, 'RESUME')}`);
  const clear = drawing(`${line(60)}${word(20, 50, 'RESUME')}`);
  const onEachOther = drawing(`${word(20, 50, 'RESUME')}${word(25, 52, 'SUSPEND')}`);
  expect([crossed, clear, onEachOther].map(clutterOf)).toEqual([1, 0, 4]);
  expect(clearest([onEachOther, crossed, clear], 1)).toBe(clear);
  expect(clearest([crossed, { ...clear, width: 400 }], 1)).toBe(crossed);
});

test('calls in flight are drawn quieter than states', () => {
  expect(picture('sandbox')).toMatch(/data-state="RUNNING.suspending" class="node inner inflight"/);
  expect(toDot(sandboxMachine)).toMatch(/"RUNNING.suspending" \[label="suspending".*dashed/);
});

test('texts stand out from what they stand on by at least 4.5 to 1, light and dark', () => {
  const pairs = [
    ['ink', 'state'],
    ['ink', 'paper'],
    ['muted', 'group'],
    ['muted', 'quiet'],
    ['command', 'group'],
    ['report', 'group'],
    ['outcome', 'group'],
    ['time', 'group'],
    ['requirement', 'group'],
    ['stateLine', 'group'],
    ['currentInk', 'current'],
    ['command', 'paper'],
    ['report', 'paper'],
    ['outcome', 'paper'],
    ['time', 'paper'],
    ['requirement', 'paper'],
  ] as const;
  for (const [text, ground] of pairs)
    for (const theme of ['light', 'dark'] as const)
      expect({ text, ground, theme, enough: contrast(palette[text][theme], palette[ground][theme]) >= 4.5 }).toEqual({
        text,
        ground,
        theme,
        enough: true,
      });
});

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

test('a text that is no graph is refused in one sentence', async () => {
  await expect(layOut('digraph { a ->')).rejects.toMatchObject({ kind: 'InvalidArg', reason: 'bad-dot' });
});

describe('a machine that runs several side by side', () => {
  test('each region is drawn as a machine of its own, under the names of the whole', async () => {
    const svg = await drawSvg(leaseMachine, { flat: true, highlight: 'vm.RUNNING.idle' });
    expect(await wellFormed(svg)).toBe('');
    for (const state of vmStates) expect(svg).toContain(`data-state="vm.${state}"`);
    expect(svg).toContain('data-state="vm.RUNNING" class="node outer current"');
    expect(svg).toContain('data-move="holder.nobody holder.waking');
    // A guard says that SUSPEND leads from RUNNING alone, here as in the lifecycle itself.
    expect(svg).toContain('data-move="vm.RUNNING vm.SUSPENDING');
    expect(svg).not.toContain('data-move="vm.TERMINATED vm.RUNNING');
  });

  test('a whole sheet of it is no wider than the lifecycle alone', async () => {
    const widthOf = (svg: string) => Number(/width="(\d+)"/.exec(svg)?.[1]);
    expect(widthOf(await drawSvg(leaseMachine))).toBeLessThanOrEqual(widthOf(picture('sandbox')) + 60);
  });

  test('one whose arrows lead from region to region is drawn in one piece', async () => {
    const linked = createMachine({
      id: 'linked',
      type: 'parallel',
      states: {
        left: { initial: 'a', states: { a: { on: { GO: '#b' } } } },
        right: { initial: 'b', states: { b: { id: 'b' } } },
      },
    });
    expect(regionsOf(linked)).toEqual([{ path: '', machine: linked }]);
    expect(await drawSvg(linked)).toContain('data-move="left.a right.b');
  });

  test('the page gets both regions from afar, and the parts of each', async () => {
    const afar = await viewOf('lease', leaseMachine, null);
    expect(afar?.parts).toEqual(
      ['PENDING', 'RUNNING', 'SUSPENDING', 'SUSPENDED', 'TERMINATING'].map((state) => `vm.${state}`),
    );
    expect(afar?.picture.content).toContain('data-state="vm.TERMINATED"');
    expect(afar?.picture.content).toContain('data-state="holder.waking"');
    const inside = await viewOf('lease', leaseMachine, 'vm.RUNNING');
    expect(inside?.picture.content).toContain('data-move="vm.RUNNING.suspending vm.RUNNING.idle');
    expect(await viewOf('lease', leaseMachine, 'holder')).toBeNull();
  });
});
