/** What a start asks the daemon for (`agentd-protocol.md` 7). */
import { VmchartError } from '../errors.ts';
import { checkedDurationMs } from './deadline.ts';

/** A shell script, or the words of a command that runs without a shell. */
export type Command = string | readonly string[];

/** How a command is started. */
export interface StartOptions {
  /** The idempotency key. Repeating it never starts a second child. Default: minted. */
  readonly execId?: string;
  /** `true` is `/bin/sh`; a name or an absolute path is another shell. Default: `true` for a string, else `false`. */
  readonly shell?: boolean | string;
  /** Default: the image's working directory. */
  readonly cwd?: string;
  /** The highest layer of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Name or uid. Default: the image's default user, else root. */
  readonly user?: string | number;
  readonly group?: string | number;
  /**
   * The guest's own deadline: the daemon then ends the whole process group. In milliseconds, above zero.
   * It holds whether or not any client is attached.
   */
  readonly deadlineMs?: number;
  /** Gives the command a pipe to write to; without it, its input is empty. */
  readonly stdin?: boolean;
  /** Ends whatever is left of the process group once the command itself has ended. */
  readonly reapGroupOnExit?: boolean;
  /** Uses the image's environment as the lowest layer. */
  readonly inheritImageEnv?: boolean;
  /** Powers the whole VM off once the command has ended. Refused unless the daemon says that it can. */
  readonly poweroffOnExit?: boolean;
  /**
   * Whether the daemon recognises a repeated start by its id, as every daemon of protocol 1 does. With `false`
   * a start is repeated only when nothing was sent. Default `true`.
   */
  readonly idempotent?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The body of `POST /v1/exec/start`. @throws VmchartError `InvalidArg` before anything is sent. */
export function startBody(execId: string, command: Command, options: StartOptions): string {
  if (execId === '') throw new VmchartError('InvalidArg', 'An exec id must not be empty.');
  const timeoutSec = options.deadlineMs === undefined ? null : checkedGuestDeadlineMs(options.deadlineMs) / 1000;
  return JSON.stringify({
    exec_id: execId,
    command: typeof command === 'string' ? [command] : command,
    shell: options.shell ?? typeof command === 'string',
    cwd: options.cwd ?? null,
    env: options.env ?? {},
    user: options.user ?? null,
    group: options.group ?? null,
    timeout_sec: timeoutSec,
    stdin: options.stdin ?? false,
    reap_group_on_exit: options.reapGroupOnExit ?? false,
    inherit_image_env: options.inheritImageEnv ?? false,
    ...(options.poweroffOnExit === true ? { poweroff_on_exit: true } : {}),
  });
}

/** @throws VmchartError `InvalidArg` unless it is finite and above zero. */
export function checkedGuestDeadlineMs(deadlineMs: number): number {
  const checked = checkedDurationMs('deadlineMs', deadlineMs);
  if (checked === 0) throw new VmchartError('InvalidArg', 'deadlineMs must be above zero.', { reason: 'duration' });
  return checked;
}
