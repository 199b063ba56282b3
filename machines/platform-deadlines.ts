/** Time as data: which deadline of a VM is next, and which one a tick finds due. */
import type { PlatformContext, PlatformDeadlines } from './platform-types.ts';

/** A deadline's name. The order settles ties: the end of the lifetime beats everything else. */
export const deadlineNames = ['lifetime', 'window', 'idle', 'step'] as const satisfies (keyof PlatformDeadlines)[];

/** No deadline counts down. */
export const noDeadlines: PlatformDeadlines = { lifetime: null, window: null, idle: null, step: null };

function earliest(deadlines: PlatformDeadlines): (typeof deadlineNames)[number] | null {
  let found: (typeof deadlineNames)[number] | null = null;
  for (const name of deadlineNames) {
    const at = deadlines[name];
    if (at !== null && (found === null || at < (deadlines[found] ?? Infinity))) found = name;
  }
  return found;
}

/**
 * When the host has to send the next `TICK`, as a monotonic reading in milliseconds; null when nothing counts down.
 *
 * One tick takes one step, so a host that is late asks again until the answer lies ahead of it.
 */
export function nextDeadline(snapshot: { readonly context: PlatformContext }): number | null {
  const { deadlines } = snapshot.context;
  const name = earliest(deadlines);
  return name === null ? null : deadlines[name];
}

/** Which deadline is due at `at`: the earliest, so that a late tick still takes things in their order. */
export function dueDeadline(context: PlatformContext, at: number): keyof PlatformDeadlines | null {
  const name = earliest(context.deadlines);
  return name !== null && (context.deadlines[name] ?? Infinity) <= at ? name : null;
}

/** When the VM will have been idle for too long, counted anew from `at`; null when nothing counts. */
export function idleDeadline(context: PlatformContext, at: number): number | null {
  const { idlePolicy, options } = context.terms;
  if (idlePolicy === null) return null;
  if (options.silentStreamCounts && context.openConnections > 0) return null;
  return at + idlePolicy.maxIdleMs;
}

/** When a VM that is suspended from `at` on will be ended; null when the window does not apply. */
export function windowDeadline(context: PlatformContext, at: number): number | null {
  const { idlePolicy, options } = context.terms;
  if (idlePolicy === null) return null;
  if (context.explicitSuspend && !options.applyWindowToExplicitSuspend) return null;
  return at + idlePolicy.suspendedWindowMs;
}
