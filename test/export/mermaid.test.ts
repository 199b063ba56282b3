import { beforeAll, describe, expect, test } from '@jest/globals';
import { createMachine } from 'xstate';
import { sandboxMachine, vmStates } from '../../machines/index.ts';
import { chartOf, machineCatalog, toMermaid } from '../../model/export/index.ts';
import { parseMermaid, type ParsedDiagram } from './mermaid-parser.ts';

const stateId = (path: string) => path.replaceAll('.', '__');

const oddMachine = createMachine({
  id: 'odd',
  initial: 'a "quoted"; state: #1',
  states: {
    'a "quoted"; state: #1': { on: { 'x:y;z': { target: 'end {}', guard: { type: 'p', params: { of: '<b>' } } } } },
    'end {}': { type: 'parallel', states: { one: {}, 'two-2': {} } },
  },
});

// One process reads all pictures.
const parsed = new Map<string, ParsedDiagram>();
beforeAll(() => {
  const pictures = machineCatalog.flatMap(({ name, machine }) => [
    [name, toMermaid(machine)],
    [`${name}, loops`, toMermaid(machine, { loops: true })],
    [`${name}, flat`, toMermaid(machine, { flat: true })],
  ]);
  pictures.push(['odd', toMermaid(oddMachine)]);
  const results = parseMermaid(pictures.map(([, text]) => text as string));
  for (const [index, [title]] of pictures.entries()) parsed.set(title as string, results[index] as ParsedDiagram);
});

const picture = (title: string) => parsed.get(title) as ParsedDiagram;

describe.each(machineCatalog)('the Mermaid picture of $name', ({ name, machine }) => {
  test('is a state diagram to Mermaid, with every state and every change of state', () => {
    const chart = chartOf(machine);
    const { type, states, relations } = picture(name);
    expect(type).toBe('stateDiagram');
    expect(states).toEqual(expect.arrayContaining(chart.states.slice(1).map(({ path }) => stateId(path))));
    for (const { source, to, label } of chart.transitions) {
      if (to === null) continue;
      const from = source === '' ? 'anyState__' : stateId(source);
      const arrow = relations.find((relation) => relation.from === from && relation.to === stateId(to));
      expect(arrow?.label ?? `no arrow from ${from} to ${to}`).toContain(label);
    }
  });

  test('draws loops too when asked, and then no transition is missing', () => {
    const drawn = picture(`${name}, loops`).relations.flatMap(({ from, label }) =>
      from.endsWith('_start') ? [] : label.split('<br/>'),
    );
    expect(drawn).toHaveLength(chartOf(machine).transitions.length);
  });

  test('is a state diagram to Mermaid when flat', () => {
    const { type, relations } = picture(`${name}, flat`);
    expect(type).toBe('stateDiagram');
    expect(relations.length).toBeGreaterThan(1);
  });
});

test('the flat lifecycle shows the six states, the commands and the requirements, and nothing else', () => {
  const { states, relations } = picture('sandbox, flat');
  expect(states.filter((state) => !state.startsWith('root_')).sort()).toEqual([...vmStates].sort());
  expect(relations.map(({ from, to, label }) => `${from} ${to}: ${label.replaceAll('<br/>', ' · ')}`)).toEqual([
    'root_start PENDING: ',
    'PENDING TERMINATING: TERMINATE · STATE-9',
    'PENDING RUNNING: RUN · STATE-1 · STATE-2 · STATE-3 · STATE-11',
    'RUNNING TERMINATING: TERMINATE · STATE-9',
    'RUNNING SUSPENDING: SUSPEND · STATE-4 · STATE-5',
    'SUSPENDING TERMINATING: TERMINATE · STATE-9',
    'SUSPENDING SUSPENDED: OBSERVED.SUSPENDED · STATE-6 · STATE-11 · STATE-12',
    'SUSPENDED TERMINATING: TERMINATE · STATE-9',
    'SUSPENDED RUNNING: RESUME · STATE-7 · STATE-8 · STATE-11 · STATE-12',
    'TERMINATING TERMINATED: OBSERVED.TERMINATED · STATE-10',
    'TERMINATED root_end: ',
  ]);
});

test('the full lifecycle carries the guards and every requirement of its arrows', () => {
  const text = toMermaid(sandboxMachine);
  expect(text).toContain('RUN [STATE-3] · STATE-1');
  expect(text).toContain('OBSERVED.RUNNING [fresh ∧ STATE-11] · STATE-2 · ENV-1');
  const moves = chartOf(sandboxMachine).transitions.filter(({ to }) => to !== null);
  for (const id of new Set(moves.flatMap(({ requirements }) => requirements))) expect(text).toContain(id);
});

test('a highlighted state is marked, in the flat picture by the state around it', () => {
  expect(toMermaid(sandboxMachine, { highlight: 'SUSPENDED.idle' })).toContain('class SUSPENDED__idle current');
  expect(toMermaid(sandboxMachine, { highlight: 'SUSPENDED.idle', flat: true })).toContain('class SUSPENDED current');
});

test('names and texts that mean something to Mermaid are taken as text', () => {
  const { type, states, relations } = picture('odd');
  expect(type).toBe('stateDiagram');
  expect(states.filter((state) => /one$|two/.test(state))).toHaveLength(2);
  expect(relations.map(({ label }) => label).filter(Boolean)).toHaveLength(1);
});
