/** What the exec machine remembers, hears and says (`agentd-protocol.md` 7 and 8). */

/** The terms of a command, fixed at its start. Times in milliseconds. */
export interface ExecTerms {
  /** Wall-clock budget from the spawn on, or `null` for none. */
  readonly timeoutMs: number | null;
  /** Kill what is left of the process group once the child exits. */
  readonly reapGroupOnExit: boolean;
  /** How long open pipes may delay the result after the child's exit. */
  readonly lingerMs: number;
  /** How long an acknowledged record is kept. */
  readonly retentionMs: number;
}

/** How the child ended. Both `null`: the wait itself failed. */
export interface ChildExit {
  readonly exitCode: number | null;
  readonly signal: number | null;
}

/** The result of a command, but for its output, which the host keeps. */
export interface ExecOutcome extends ChildExit {
  /** The deadline fired, whatever the exit code says. */
  readonly timedOut: boolean;
  /** The linger ended with pipes still open. */
  readonly writersMayBeAlive: boolean;
}

/** What the machine remembers; plain data, and no output in it. */
export interface ExecContext {
  readonly terms: ExecTerms;
  /** How many children were ever asked for under this id in this life of the record. Never more than one. */
  readonly spawns: number;
  readonly startedAt: number | null;
  /** When the deadline is due, or `null`. */
  readonly deadlineAt: number | null;
  /** When the linger is over, or `null` when it does not run. */
  readonly lingerUntil: number | null;
  readonly childExit: ChildExit | null;
  readonly pipesOpen: boolean;
  readonly timedOut: boolean;
  readonly writersMayBeAlive: boolean;
  readonly exitedAt: number | null;
  readonly ackedAt: number | null;
  /** How many acknowledgements handed the output out. Never more than one. */
  readonly releases: number;
}

/**
 * What happens to a record. Each carries `at`, a monotonic reading in milliseconds.
 *
 * `START`, `POLL`, `ACK` and `KILL` are requests and get one answer each; the others are reports of the host.
 */
export type ExecEvent =
  | { readonly type: 'START'; readonly at: number }
  | { readonly type: 'POLL'; readonly at: number }
  | { readonly type: 'ACK'; readonly at: number }
  | { readonly type: 'KILL'; readonly at: number }
  | { readonly type: 'SPAWN.FAILED'; readonly at: number }
  | ({ readonly type: 'CHILD.EXITED'; readonly at: number } & ChildExit)
  | { readonly type: 'PIPES.CLOSED'; readonly at: number }
  /** The escalation on the process group that {@link ExecEffect} asked for is over. */
  | { readonly type: 'ESCALATION.ENDED'; readonly at: number }
  /** Time passed: whatever is due at `at` happens. */
  | { readonly type: 'TICK'; readonly at: number };

/** What a poll may show. */
export type ExecPhase = 'running' | 'exited' | 'acked';

/** What a refused acknowledgement says. */
export type AckRefusal = 'still_running' | 'already_acked';

/** The answers to requests, and what the host has to do. */
export type ExecEffect =
  | { readonly type: 'START.ANSWERED'; readonly outcome: 'spawn' | 'known' }
  | { readonly type: 'POLL.ANSWERED'; readonly outcome: ExecPhase | 'unknown' }
  | { readonly type: 'ACK.ANSWERED'; readonly outcome: 'released' | AckRefusal | 'unknown' }
  | { readonly type: 'KILL.ANSWERED'; readonly outcome: 'signal' | 'unknown' }
  /** SIGTERM, then SIGKILL after the grace, to the process group; `ESCALATION.ENDED` reports its end. */
  | { readonly type: 'ESCALATE' }
  /** The result stands: stdin is dropped and attached streams get their exit event. */
  | ({ readonly type: 'PUBLISH' } & ExecOutcome)
  /** The record and all that it kept go. */
  | { readonly type: 'COLLECT' };
