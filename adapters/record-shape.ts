/** Whether something read from a disk is the record of a life. Nothing in it is trusted before. */
import type { JournalRecord } from '../machines/index.ts';

/**
 * Reads a record as a whole: one that is torn, half or foreign is none (FC-131).
 *
 * @returns what is wrong with it in some words, or `null` when it is a {@link JournalRecord}
 */
export function whatIsWrongWith(record: unknown): string | null {
  if (!isObject(record)) return 'it holds no record';
  const { version, sandboxId, region, substate, wallOffsetMs, known } = record;
  if (version !== (1 satisfies JournalRecord['version'])) {
    return `it is of version ${JSON.stringify(version)}, which this release does not know`;
  }
  if (!isText(sandboxId) || !isText(region) || !isText(substate)) return 'a part of it is missing';
  if (!Number.isFinite(wallOffsetMs) || !isObject(known)) return 'a part of it is missing';
  const { microvmId, endpoint, launch } = known;
  if (microvmId !== null && !isText(microvmId)) return 'the id of its VM is missing';
  if (microvmId !== null && !isText(endpoint)) return 'the endpoint of its VM is missing';
  return launch === null ? null : wrongLaunch(launch);
}

function wrongLaunch(launch: unknown): string | null {
  if (!isObject(launch) || !isObject(launch['request'])) return 'its launch is missing';
  if (!isText(launch['clientToken'])) return 'the client token of its launch is missing';
  return isText(launch['request']['agentTokenRef']) ? null : 'the reference to its agent token is missing';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
