/**
 * A counterexample of the model checker as a recording: one step a second, so that it can be watched.
 *
 * One of a single machine is one life. One of the composed system is two: the client's lifecycle, whose log names the
 * step of every actor and what else it changed, and the VM as the platform has it.
 */
import type { AnyStateMachine } from 'xstate';
import { platformMachine, sandboxMachine } from '../../machines/index.ts';
import type { EventEntry, TraceEntry } from './entry.ts';

/** The part of a counterexample that is shown (see `model/property.ts`). */
export interface ShownCounterexample {
  readonly property: string;
  readonly requirement: string | null;
  readonly says: string;
  readonly start: string;
  /** The expression that makes the system again; it tells which machine was checked. */
  readonly system?: string | null;
  readonly steps: readonly ShownStep[];
}

interface ShownStep {
  readonly by: string;
  readonly what: string;
  readonly effects: readonly string[];
  readonly state: string;
  readonly event?: unknown;
}

/** What stands for the machine of a module that only its owner has. */
export const foreignMachine = 'the checked module';

/** Looks for a counterexample anywhere in a report; `null` when there is none. */
export function findCounterexample(value: unknown): ShownCounterexample | null {
  if (typeof value !== 'object' || value === null) return null;
  const { property, says, start, steps } = value as Partial<ShownCounterexample>;
  if (typeof property === 'string' && typeof says === 'string' && typeof start === 'string' && Array.isArray(steps)) {
    return value as ShownCounterexample;
  }
  for (const inner of Object.values(value)) {
    const found = findCounterexample(inner);
    if (found !== null) return found;
  }
  return null;
}

const stepMs = 1_000;
const unexplained = { cause: null, reason: null } as const;

/** The path as entries. The finding comes last. */
export function entriesOfCounterexample(counterexample: ShownCounterexample): TraceEntry[] {
  const { property, requirement, says, steps, system } = counterexample;
  const composed = system?.startsWith('composedSystem(') === true;
  const [life, entries] = composed ? entriesOfParts(counterexample) : entriesOfMachine(counterexample);
  return [...entries, { kind: 'finding', at: steps.length * stepMs, life, property, requirement, says }];
}

type Told = readonly [life: string, entries: TraceEntry[]];

/** One machine: a life that is named after the property. */
function entriesOfMachine({ property: life, start, steps, system }: ShownCounterexample): Told {
  const machine = system?.startsWith('moduleSystem(') === true ? foreignMachine : 'sandbox';
  const entries = beginning(life, machine, pathIn(start), 0, 'start');
  let from = pathIn(start);
  for (const [index, { by, what, effects, state }] of steps.entries()) {
    const at = (index + 1) * stepMs;
    const to = pathIn(state);
    entries.push({ kind: 'event', at, life, event: what, state: from, by, says: what });
    for (const effect of effects) entries.push(entryOfEffect(effect, at, life));
    entries.push({ kind: 'state', at, life, from, state: to, event: what, ...unexplained });
    from = to;
  }
  return [life, entries];
}

/** The composed system, whose steps say which of its parts changed, such as `client = RUNNING.idle, wire = quiet`. */
function entriesOfParts({ start, steps }: ShownCounterexample): Told {
  const client = 'client';
  const vm = 'vm';
  let clientState = partsIn(start).get(client) ?? initialPath(sandboxMachine);
  let vmState: string | null = null;
  const entries = beginning(client, 'sandbox', clientState, 0, 'start');
  for (const [index, { by, what, state }] of steps.entries()) {
    const at = (index + 1) * stepMs;
    const parts = partsIn(state);
    const changes = [...parts].filter(([part]) => part !== client).map(([part, value]) => `${part} = ${value}`);
    const step: EventEntry = { kind: 'event', at, life: client, event: what, state: clientState, by, says: what };
    entries.push(changes.length === 0 ? step : { ...step, changes: changes.join(', ') });
    const seen = parts.get(vm);
    if (seen !== undefined && seen !== vmState) {
      if (vmState === null) entries.push(...beginning(vm, platformMachine.id, seen, at, what));
      else entries.push({ kind: 'state', at, life: vm, from: vmState, state: seen, event: what, ...unexplained });
      vmState = seen;
    }
    const told = parts.get(client);
    if (told === undefined) continue;
    entries.push({ kind: 'state', at, life: client, from: clientState, state: told, event: what, ...unexplained });
    clientState = told;
  }
  return [client, entries];
}

function beginning(life: string, machine: string, state: string, at: number, event: string): TraceEntry[] {
  return [
    { kind: 'life', at, life, machine, title: life, source: 'check', takesCommands: false },
    { kind: 'state', at, life, from: null, state, event, ...unexplained },
  ];
}

/** The values in a description such as `vm = PENDING, wire = an answer: says PENDING`. */
function partsIn(description: string): Map<string, string> {
  return new Map(
    description.split(/, (?=\w+ = )/).flatMap((assignment): [string, string][] => {
      const [, part, value] = /^(\w+) = (.*)$/.exec(assignment) ?? [];
      return part === undefined || value === undefined ? [] : [[part, value]];
    }),
  );
}

/** Where a machine begins. */
function initialPath(machine: AnyStateMachine): string {
  let node = machine.root;
  for (let inner = node.initial?.target[0]; inner !== undefined; inner = node.initial?.target[0]) node = inner;
  return node.path.join('.');
}

/** The state in a description such as `RUNNING.idle (token installed)`. */
function pathIn(description: string): string {
  return /^[^\s(]*/.exec(description)?.[0] ?? description;
}

/** What a step made happen, from the words of the report. */
function entryOfEffect(effect: string, at: number, life: string): TraceEntry {
  const answered =
    /^answers (RUN|SUSPEND|RESUME|TERMINATE): (accepted|joined|deferred|no-op|refused)(?: \((.*)\))?$/.exec(effect);
  if (answered) {
    const [, command, verdict, why] = answered as unknown as [string, 'RUN', 'accepted', string | undefined];
    const requirement = /^STATE-\d+$/.test(why ?? '') ? (why as 'STATE-1') : null;
    return { kind: 'answer', at, life, command, verdict, requirement, message: why ?? null };
  }
  return { kind: 'event', at, life, event: effect, state: '', by: 'machine', says: effect };
}
