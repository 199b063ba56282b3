/** A counterexample of the model checker as a recording: one step a second, so that it can be watched. */
import type { TraceEntry } from './entry.ts';

/** The part of a counterexample that is shown (see `model/property.ts`). */
export interface ShownCounterexample {
  readonly property: string;
  readonly requirement: string | null;
  readonly says: string;
  readonly start: string;
  readonly steps: readonly {
    readonly by: string;
    readonly what: string;
    readonly effects: readonly string[];
    readonly state: string;
    readonly event?: unknown;
  }[];
}

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

/** The path as entries of one life, which is named after the property. The finding comes last. */
export function entriesOfCounterexample(counterexample: ShownCounterexample): TraceEntry[] {
  const { property, requirement, says, start, steps } = counterexample;
  const life = property;
  const common = { cause: null, reason: null } as const;
  const entries: TraceEntry[] = [
    { kind: 'life', at: 0, life, machine: 'sandbox', title: property, source: 'check', takesCommands: false },
    { kind: 'state', at: 0, life, from: null, state: pathIn(start), event: 'start', ...common },
  ];
  let from = pathIn(start);
  for (const [index, { by, what, effects, state }] of steps.entries()) {
    const at = (index + 1) * stepMs;
    const to = pathIn(state);
    entries.push({ kind: 'event', at, life, event: what, state: from, by, says: what });
    for (const effect of effects) entries.push(entryOfEffect(effect, at, life));
    entries.push({ kind: 'state', at, life, from, state: to, event: what, ...common });
    from = to;
  }
  entries.push({ kind: 'finding', at: steps.length * stepMs, life, property, requirement, says });
  return entries;
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
