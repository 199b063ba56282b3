/** Caps that a caller gives: checked, since a cap that is no number would hold nothing back. */
import { VmchartError } from '../errors.ts';

/**
 * Checks a cap, before anything is sent. `Infinity` means none; an absent cap stays absent.
 *
 * @throws VmchartError `InvalidArg`, reason `cap`, unless it is a whole number, zero or more.
 */
export function checkCap(name: string, cap: number | undefined): void {
  if (cap === undefined || cap === Number.POSITIVE_INFINITY || (Number.isSafeInteger(cap) && cap >= 0)) return;
  throw new VmchartError('InvalidArg', `${name} must be a whole number, zero or more; got ${String(cap)}.`, {
    reason: 'cap',
  });
}
