/** What goes between the page, its server, and the programs that are watched. */
import type { CommandType, RequirementId, Verdict } from '../../machines/index.ts';
import type { TraceEntry } from '../trace/entry.ts';

/** From a watched program to the server, over a WebSocket. */
export type Feed =
  | { readonly type: 'entry'; readonly entry: TraceEntry }
  /** A machine that the page may not know, as the plain config that XState takes. */
  | { readonly type: 'chart'; readonly machine: string; readonly config: unknown };

/** What came of a command that was sent from the page. */
export interface CommandReply {
  /** `sent`: the watched program lives elsewhere; its answer comes as an entry. */
  readonly verdict: Verdict | 'sent';
  readonly requirement: RequirementId | null;
  /** What a person should read, for a refusal. */
  readonly message: string | null;
}

/** The commands that a page may send. */
export const pageCommands = ['SUSPEND', 'RESUME', 'TERMINATE'] as const satisfies readonly CommandType[];

/** One of them. */
export type PageCommand = (typeof pageCommands)[number];

/** A drawing as the page sets it in. */
export interface ChartPicture {
  readonly width: number;
  readonly height: number;
  readonly content: string;
}

/** A machine from afar, or one of its outermost states with what is in it. */
export interface ChartView {
  readonly machine: string;
  readonly picture: ChartPicture;
  /** The outermost states that can be drawn by themselves. */
  readonly parts: readonly string[];
}

/**
 * Draws a machine by its name, or from the config that came over a feed; `part` names an outermost state. What draws is
 * handed in, since only the command line knows the exporters.
 */
export type DrawChart = (machine: string, config: unknown, part: string | null) => Promise<ChartView | null>;
