import { readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { StateMachine } from 'xstate';
import { findMachine, machineCatalog } from '../../model/export/index.ts';

const folder = new URL('../../machines/', import.meta.url);

test('every machine of machines/ can be asked for by name, and says what it is in a sentence', async () => {
  const exported = new Set<unknown>();
  for (const file of readdirSync(folder)) {
    const module = (await import(new URL(file, folder).href)) as Record<string, unknown>;
    for (const value of Object.values(module)) if (value instanceof StateMachine) exported.add(value);
  }
  expect(new Set(machineCatalog.map(({ machine }) => machine))).toEqual(exported);
  for (const { title } of machineCatalog) expect(title).toMatch(/\w+ .*\.$/);
});

test('a machine is found by its name and by its id', () => {
  expect(findMachine('proxy-token')).toBe(findMachine('proxyToken'));
  expect(findMachine('proxy-token')).not.toBeNull();
  expect(findMachine('no-such-machine')).toBeNull();
});
