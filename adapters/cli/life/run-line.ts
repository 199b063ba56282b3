/** Runs a command in a VM and brings its output here as it comes. */
import type { Command, RunOptions, RunResult, Session } from '../../../effects/index.ts';
import { CliError } from '../cli-error.ts';
import type { Terminal } from '../output/terminal.ts';

/** How the command is run. */
export type LineOptions = Pick<
  RunOptions,
  'execId' | 'env' | 'cwd' | 'user' | 'group' | 'shell' | 'deadlineMs' | 'input' | 'signal'
>;

/**
 * Runs it to its end. Its stdout and stderr arrive on ours byte for byte while it runs; under `--json` they
 * are only in the result.
 */
export async function runLine(
  session: Session,
  line: Command,
  terminal: Terminal,
  options: LineOptions,
): Promise<RunResult> {
  const streamed = {
    onOutput: ({ stream, data }: { readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array }) =>
      stream === 'stdout' ? terminal.out(data) : terminal.errorOutput(data),
    onGap: ({ from, to }: { readonly from: number; readonly to: number }) =>
      terminal.note(`(the output bytes ${from} to ${to} are gone: they came faster than they were read)`),
  };
  return await session.run(line, { ...options, ...(terminal.json ? {} : streamed) });
}

/** A result as plain data for an envelope. */
export function execData(result: RunResult): Readonly<Record<string, unknown>> {
  const { execId, exitCode, posixExitCode, signal, timedOut, stdout, stderr, truncated, notes } = result;
  return { execId, exitCode, posixExitCode, signal, timedOut, stdout, stderr, truncated, notes };
}

/**
 * The failure of a command that did not end with 0, or `null`.
 *
 * @param passThrough - exit with the command's own status (`--exec-status`)
 */
export function execFailure(
  result: RunResult,
  passThrough: boolean,
  data: Readonly<Record<string, unknown>>,
): CliError | null {
  const { posixExitCode, signal, timedOut } = result;
  if (posixExitCode === 0) return null;
  const how =
    posixExitCode === 124 && (timedOut || result.clientDeadline !== null)
      ? 'was ended at its deadline'
      : signal !== null
        ? `was ended by signal ${signal}`
        : posixExitCode === null
          ? 'ended in a way that nobody knows'
          : `exited with status ${posixExitCode}`;
  return new CliError('ExecFailed', `The command ${how}.`, {
    data,
    ...(passThrough && posixExitCode !== null ? { exitCode: posixExitCode } : {}),
  });
}
