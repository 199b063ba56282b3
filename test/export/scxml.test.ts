import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { createMachine } from 'xstate';
import { validateXML } from 'xmllint-wasm';
import { chartOf, machineCatalog, toScxml } from '../../model/export/index.ts';

const schema = readFileSync(new URL('scxml.xsd', import.meta.url), 'utf8');

/** What is wrong with a document: by the schema, and references to nothing, which the validator does not follow. */
async function faults(text: string): Promise<string[]> {
  const { errors } = await validateXML({ xml: [{ fileName: 'chart.scxml', contents: text }], schema: [schema] });
  const ids = new Set([...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
  const dangling = [...text.matchAll(/ (?:target|initial|sendid)="([^"]*)"/g)]
    .flatMap(([, refs = '']) => refs.split(' '))
    .filter((ref) => !ids.has(ref));
  return [...errors.map(({ message }) => message), ...dangling.map((ref) => `nothing has the id ${ref}`)];
}

describe.each(machineCatalog)('the SCXML of $name', ({ machine }) => {
  const text = toScxml(machine);

  test('is valid SCXML 1.0', async () => {
    expect(await faults(text)).toEqual([]);
  });

  test('holds every state, transition, guard and requirement', () => {
    const { states, transitions } = chartOf(machine);
    expect(text.match(/<(state|parallel|final|history)[ >/]/g)).toHaveLength(states.length);
    expect(text.match(/<transition[ >/]/g)).toHaveLength(transitions.length);
    expect(text.match(/ cond="/g) ?? []).toHaveLength(transitions.filter(({ guard }) => guard !== null).length);
    for (const id of new Set(transitions.flatMap(({ requirements }) => requirements))) expect(text).toContain(id);
  });
});

test('the schema refuses what is not SCXML, so that a pass means something', async () => {
  const document = (inner: string) => `<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0">${inner}</scxml>`;
  expect(await faults(document('<state id="a"/>'))).toEqual([]);
  expect(await faults(document('<state id="a"><transition target="nowhere"/></state>'))).not.toEqual([]);
  expect(await faults(document('<state id="a"/><state id="a"/>'))).not.toEqual([]);
  expect(await faults(document('<transition event="x"/>'))).not.toEqual([]);
  expect(await faults(document('<state id="a"><transition type="sideways"/></state>'))).not.toEqual([]);
});

test('delays, eventless transitions, history, regions and ends are written as SCXML has them', async () => {
  const text = toScxml(
    createMachine({
      id: 'all kinds',
      initial: 'one & only',
      states: {
        'one & only': { after: { 50: 'both', patience: 'both' }, always: { target: 'end', guard: 'isOver' } },
        both: {
          type: 'parallel',
          states: { left: { initial: 'x', states: { x: {}, back: { type: 'history' } } }, right: {} },
          onDone: 'end',
        },
        end: { type: 'final' },
      },
    }),
  );
  expect(await faults(text)).toEqual([]);
  expect(text).toContain('delay="50ms"');
  expect(text).toContain(`delayexpr="'patience'"`);
  expect(text).toMatch(/<transition cond="guards\['isOver'\]" target="end"/);
  expect(text).toContain('<parallel id="both"');
  expect(text).toContain('<history id=');
  expect(text).toContain('event="done.state.both"');
  expect(text).toContain('<final id="end"');
});
