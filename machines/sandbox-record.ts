/** Placeholder shape until the lifecycle lands beside it. */
export interface JournalRecord {
  readonly sandboxId: string;
}
