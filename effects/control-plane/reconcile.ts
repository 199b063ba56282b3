/** Holding a ledger of VMs against the account's own list (FC-052, FC-053). */
import { VmchartError, toVmchartError } from '../errors.ts';
import type { ControlPlane } from './control-plane.ts';
import type { CallOptions } from './caller.ts';
import type { MicrovmFilter } from './calls.ts';
import type { MicrovmSummary } from './wire.ts';

/** What is known of one ledger entry: still there, ended, or not to be judged because the list was cut short. */
export type LedgerVerdict = 'live' | 'gone' | 'unjudged';

/** The ledger held against the list. It is a report: nothing is terminated. */
export interface Reconciliation {
  readonly verdicts: ReadonlyMap<string, LedgerVerdict>;
  /** Live VMs of the account that stand in no ledger. */
  readonly unknownToLedger: readonly MicrovmSummary[];
  /** True only when nothing is live and nothing is unjudged. */
  readonly clean: boolean;
  /** Why the list was cut short. */
  readonly error: VmchartError | null;
}

/**
 * Reads the whole list and judges each entry. When a page fails, what was read so far counts, and everything that
 * was not seen is unjudged, never gone.
 */
export async function reconcile(
  plane: ControlPlane,
  ledger: Iterable<string>,
  options: MicrovmFilter & CallOptions = {},
): Promise<Reconciliation> {
  const { imageIdentifier, imageVersion, ...call } = options;
  const filter = {
    ...(imageIdentifier === undefined ? {} : { imageIdentifier }),
    ...(imageVersion === undefined ? {} : { imageVersion }),
  };
  const seen = new Map<string, MicrovmSummary>();
  let error: VmchartError | null = null;
  try {
    for await (const page of plane.microvmPages(filter, call)) {
      for (const vm of page) seen.set(vm.microvmId, vm);
    }
  } catch (thrown) {
    call.signal?.throwIfAborted();
    error = toVmchartError(thrown);
  }
  const known = new Set(ledger);
  const verdicts = new Map<string, LedgerVerdict>();
  for (const microvmId of known) {
    const vm = seen.get(microvmId);
    const absent = error === null ? 'gone' : 'unjudged';
    verdicts.set(microvmId, vm === undefined ? absent : vm.state === 'TERMINATED' ? 'gone' : 'live');
  }
  const unknownToLedger = [...seen.values()].filter((vm) => !known.has(vm.microvmId) && vm.state !== 'TERMINATED');
  const clean = error === null && [...verdicts.values()].every((verdict) => verdict === 'gone');
  return { verdicts, unknownToLedger, clean, error };
}

/** What a sweep over several scopes came to. */
export interface SweepReport<T> {
  readonly ok: readonly T[];
  readonly failed: readonly VmchartError[];
  /** Scopes that were not scanned, because the sweep was told to leave them out. */
  readonly skipped: number;
}

/**
 * Scans scopes (regions, images, accounts) one after the other and keeps failures apart from findings, so that an
 * empty result is never mistaken for a healthy one.
 *
 * @param scan - resolves to `null` for a scope to be left out
 * @throws VmchartError with reason `scan-failed-everywhere` when every scan failed
 */
export async function sweep<S, T>(scopes: Iterable<S>, scan: (scope: S) => Promise<T | null>): Promise<SweepReport<T>> {
  const ok: T[] = [];
  const failed: VmchartError[] = [];
  let skipped = 0;
  for (const scope of scopes) {
    try {
      const found = await scan(scope);
      if (found === null) skipped += 1;
      else ok.push(found);
    } catch (error) {
      failed.push(toVmchartError(error));
    }
  }
  const [first] = failed;
  if (first === undefined || ok.length > 0) return { ok, failed, skipped };
  throw new VmchartError(first.kind, `All ${failed.length} scans failed; the first: ${first.message}`, {
    reason: 'scan-failed-everywhere',
    cause: first,
  });
}
