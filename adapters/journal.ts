/** A journal that lives as long as the process: for tests, demos and callers that restart from the account's list. */
import type { JournalRecord } from '../machines/index.ts';
import type { Journal } from '../effects/index.ts';

/** Keeps copies, so that a record that changes later does not rewrite history. */
export function memoryJournal(): Journal {
  const records = new Map<string, JournalRecord>();
  return {
    async write(record) {
      records.set(record.sandboxId, structuredClone(record));
    },
    async read(sandboxId) {
      const record = records.get(sandboxId);
      return record === undefined ? null : structuredClone(record);
    },
    async list() {
      return structuredClone([...records.values()]);
    },
    async remove(sandboxId) {
      records.delete(sandboxId);
    },
  };
}
