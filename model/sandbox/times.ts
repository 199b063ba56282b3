/**
 * The times that matter to the lifecycle machine. It reads no clock: every event carries `at`, and all that is ever
 * asked of it is on which side of the suspended window it lies and whether a report was asked for too early.
 *
 * Readings need not grow from event to event: what holds here does not rely on a clock that never jumps.
 */
import type { SandboxContext } from '../../machines/index.ts';

/** The suspended window of the explored launches, in seconds. */
export const windowSec = 1000;

/** When an event happens, relative to a suspended window that is open. */
export type Moment = 'in time' | 'at the last instant' | 'too late';

/** Where the suspended window begins and ends; `null` where none runs or nobody will look at it again. */
export function windowOf(context: SandboxContext): { readonly from: number; readonly until: number } | null {
  const { lifecycle, suspendedAt, suspendedWindowMs, microvm } = context;
  const windowMs = suspendedWindowMs ?? (microvm?.idlePolicy ? microvm.idlePolicy.suspendedSec * 1000 : null);
  const over = lifecycle === 'TERMINATING' || lifecycle === 'TERMINATED';
  return over || windowMs === null || suspendedAt === null
    ? null
    : { from: suspendedAt, until: suspendedAt + windowMs };
}

/** A reading after all that a life remembers. */
export function later({ call, changedAt, acceptedAt, suspendedAt }: SandboxContext): number {
  return Math.max(0, call?.at ?? 0, changedAt ?? 0, acceptedAt ?? 0, suspendedAt ?? 0) + 1;
}

/** Every moment that makes a difference, with a reading in it. */
export function moments(context: SandboxContext): readonly { readonly moment: Moment; readonly at: number }[] {
  const window = windowOf(context);
  if (window === null) return [{ moment: 'in time', at: later(context) }];
  return [
    { moment: 'in time', at: window.from + 1 },
    { moment: 'at the last instant', at: window.until },
    { moment: 'too late', at: window.until + 1 },
  ];
}
