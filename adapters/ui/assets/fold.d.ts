import type { AnswerEntry, FindingEntry, LifeFacts, TraceEntry } from '../../trace/entry.ts';

/** One life as a page shows it. Times in Unix milliseconds. */
export interface Life {
  readonly id: string;
  readonly title: string;
  readonly machine: string;
  readonly source: string;
  readonly takesCommands: boolean;
  readonly takesLines: boolean;
  /** The dotted path of the state. */
  readonly state: string;
  /** Since when it is in its outermost state. */
  readonly since: number;
  readonly bornAt: number;
  readonly cause: string | null;
  readonly reason: string | null;
  readonly facts: LifeFacts | null;
  readonly lastMove: {
    readonly from: string | null;
    readonly to: string;
    readonly event: string;
    readonly at: number;
  } | null;
  /** The command that is under way. */
  readonly pending: AnswerEntry['command'] | null;
  /** How many commands were refused. */
  readonly refused: number;
  readonly finding: FindingEntry | null;
  readonly log: TraceEntry[];
  readonly marks: { readonly at: number; readonly state: string }[];
}

/** All lives by their names. */
export interface Fleet {
  readonly lives: Map<string, Life>;
}

export const limits: { readonly log: number; readonly marks: number };
export function emptyFleet(): Fleet;
export function topOf(path: string): string;
export function fold(fleet: Fleet, entry: TraceEntry): Life;
export function summaryOf(life: Life): Omit<Life, 'log'>;
export function lifeFrom(summary: Omit<Life, 'log'>, log?: TraceEntry[]): Life;
