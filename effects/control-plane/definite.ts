/** Whether a failed call surely did nothing: what decides between giving up and asking again. */
import { VmchartError } from '../errors.ts';

/** Errors of calls that were sent more than once, where an earlier send may have been carried out. */
const doubtful = new WeakSet<object>();

/** Notes that an earlier send of the same request may have been carried out. */
export function markDoubtful(error: VmchartError): VmchartError {
  doubtful.add(error);
  return error;
}

/** Reasons of failures before the first byte went out; those that the service may give too come with a status. */
const localReasons = new Set(['connect', 'certificate', 'quota', 'no-entropy']);

/**
 * Whether the service surely did not act on a call that failed with this error.
 *
 * Definite: a refusal made here, a 4xx, a connection that never stood. Not definite: a 5xx, a lost or
 * unreadable answer, a timeout, an abort. A definite answer to a repeated send stays not definite as long
 * as an earlier send of the same request may have been carried out.
 */
export function isDefinite(error: unknown): boolean {
  if (!VmchartError.is(error) || doubtful.has(error)) return false;
  if (error.status !== null) return error.status >= 400 && error.status < 500 && error.status !== 408;
  if (error.reason !== null && localReasons.has(error.reason)) return true;
  return (
    error.kind === 'InvalidArg' ||
    error.kind === 'Precondition' ||
    error.kind === 'WindowClosed' ||
    error.kind === 'Credentials'
  );
}
