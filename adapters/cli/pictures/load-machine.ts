/** The machine that somebody asked for: one of ours by name, or one of a module of theirs. */
import { existsSync } from 'node:fs';
import { StateMachine, type AnyStateMachine } from 'xstate';
import { findMachine, machineCatalog, type Scope } from '../../../model/export/index.ts';
import { usageError } from '../cli-error.ts';
import { didYouMean } from '../did-you-mean.ts';
import { importOwn } from '../own-module.ts';

/** A machine, and what the functions of its config refer to. */
export interface LoadedMachine {
  readonly name: string;
  readonly machine: AnyStateMachine;
  readonly scope: Scope;
}

/**
 * Finds a machine by name, or loads it: `./orders.js`, or `./orders.js#orderMachine` where a module exports several.
 *
 * @throws CliError in one sentence for a name that is none, and for a module that cannot be loaded or has no machine
 */
export async function loadMachine(asked: string): Promise<LoadedMachine> {
  const own = findMachine(asked);
  if (own !== null) return own;
  const names = machineCatalog.map(({ name }) => name);
  if (!/[/\\]|\.[cm]?[jt]s(#|$)/.test(asked)) {
    throw usageError(`There is no machine ${JSON.stringify(asked)}.`, [
      ...didYouMean(asked, names),
      'See vmchart graph --list; a module of your own is named by its path, such as ./orders.js.',
    ]);
  }
  const [path = '', wanted] = asked.split('#', 2) as [string, string?];
  const machines = await machinesIn(path);
  if (wanted !== undefined) {
    const machine = machines.get(wanted);
    if (machine !== undefined) return { name: wanted, machine, scope: {} };
    throw usageError(`${path} exports no machine ${JSON.stringify(wanted)}.`, didYouMean(wanted, [...machines.keys()]));
  }
  const [first, second] = machines;
  if (first === undefined)
    throw usageError(`${path} exports no XState machine.`, [
      'Export the result of createMachine or setup(…).createMachine.',
    ]);
  if (second !== undefined) {
    throw usageError(`${path} exports several machines: ${[...machines.keys()].join(', ')}.`, [
      `Name one, such as ${path}#${first[0]}.`,
    ]);
  }
  return { name: first[0] === 'default' ? first[1].id : first[0], machine: first[1], scope: {} };
}

async function machinesIn(path: string): Promise<Map<string, AnyStateMachine>> {
  if (!existsSync(path)) throw usageError(`There is no module ${path}.`, ['Check the path.']);
  const module = await importOwn(path);
  const machines = new Map(
    Object.entries(module).filter((entry): entry is [string, AnyStateMachine] => isMachine(entry[1])),
  );
  for (const [name, exported] of Object.entries(module)) {
    const machine = machineOfCheck(exported);
    // A check may be of a machine that the module exports as well.
    if (machine !== null && ![...machines.values()].includes(machine)) machines.set(name, machine);
  }
  return machines;
}

/** The machine in what `defineCheck` returned. */
function machineOfCheck(value: unknown): AnyStateMachine | null {
  if (typeof value !== 'object' || value === null || !('machine' in value)) return null;
  return isMachine(value.machine) ? value.machine : null;
}

/** A module may bring its own copy of xstate, so the class alone does not tell. */
function isMachine(value: unknown): value is AnyStateMachine {
  if (value instanceof StateMachine) return true;
  return typeof value === 'object' && value !== null && '__xstatenode' in value && 'implementations' in value;
}
