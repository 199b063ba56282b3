/**
 * What happened to statecharts, told in plain entries: the one form in which it is shown live, written to a file and
 * played back. An entry says which state, which event, which verdict; it never holds a context or a payload, so there is
 * no place in it for a secret.
 */
import type { CommandType, RequirementId, Verdict } from '../../machines/index.ts';

interface Entry<Kind extends string> {
  readonly kind: Kind;
  /** Unix milliseconds. */
  readonly at: number;
  /** Whose life it is about. */
  readonly life: string;
}

/** A statechart begins to be watched. */
export interface LifeEntry extends Entry<'life'> {
  /** The machine's id, such as `sandbox`. */
  readonly machine: string;
  /** What people call it. */
  readonly title: string;
  /** Who tells of it: the emulator, a listing of the service, an inspected program, a file. */
  readonly source: string;
  /** Whether SUSPEND, RESUME and TERMINATE can be sent to it. */
  readonly takesCommands: boolean;
  /** Whether shell lines can be run in it. */
  readonly takesLines?: boolean;
}

/** What is known of a VM beside its state. Times in Unix milliseconds. */
export interface LifeFacts {
  readonly microvmId: string | null;
  readonly startedAt: number | null;
  readonly lifetimeEndsAt: number | null;
  /** Until when a suspended VM can be resumed. */
  readonly windowEndsAt: number | null;
  readonly image: string | null;
}

/** The chart is in a state, by an event. `from` equals `state` where the event changed something else. */
export interface StateEntry extends Entry<'state'> {
  readonly from: string | null;
  readonly state: string;
  readonly event: string;
  readonly cause: string | null;
  /** The service's own words, where it gave some. */
  readonly reason: string | null;
  readonly facts?: LifeFacts;
}

/** An event that left everything as it was. */
export interface EventEntry extends Entry<'event'> {
  readonly event: string;
  readonly state: string;
  /** Who acted, and in which words, where that is known. */
  readonly by?: string;
  readonly says?: string;
  /** What else it changed, around the chart. */
  readonly changes?: string;
}

/** The immediate answer to a command. */
export interface AnswerEntry extends Entry<'answer'> {
  readonly command: CommandType;
  readonly verdict: Verdict;
  readonly requirement: RequirementId | null;
  readonly message: string | null;
}

/** The end of a command that was not refused. */
export interface SettledEntry extends Entry<'settled'> {
  readonly command: CommandType;
  /** `null` when it succeeded. */
  readonly error: string | null;
}

/** A call that has ended: one that the chart made, or one on the wire. */
export interface CallEntry extends Entry<'call'> {
  readonly layer: 'machine' | 'wire';
  readonly operation: string;
  /** `null` where only the end was seen. */
  readonly durationMs: number | null;
  readonly ok: boolean;
  readonly status: number | null;
  readonly note: string | null;
}

/** Output of a command in the VM. A recording has the size only. */
export interface OutputEntry extends Entry<'output'> {
  readonly stream: 'stdin' | 'stdout' | 'stderr' | 'end';
  readonly bytes: number;
  readonly text: string | null;
}

/** What a checker found out about the path that is shown. */
export interface FindingEntry extends Entry<'finding'> {
  readonly property: string;
  readonly requirement: string | null;
  readonly says: string;
}

/** Anything that can be told. */
export type TraceEntry =
  LifeEntry | StateEntry | EventEntry | AnswerEntry | SettledEntry | CallEntry | OutputEntry | FindingEntry;

/** Receives entries in the order in which things happened. */
export type Tell = (entry: TraceEntry) => void;
