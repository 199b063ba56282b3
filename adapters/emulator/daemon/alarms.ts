/** Deadlines of a daemon on the clock port: they wait while the VM is frozen and end with it. */
import type { Clock } from '../../../effects/index.ts';
import type { Gate } from '../guest/gate.ts';

/** See {@link createAlarms}. */
export interface Alarms {
  now(): number;
  wallSeconds(): number;
  /** Calls `fire` once after `ms`, or when the VM is thawed if that is later. Returns how to cancel. */
  set(ms: number, fire: () => void): () => void;
  /** Cancels all. */
  close(): void;
}

/** Alarms on a clock. */
export function createAlarms(clock: Clock, gate: Gate): Alarms {
  const pending = new Set<() => void>();
  const arm = (ms: number, fire: () => void): (() => void) => {
    if (clock.alarm !== undefined) return clock.alarm(ms, fire);
    const abort = new AbortController();
    clock.sleep(ms, abort.signal).then(fire, () => undefined);
    return () => abort.abort();
  };
  return {
    now: () => clock.now(),
    wallSeconds: () => Math.floor(clock.wallNow() / 1_000),
    set(ms, fire) {
      let live = true;
      const disarm = arm(Math.max(0, ms), () => {
        void gate.pass().then(() => {
          if (!live) return;
          cancel();
          fire();
        });
      });
      const cancel = (): void => {
        live = false;
        pending.delete(cancel);
        disarm();
      };
      pending.add(cancel);
      return cancel;
    },
    close() {
      for (const cancel of pending) cancel();
    },
  };
}
