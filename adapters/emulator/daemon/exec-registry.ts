/** The exec records of one daemon, by their caller-minted ids. */
import { createExecRecord } from './exec-record.ts';
import type { ExecRecord, ExecWorld } from './exec-record.ts';

/** See {@link createExecRegistry}. */
export interface ExecRegistry {
  /** The record of that id, unless it was collected. */
  get(execId: string): ExecRecord | null;
  /** Registers an id that is free. */
  add(execId: string, terms: { readonly reap: boolean; readonly timeoutMs: number | null }): ExecRecord;
  /** Takes back an id whose child could not be spawned. */
  remove(record: ExecRecord): void;
  /** Every record that is there. */
  all(): ExecRecord[];
}

/** No records yet. Acknowledged records past their retention go when somebody looks: no timer runs for them. */
export function createExecRegistry(world: ExecWorld): ExecRegistry {
  const records = new Map<string, ExecRecord>();
  const collect = (): void => {
    for (const [execId, record] of records) {
      if (record.phase === 'acked') record.tick();
      if (record.phase === null) records.delete(execId);
    }
  };
  return {
    get(execId) {
      collect();
      return records.get(execId) ?? null;
    },
    add(execId, { reap, timeoutMs }) {
      const record = createExecRecord(execId, reap, timeoutMs, world);
      records.set(execId, record);
      return record;
    },
    remove(record) {
      if (records.get(record.execId) === record) records.delete(record.execId);
    },
    all() {
      collect();
      return [...records.values()];
    },
  };
}
