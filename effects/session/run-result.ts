/** A command run to its end, in the terms of a shell (`client-behaviour.md` 4.9, BIND-6, BIND-7). */
import type { KillAnswer } from './exec-handle.ts';
import { killSentence } from './exec-handle.ts';
import type { ExecResult } from './exec-result.ts';

/** The exit code of a command that a deadline ended, as `timeout(1)` has it. */
export const timedOutExitCode = 124;

/** What happened when the client's deadline fired. */
export interface ClientDeadline {
  /** The deadline, in milliseconds after the start was answered. */
  readonly afterMs: number;
  readonly kill: KillAnswer;
  /** Why the result could not be collected afterwards: then it is synthesized. */
  readonly ackError: string | null;
}

/** What the stream told of the end when the daemon's record could not be collected any more. */
export interface Uncollected {
  /** Why the record could not be collected. */
  readonly error: string;
}

/** A result, what the client did to get it, and how a shell would put it. */
export interface RunResult extends ExecResult {
  /** 124 for a deadline, else the exit code, else 128 plus the signal; `null` where nothing is known. */
  readonly posixExitCode: number | null;
  /** One line for each thing a reader of the result should know. Empty for a clean run. */
  readonly notes: readonly string[];
  readonly clientDeadline: ClientDeadline | null;
  /** No outcome could be had from the daemon: what stands here was made up, and says 124. */
  readonly synthesized: boolean;
}

/** How the result was reached. */
export interface RunCircumstances {
  readonly clientDeadline?: ClientDeadline | null;
  readonly uncollected?: Uncollected | null;
  readonly extraNotes?: readonly string[];
}

/** Puts a result and its circumstances together. */
export function runResult(result: ExecResult, circumstances: RunCircumstances = {}): RunResult {
  const clientDeadline = circumstances.clientDeadline ?? null;
  return {
    ...result,
    posixExitCode: posixExitCode(result, clientDeadline),
    notes: notesOf(result, circumstances),
    clientDeadline,
    synthesized: clientDeadline !== null && clientDeadline.ackError !== null,
  };
}

/** The one number a shell would show. */
export function posixExitCode(
  result: Pick<ExecResult, 'exitCode' | 'signal' | 'timedOut'>,
  clientDeadline: ClientDeadline | null = null,
): number | null {
  const endedByClient =
    clientDeadline !== null && (clientDeadline.ackError !== null || clientDeadline.kill.kind === 'signalled');
  if (endedByClient || result.timedOut) return timedOutExitCode;
  if (result.exitCode !== null) return result.exitCode;
  return result.signal === null ? null : 128 + result.signal;
}

function notesOf(result: ExecResult, circumstances: RunCircumstances): string[] {
  const notes: string[] = [];
  if (result.truncated) notes.push("The output went beyond the daemon's output cap and was truncated.");
  if (result.timedOut) notes.push('The daemon ended the command at its deadline (timeout_sec).');
  if (result.writersMayBeAlive) {
    notes.push('Something still held the pipes when the linger ended: more output may have been written.');
  }
  const deadline = circumstances.clientDeadline ?? null;
  if (deadline !== null) {
    const synthesized =
      deadline.ackError === null ? '' : `; the result is synthesized, since none could be read (${deadline.ackError})`;
    notes.push(
      `The client deadline of ${secondsText(deadline.afterMs)} fired: ${killSentence(deadline.kill)}${synthesized}.`,
    );
  }
  if (circumstances.uncollected) {
    notes.push(`log-fetch-failed: the output shown is what was streamed (${circumstances.uncollected.error}).`);
  }
  return [...notes, ...(circumstances.extraNotes ?? [])];
}

/** `90s` for whole seconds, `1.5s` for others. */
function secondsText(ms: number): string {
  const seconds = ms / 1000;
  return `${Number.isInteger(seconds) ? seconds : seconds.toFixed(1)}s`;
}
