/** Ending a process group: SIGTERM, and after the grace SIGKILL (`agentd-protocol.md` 8.6). */
import { setTimeout as delay } from 'node:timers/promises';
import type { Gate } from '../guest/gate.ts';
import type { VmProcess } from '../guest/vm-processes.ts';
import type { Alarms } from './alarms.ts';

/** How often a group is looked at, in milliseconds of real time: processes end in real time, whatever the clock. */
const firstLookMs = 2;
const longestLookMs = 50;

/** Whether the SIGTERM reached a group. Resolves when no member is left, or once SIGKILL is sent. */
export async function escalate(process: VmProcess, graceMs: number, alarms: Alarms, gate: Gate): Promise<boolean> {
  if (!process.signalGroup('SIGTERM')) return false;
  let graceOver = false;
  let wake = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const cancel = alarms.set(graceMs, () => {
    graceOver = true;
    wake();
  });
  try {
    for (let lookMs = firstLookMs; ; lookMs = Math.min(longestLookMs, lookMs * 2)) {
      await Promise.race([delay(lookMs), over]);
      await gate.pass();
      if (process.groupMembers().length === 0) return true;
      if (graceOver) break;
    }
  } finally {
    cancel();
  }
  process.signalGroup('SIGKILL');
  return true;
}
