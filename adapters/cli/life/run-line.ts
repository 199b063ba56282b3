/** Runs a command in a VM and brings its output here as it comes. */
import { randomBytes } from 'node:crypto';
import type { Command, OutputEvent, OutputSide, RunOptions, RunResult, Session } from '../../../effects/index.ts';
import { CliError } from '../cli-error.ts';
import type { Terminal } from '../output/terminal.ts';
import { commandRefusal } from './vm-refusal.ts';

/** How long an interrupted command's end may take to be ordered, in milliseconds. */
const killMs = 3_000;

/** How the command is run. */
export type LineOptions = Pick<
  RunOptions,
  'execId' | 'env' | 'cwd' | 'user' | 'deadlineMs' | 'input' | 'signal' | 'onOutput' | 'onGap'
> & {
  /** Ends the command when the signal aborts: for a VM that stays. */
  readonly killOnAbort?: boolean;
  /** How the VM is called in a refusal. */
  readonly vm?: string;
  /** Takes what a command that is interrupted has printed so far. Only under `--json`, where nothing shows it. */
  readonly partial?: PartialExec;
};

/** How much of an interrupted command's output is told, for each of its two outputs, in bytes. */
const partialBytes = 1_048_576;

/** What is known of a command whose end nobody saw. */
export class PartialExec {
  #execId: string | null = null;
  readonly #pieces = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  readonly #bytes = { stdout: 0, stderr: 0 };

  begin(execId: string): void {
    this.#execId = execId;
  }

  take({ stream, data }: { readonly stream: OutputSide; readonly data: Uint8Array }): void {
    const room = partialBytes - this.#bytes[stream];
    if (room > 0) this.#pieces[stream].push(Uint8Array.from(data.subarray(0, room)));
    this.#bytes[stream] += data.length;
  }

  /** Plain data for an envelope; `null` when the command was never sent. */
  data(): Readonly<Record<string, unknown>> | null {
    if (this.#execId === null) return null;
    const said = (side: OutputSide) => Buffer.concat(this.#pieces[side]).toString('utf8');
    const truncated = Object.values(this.#bytes).some((bytes) => bytes > partialBytes);
    return { execId: this.#execId, done: false, stdout: said('stdout'), stderr: said('stderr'), truncated };
  }
}

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
  const { partial, vm, ...rest } = options;
  partial?.begin(execId);
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
    const heard = { onOutput: (event: OutputEvent) => partial?.take(event) };
    const listening = terminal.json ? (partial === undefined ? {} : heard) : streamed;
    const result = await session.run(line, { ...listening, ...rest, execId });
    if (!terminal.json) {
      for (const side of ['stdout', 'stderr'] as const) await write(side, missing(result[side], delivered[side]));
    }
    return result;
  } catch (error) {
    if (options.killOnAbort === true && options.signal?.aborted === true) {
      const ordered = session.exec(execId).tryKill({ signal: AbortSignal.timeout(killMs) });
      await ordered.catch(() => undefined);
    }
    throw commandRefusal(error, { vm: vm ?? 'the VM', execId, user: options.user, cwd: options.cwd });
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
  result: Pick<RunResult, 'posixExitCode' | 'signal' | 'timedOut'> & Partial<Pick<RunResult, 'clientDeadline'>>,
  passThrough: boolean,
  data: Readonly<Record<string, unknown>>,
): CliError | null {
  const { posixExitCode, signal, timedOut, clientDeadline = null } = result;
  if (posixExitCode === 0) return null;
  const how =
    posixExitCode === 124 && (timedOut || clientDeadline !== null)
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
