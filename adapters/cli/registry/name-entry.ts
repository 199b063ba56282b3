/** What is remembered of one kept VM: its ids and its journal record. No secret is among it. */
import { parseVmState } from '../../../machines/records.ts';
import type { JournalRecord } from '../../../machines/sandbox-record.ts';

/** One name. */
export interface NameEntry {
  readonly version: 1;
  readonly name: string;
  /** The life that the name stands for: a name can be given up and taken again, a life cannot. */
  readonly sandboxId: string;
  /** The region of the VM: it wins over every setting of the day (FC-133). */
  readonly region: string;
  /** Where its service is; `null` for AWS itself. */
  readonly endpointUrl: string | null;
  /** Unix milliseconds. */
  readonly keptAtMs: number;
  /** The life, as a journal keeps it; `null` while only the name is reserved. */
  readonly record: JournalRecord | null;
}

/** The life under a name, or `null` while nothing has been launched, or a launch made nothing. */
export function lifeOf({ record }: NameEntry): JournalRecord | null {
  return record === null || (record.known.microvmId === null && record.known.launch === null) ? null : record;
}

/**
 * Reads an entry as a whole: one that is torn, half or foreign is none (FC-131).
 *
 * @returns the entry, or what is wrong with it in some words
 */
export function parseEntry(name: string, content: string): NameEntry | string {
  let read: unknown;
  try {
    read = JSON.parse(content);
  } catch {
    return 'it is not whole';
  }
  if (!isObject(read)) return 'it holds no record';
  if (read['version'] !== 1)
    return `it is of version ${JSON.stringify(read['version'])}, which this release does not know`;
  if (read['name'] !== name) return 'it is of another name';
  const { sandboxId, region, endpointUrl, keptAtMs, record } = read;
  if (!isId(sandboxId)) return 'its id is missing';
  if (!isText(region)) return 'its region is missing';
  if (endpointUrl !== null && !isText(endpointUrl)) return 'its endpoint is missing';
  if (endpointUrl !== null && !isHttpUrl(endpointUrl)) return 'its endpoint is no address of http or https';
  if (!isTime(keptAtMs)) return 'its time is missing';
  const wrong = record === null ? null : wrongWith(record, region, sandboxId);
  if (wrong !== null) return wrong;
  return { version: 1, name, sandboxId, region, endpointUrl, keptAtMs, record: record as JournalRecord | null };
}

function wrongWith(record: unknown, region: string, sandboxId: string): string | null {
  if (!isObject(record) || record['version'] !== 1) return 'its life is of an unknown version';
  if (!isText(record['sandboxId']) || !isText(record['substate'])) return 'its life is half';
  if (typeof record['wallOffsetMs'] !== 'number' || !isObject(record['known'])) return 'its life is half';
  if (record['region'] !== region) return 'it names two regions';
  if (record['sandboxId'] !== sandboxId) return 'it names two lives';
  const { microvmId, endpoint, launch, lifecycle, stateReason } = record['known'];
  if (!isText(lifecycle) || parseVmState(lifecycle) === null) return 'its state is unknown';
  if (stateReason !== null && typeof stateReason !== 'string') return 'its life is half';
  // A launch that was refused made nothing, and is forgotten.
  if (launch === null && microvmId === null) return null;
  if (!isObject(launch) || !isObject(launch['request'])) return 'its launch is missing';
  if (!isText(launch['request']['agentTokenRef'])) return 'its reference to the token is missing';
  if (microvmId === null) return null;
  return isText(microvmId) && isText(endpoint) ? null : 'its ids are half';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** It becomes a part of the path of its secrets. */
function isId(value: unknown): value is string {
  return isText(value) && /^[\w-]{1,128}$/.test(value);
}

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}
