/** Runs a command in a VM and brings its output here as it comes. */
import { randomBytes } from 'node:crypto';
import type { Command, OutputSide, RunOptions, RunResult, Session } from '../../../effects/index.ts';
import { CliError } from '../cli-error.ts';
import type { Terminal } from '../output/terminal.ts';

/** How long an interrupted command's end may take to be ordered, in milliseconds. */
const killMs = 3_000;

/** How the command is run. */
export type LineOptions = Pick<
  RunOptions,
  'execId' | 'env' | 'cwd' | 'user' | 'deadlineMs' | 'input' | 'signal' | 'onOutput' | 'onGap'
> & {
  /** Ends the command when the signal aborts: for a VM that stays. */
  readonly killOnAbort?: boolean;
};

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
  const execId = options.execId ?? `x-${randomBytes(8).toString('hex')}`;
  const delivered = { stdout: 0, stderr: 0 };
  const write = async (stream: OutputSide, data: Uint8Array) => {
    delivered[stream] += data.length;
    await (stream === 'stdout' ? terminal.out(data) : terminal.errorOutput(data));
  };
  const streamed: Pick<RunOptions, 'onOutput' | 'onGap'> = {
    onOutput: ({ stream, data }) => write(stream, data),
    onGap: ({ from, to }) =>
      terminal.note(`(the output bytes ${from} to ${to} are gone: they came faster than they were read)`),
  };
  try {
    const result = await session.run(line, { ...(terminal.json ? {} : streamed), ...options, execId });
    if (!terminal.json) {
      for (const side of ['stdout', 'stderr'] as const) await write(side, missing(result[side], delivered[side]));
    }
    return result;
  } catch (error) {
    if (options.killOnAbort === true && options.signal?.aborted === true) {
      const ordered = session.exec(execId).tryKill({ signal: AbortSignal.timeout(killMs) });
      await ordered.catch(() => undefined);
    }
    throw error;
  }
}

/**
 * What the record has and the stream did not bring, should the stream have broken for good. Where the record
 * has replacement characters its length says nothing, so it only stands in for a stream that brought nothing.
 */
function missing(recorded: string, delivered: number): Uint8Array {
  const bytes = Buffer.from(recorded, 'utf8');
  if (delivered > 0 && recorded.includes('\uFFFD')) return new Uint8Array();
  return bytes.subarray(delivered);
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
