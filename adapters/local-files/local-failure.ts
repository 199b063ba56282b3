/** Failures of the local disk as errors of ours. */
import { VmchartError } from '../../effects/errors.ts';
import { quoted } from '../../effects/quoted.ts';
import type { ErrorKind } from '../../machines/index.ts';

const kindOfCode: Readonly<Record<string, readonly [ErrorKind, string]>> = {
  ENOENT: ['InvalidArg', 'local-not-found'],
  ENOTDIR: ['InvalidArg', 'local-not-found'],
  EISDIR: ['InvalidArg', 'local-not-a-file'],
  EACCES: ['InvalidArg', 'local-denied'],
  EPERM: ['InvalidArg', 'local-denied'],
  EROFS: ['InvalidArg', 'local-denied'],
  ENAMETOOLONG: ['InvalidArg', 'local-name'],
  ENOSPC: ['Platform', 'local-disk-full'],
  EDQUOT: ['Platform', 'local-disk-full'],
};

/** Keeps an error of ours; gives one of the system its class; leaves the rest, such as an abort, as it is. */
export function localFailure(error: unknown, what: string): Error {
  const known = kindOfCode[systemCode(error) ?? ''];
  if (VmchartError.is(error) || known === undefined) return error as Error;
  const [kind, reason] = known;
  return new VmchartError(kind, `${what}: ${quoted((error as Error).message, [], 400)}`, { cause: error, reason });
}

/** The system's code of an error, such as `ENOENT`; `null` for an error that is not the system's. */
export function systemCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : null;
}
