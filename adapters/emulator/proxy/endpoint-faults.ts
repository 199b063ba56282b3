/** Faults of the endpoint proxy itself, on request. */
import { emptyBody, garbageBody } from '../control-plane/fault-answers.ts';
import type { Fault, FaultKind } from '../faults.ts';
import { failedToken, nobodyListens } from './denials.ts';
import type { Denial } from './denials.ts';

const bare = (status: number): Denial => ({ status, text: '', slug: null });

/** What takes the guest's place; kinds that are not here let the request go on. */
const denials: Partial<Record<FaultKind, Denial>> = {
  throttle: bare(429),
  'throttle-as-400': bare(400),
  quota: bare(402),
  internal: bare(500),
  capacity: bare(500),
  gateway: nobodyListens,
  unavailable: bare(503),
  'not-found': bare(404),
  conflict: bare(409),
  'access-denied': failedToken,
};

/** What a fault answers in the guest's place; null when the request goes on. */
export function faultDenial(fault: Fault | null): Denial | null {
  return fault === null ? null : (denials[fault.kind] ?? null);
}

/** What a fault puts in the place of the guest's answer, once the guest has given it; null for nothing. */
export function faultBody(fault: Fault | null): string | null {
  if (fault?.kind === 'garbage') return garbageBody;
  return fault?.kind === 'empty' ? emptyBody : null;
}
