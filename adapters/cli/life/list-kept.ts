/** The kept VMs and their states. */
import { ControlPlane, VmchartError } from '../../../effects/index.ts';
import type { CommandContext, Outcome } from '../command.ts';
import { durationText } from '../output/progress.ts';
import { table } from '../output/table.ts';
import { platformOf, registryOf } from '../registry/kept-vm.ts';
import { notListening } from '../platform/loopback.ts';
import type { NameEntry } from '../registry/name-entry.ts';
import { lifeOf } from '../registry/name-entry.ts';
import type { ListedName, NameRegistry } from '../registry/name-registry.ts';

interface Row {
  readonly name: string;
  readonly microvmId: string | null;
  readonly state: string;
  readonly stateReason: string | null;
  readonly region: string | null;
  readonly endpointUrl: string | null;
  readonly keptAtMs: number | null;
  /** Why the state could not be had. */
  readonly problem: string | null;
}

/** Lists all names; a service that does not answer is a row that says so, and hides no other. */
export async function listKept(context: CommandContext, offline: boolean): Promise<Outcome> {
  const registry = registryOf(context);
  const names = await registry.list();
  const rows: Row[] = [];
  // A few at a time: each asks over connections of its own.
  for (let from = 0; from < names.length; from += atOnce) {
    const some = names.slice(from, from + atOnce);
    rows.push(...(await Promise.all(some.map((listed) => listedRow(registry, listed, context, offline)))));
  }
  return { data: { vms: rows }, text: rows.length === 0 ? 'No VM is kept.' : listing(rows, context) };
}

const atOnce = 8;

async function listedRow(
  registry: NameRegistry,
  { name, entry, problem }: ListedName,
  context: CommandContext,
  offline: boolean,
): Promise<Row> {
  if (entry !== null) return await rowOf(registry, entry, context, offline);
  const unknown = { microvmId: null, stateReason: null, region: null, endpointUrl: null, keptAtMs: null };
  return { name, ...unknown, state: 'unreadable', problem };
}

async function rowOf(
  registry: NameRegistry,
  entry: NameEntry,
  context: CommandContext,
  offline: boolean,
): Promise<Row> {
  const { name, region, endpointUrl, keptAtMs } = entry;
  const record = lifeOf(entry);
  const microvmId = record?.known.microvmId ?? null;
  const row = { name, microvmId, region, endpointUrl, keptAtMs };
  if (record === null) return { ...row, state: 'reserved', stateReason: null, problem: null };
  if (microvmId === null || offline) {
    return { ...row, state: record.known.lifecycle, stateReason: record.known.stateReason, problem: null };
  }
  try {
    await using platform = await platformOf(registry, entry, context);
    const plane = new ControlPlane(platform.ports);
    // A signal of its own: the listeners of many calls on the one of the process would look like a leak.
    const signal = AbortSignal.any([context.interrupts.signal]);
    const { state, stateReason } = await plane.getMicrovm(microvmId, { signal });
    return { ...row, state, stateReason, problem: null };
  } catch (error) {
    context.interrupts.signal.throwIfAborted();
    const gone = VmchartError.is(error) && error.status === 404;
    if (gone) return { ...row, state: 'gone', stateReason: null, problem: null };
    const problem = error instanceof Error ? error.message : String(error);
    return { ...row, state: unreachable(error) ? 'unreachable' : 'unknown', stateReason: null, problem };
  }
}

function unreachable(error: unknown): boolean {
  return VmchartError.is(error) && error.reason === notListening;
}

/** As much of a problem as a cell has room for; `--json` has the whole of it. */
function inShort(problem: string): string {
  return problem.length <= longestNote ? problem : `${problem.slice(0, longestNote - 1).trimEnd()}…`;
}

const longestNote = 40;

function listing(rows: readonly Row[], { terminal }: CommandContext): string {
  const lines = rows.map((row) => [
    row.name,
    row.state,
    row.microvmId ?? '',
    row.region ?? '',
    row.keptAtMs === null ? '' : durationText(Math.max(0, Date.now() - row.keptAtMs)),
    row.state === 'unreachable' ? 'connection refused' : inShort(row.problem ?? row.stateReason ?? ''),
  ]);
  return table([['NAME', 'STATE', 'ID', 'REGION', 'AGE', 'NOTE'], ...lines], { header: terminal.paintOut.quiet });
}
