import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { getShortestPaths } from '@xstate/graph';
import { assign, createMachine, initialTransition, StateMachine, type AnyStateMachine } from 'xstate';
import { bootstrapMachine, execMachine } from '../../machines/daemon.ts';
import { sandboxMachine } from '../../machines/index.ts';
import { readGuard } from '../../model/export/guard.ts';
import { chartOf, guardText, machineCatalog, toStately } from '../../model/export/index.ts';
import { explore, pathTo } from '../../model/explorer.ts';
import { sandboxSystem, type SandboxMachine } from '../../model/sandbox/system.ts';
import { keyOf } from '../../model/transition-system.ts';

// A folder in which nothing but xstate is installed.
const folder = mkdtempSync(join(tmpdir(), 'vmchart-stately-'));
const fileOf = (name: string) => join(folder, `${name}.mjs`);

beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(dirname(require_('xstate/package.json')), join(folder, 'node_modules', 'xstate'));
  for (const { name, machine, scope } of machineCatalog) writeFileSync(fileOf(name), toStately(machine, scope));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function require_(path: string): string {
  return new URL(import.meta.resolve(path)).pathname;
}

/** The machine in the file, with the original's implementations. */
async function imported(name: string, original: AnyStateMachine): Promise<AnyStateMachine> {
  const module = (await import(fileOf(name))) as Record<string, unknown>;
  const machine = Object.values(module).find((value) => value instanceof StateMachine) as AnyStateMachine;
  return machine.provide(original.implementations as never);
}

/** A chart whose guards are written out, so that a named conjunction and one in place read the same. */
function spelledOut(machine: AnyStateMachine) {
  const { states, transitions, ...chart } = chartOf(machine);
  const guards = machine.implementations.guards as Record<string, unknown>;
  return {
    ...chart,
    states,
    transitions: transitions.map(({ guard, ...transition }) => {
      const behind = guard?.kind === 'named' ? readGuard(guards[guard.name]) : null;
      const meant =
        behind !== null && (behind.kind === 'and' || behind.kind === 'or' || behind.kind === 'not') ? behind : guard;
      return { ...transition, guard: meant === null ? null : guardText(meant) };
    }),
  };
}

describe.each(machineCatalog)('the Stately file of $name', ({ name, machine }) => {
  test('stands alone: nothing but xstate is imported, and the config holds no function but context and input', () => {
    const script = `
      const [machine] = Object.values(await import(${JSON.stringify(fileOf(name))}));
      const found = [];
      const walk = (value, path) => {
        if (typeof value === 'function') found.push(path.at(-1));
        else if (typeof value === 'object' && value !== null) for (const key of Object.keys(value)) walk(value[key], [...path, key]);
      };
      walk(machine.config, []);
      console.log(JSON.stringify({ id: machine.id, functions: [...new Set(found)] }));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const { id, functions } = JSON.parse(stdout) as { id: string; functions: string[] };
    expect(id).toBe(machine.id);
    expect(['context', 'input']).toEqual(expect.arrayContaining(functions));
  });

  test('has the states, transitions, guards, actions and requirements of the machine that runs', async () => {
    expect(spelledOut(await imported(name, machine))).toEqual(spelledOut(machine));
  });
});

test('the lifecycle from the file, with the original implementations, reaches the same states by the same shortest paths', async () => {
  const walk = (machine: SandboxMachine) => {
    const { visits } = explore(sandboxSystem({}, machine));
    return visits.map(({ projection }, index) => ({
      key: keyOf(projection),
      path: pathTo(visits, index).map((at) => visits[at]?.action?.label ?? 'start'),
    }));
  };
  const original = walk(sandboxMachine);
  expect(original.length).toBeGreaterThan(100);
  expect(walk((await imported('sandbox', sandboxMachine)) as unknown as SandboxMachine)).toEqual(original);
});

test('the context comes from the input as in the original', async () => {
  const input = { sandboxId: 's', region: 'eu-west-1', policy: { pastWindow: 'ask' } };
  const copy = await imported('sandbox', sandboxMachine);
  expect(initialTransition(copy, input as never)[0].context).toEqual(
    initialTransition(sandboxMachine, input as never)[0].context,
  );
});

test.each([
  [
    'bootstrap',
    bootstrapMachine,
    [
      { type: 'INSTALL', tokenRef: 'a', at: 0 },
      { type: 'INSTALL', tokenRef: 'b', at: 0 },
    ],
    undefined,
  ],
  [
    'exec',
    execMachine,
    ['START', 'POLL', 'ACK', 'KILL', 'SPAWN.FAILED', 'PIPES.CLOSED', 'ESCALATION.ENDED'].map((type) => ({
      type,
      at: 0,
    })),
    { timeoutMs: 10, reapGroupOnExit: false, lingerMs: 5, retentionMs: 5 },
  ],
] as const)('@xstate/graph finds the same shortest paths in the file of %s', async (name, machine, events, input) => {
  const paths = (from: AnyStateMachine) =>
    getShortestPaths(from, { events: events as never, input: input as never, limit: 1_000 }).map(
      ({ state, steps }) => ({
        value: (state as { value: unknown }).value,
        steps: steps.map(({ event }) => event),
      }),
    );
  const original = paths(machine);
  expect(original.length).toBeGreaterThan(1);
  expect(paths(await imported(name, machine))).toEqual(original);
});

test('a change of context that is written in place is not carried over, and the file says so', () => {
  const on = { ADD: { actions: assign({ count: 1 }) }, LOOK: { actions: 'look' } };
  const file = toStately(createMachine({ id: 'counter', context: { count: 0 }, on }));
  expect(file).toMatch(/^\/\/ Actions that the machine has written in place are not carried over/m);
  expect(file).toContain('(xstate.assign). That means every change of context too');
  const named = toStately(createMachine({ id: 'counter', on: { LOOK: { actions: 'look' } } }));
  expect(named).not.toContain('//');
});

test('what a user wrote in place is named and stubbed, and a function that cannot stand alone says what it misses', async () => {
  const outside = 5;
  const machine = createMachine({
    id: 'user-made',
    context: { count: 0 },
    initial: 'a',
    states: {
      a: {
        entry: function greet() {},
        invoke: { id: 'job', src: 'work', input: ({ context }: { context: unknown }) => ({ context, outside }) },
        after: { 50: 'b', patience: 'b' },
        always: {
          target: 'b',
          guard: function isReady() {
            return true;
          },
        },
      },
      b: {},
    },
  } as never);
  const text = toStately(machine);
  writeFileSync(fileOf('user'), text);
  const module = (await import(fileOf('user'))) as { userMadeMachine: AnyStateMachine };
  expect(chartOf(module.userMadeMachine).states.map(({ path }) => path)).toEqual(['', 'a', 'b']);
  expect(text).toContain('greet: () => {}');
  expect(text).toContain('isReady: () => true');
  expect(text).toContain('patience: 1000');
  expect(text).toContain('the original needs outside');
});
