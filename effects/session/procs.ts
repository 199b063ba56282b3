/** The daemon's account of processes (`agentd-protocol.md` 11). */
import { isArray, isBoolean, isString, objectIn, optional, required } from './decode.ts';
import type { Transport } from './transport.ts';

/** The process group of one command. */
export interface ProcGroup {
  readonly execId: string;
  /** `null` when the child was gone before it could be read. */
  readonly pgid: number | null;
  /** Unix seconds on the daemon's clock. */
  readonly startedAtSec: number;
  /** The command has ended. With `pids` left, it left something running: kill its exec id. */
  readonly childExited: boolean;
  readonly reap: boolean;
  /** Live members of the group. */
  readonly pids: readonly number[];
}

/** Lists every registered command's group, in no particular order. */
export async function listProcs(transport: Transport, signal?: AbortSignal): Promise<readonly ProcGroup[]> {
  return await transport.sendJson({ method: 'GET', path: '/v1/procs', signal }, (body) =>
    required(objectIn(body, 'the body'), 'procs', isArray).map(decodeGroup),
  );
}

function decodeGroup(entry: unknown): ProcGroup {
  const from = objectIn(entry, 'an entry of procs');
  return {
    execId: required(from, 'exec_id', isString),
    pgid: optional(from, 'pgid', isProcessId, null),
    startedAtSec: optional(from, 'started_at', isTime, 0),
    childExited: optional(from, 'child_exited', isBoolean, false),
    reap: optional(from, 'reap', isBoolean, false),
    pids: optional(from, 'pids', isArray, [] as readonly unknown[]).filter(isProcessId),
  };
}

/** A `uint32`. */
function isProcessId(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 0xffff_ffff;
}

/** Whole seconds that a date can hold (ECMA-262 21.4.1.1). */
function isTime(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 8_640_000_000_000;
}
