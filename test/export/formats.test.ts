import { expect, test } from '@jest/globals';
import { bootstrapMachine } from '../../machines/daemon.ts';
import { sandboxMachine } from '../../machines/index.ts';
import { chartOf, tableOf, toDot, toJson, toMermaid, toScxml, toStately, toTable } from '../../model/export/index.ts';

// A small machine whole, and the lifecycle at a glance: what the texts look like, held still.
test('the small machine in every text format', () => {
  expect(toMermaid(bootstrapMachine)).toMatchSnapshot('mermaid');
  expect(toDot(bootstrapMachine)).toMatchSnapshot('dot');
  expect(toScxml(bootstrapMachine)).toMatchSnapshot('scxml');
  expect(toStately(bootstrapMachine)).toMatchSnapshot('stately');
  expect(toJson(bootstrapMachine)).toMatchSnapshot('json');
  expect(toTable(bootstrapMachine)).toMatchSnapshot('table');
});

test('the lifecycle at a glance', () => {
  expect(toMermaid(sandboxMachine, { flat: true })).toMatchSnapshot('mermaid');
  expect(toDot(sandboxMachine, { flat: true })).toMatchSnapshot('dot');
  expect(toTable(sandboxMachine)).toMatchSnapshot('table');
});

test('the table of the lifecycle has no empty cell, and says what the laws say', () => {
  const { commands, rows } = tableOf(sandboxMachine);
  expect(commands).toEqual(['RUN', 'SUSPEND', 'RESUME', 'TERMINATE']);
  expect(rows.flatMap(({ cells }) => cells).filter((cell) => cell.length === 0)).toEqual([]);
  const answers = Object.fromEntries(rows.map(({ state, cells }) => [state, cells]));
  expect(answers['RUNNING.idle']).toEqual([['refused STATE-3'], ['accepted'], ['refused STATE-7'], ['accepted']]);
  expect(answers['SUSPENDED.idle']?.[2]).toEqual(['accepted', 'refused STATE-12']);
  expect(answers['TERMINATED']).toEqual([['refused STATE-3'], ['refused STATE-5'], ['refused STATE-11'], ['no-op']]);
});

test('the JSON is the whole chart and nothing else', () => {
  const { version, ...chart } = JSON.parse(toJson(sandboxMachine)) as { version: number };
  expect(version).toBe(1);
  expect(chart).toEqual(JSON.parse(JSON.stringify(chartOf(sandboxMachine))));
});
