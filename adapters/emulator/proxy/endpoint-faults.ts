/** Faults of the endpoint proxy itself, on request. */
import type { Fault } from '../faults.ts';
import { nobodyListens } from './denials.ts';
import type { Denial } from './denials.ts';

/** What a fault answers in the guest's place; null when the request goes on. */
export function faultDenial(fault: Fault | null): Denial | null {
  switch (fault?.kind) {
    case undefined:
    case 'delay':
    case 'lost-answer':
      return null;
    case 'throttle':
      return { status: 429, text: '', slug: null };
    case 'internal':
      return { status: 500, text: '', slug: null };
    case 'unavailable':
      return { status: 503, text: '', slug: null };
    case 'access-denied':
      return { status: 403, text: 'Token authentication failed', slug: 'UNAUTHORIZED' };
    default:
      return nobodyListens;
  }
}
