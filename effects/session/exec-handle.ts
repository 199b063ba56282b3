/** One command in the VM, addressed by its id alone: a handle can be made anew in another process. */
import { VmchartError } from '../errors.ts';
import { Countdown } from './countdown.ts';
import { checkedDurationMs } from './deadline.ts';
import { isBoolean, isNumber, objectIn, optional, required } from './decode.ts';
import type { ExecEvent } from './exec-events.ts';
import type { ExecResult } from './exec-result.ts';
import { bareResult, decodeExecResult } from './exec-result.ts';
import type { OutputFlow, StreamEnd, StreamOptions } from './output-stream.ts';
import { OutputStream } from './output-stream.ts';
import type { Schedule } from '../schedule.ts';
import { adaptiveExecSchedule } from '../schedule.ts';
import type { SplitOptions } from './split-output.ts';
import { SplitOutput } from './split-output.ts';
import type { Transport } from './transport.ts';

/** How long a wait for a command lasts by default, in milliseconds. */
export const defaultExecWaitMs = 300_000;

/** A call that can be aborted. Aborting ends the caller's wait, never the command. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** How a kill was answered: the group was signalled, was gone already, or could not be asked to end. */
export type KillAnswer =
  | { readonly kind: 'signalled' }
  | { readonly kind: 'already-gone' }
  | { readonly kind: 'failed'; readonly message: string };

/** How long the client waits for a command to end. */
export interface WaitOptions extends CallOptions {
  /** The client's own wait. The command goes on when it elapses. Default 300 s. */
  readonly waitMs?: number;
  /** Sends one kill when the wait elapses, and says in the error how it went. Default `false`. */
  readonly killOnTimeout?: boolean;
  readonly poll?: Schedule;
}

/** The client stopped waiting; the command is untouched unless a kill was asked for (FC-074). */
export class ExecWaitTimeout extends VmchartError {
  readonly execId: string;
  /** `false` when a kill reached the group, or found it gone. */
  readonly stillRunning: boolean;
  /** How the kill went, where one was asked for. */
  readonly kill: KillAnswer | null;

  constructor(execId: string, waitMs: number, phase: string, kill: KillAnswer | null) {
    const verdict = kill === null ? 'it is still running and can be re-polled' : killSentence(kill);
    super(
      { wireKind: 'ExecTimeout' },
      `Exec ${execId} was not done within ${waitMs / 1000} s (phase ${phase}): ${verdict}.`,
      { reason: 'exec-wait-timeout' },
    );
    this.execId = execId;
    this.kill = kill;
    this.stillRunning = kill === null || kill.kind === 'failed';
  }
}

/** What the daemon wrote of an input. */
export interface StdinReceipt {
  readonly writtenBytes: number;
  readonly eof: boolean;
}

/** One command. All its state is in the VM. */
export class ExecHandle {
  readonly execId: string;
  readonly transport: Transport;
  readonly #poll: Schedule;

  constructor(transport: Transport, execId: string, poll: Schedule = adaptiveExecSchedule) {
    this.transport = transport;
    this.execId = execId;
    this.#poll = poll;
  }

  /** The schedule of waits that are given none. */
  get defaultPolling(): Schedule {
    return this.#poll;
  }

  /**
   * The output as typed events, from an offset on, across cuts. Nothing is sent before it is read.
   *
   * It has no deadline: `maxReconnects` bounds how often it attaches again, and `signal` how long it lasts.
   */
  stream(options: StreamOptions = {}): OutputStream {
    return new OutputStream(this.transport, this.execId, options);
  }

  /** Gives each event to a consumer, which is awaited, and tells how the stream ended. */
  async follow(
    consume: (event: ExecEvent) => OutputFlow | Promise<OutputFlow>,
    options: StreamOptions = {},
  ): Promise<StreamEnd> {
    return await this.stream(options).drive(consume);
  }

  /** The output as two Web streams of bytes that share one connection and one cursor. */
  split(options: SplitOptions = {}): SplitOutput {
    return new SplitOutput(this.stream({ ...options, errorOnGap: false }), options.onGap ?? 'error', [
      options.signal,
      this.transport.closed,
    ]);
  }

  /** Reads the state. Changes nothing. */
  async poll(options: CallOptions = {}): Promise<ExecResult> {
    return await this.transport.sendJson(
      { method: 'GET', path: this.path(), signal: options.signal },
      decodeExecResult,
    );
  }

  /**
   * Takes the output for good and starts the clock after which the daemon forgets the command.
   *
   * Acknowledging again answers with `outputReleased` unless `whenAcked` is `'throw'`.
   *
   * @throws VmchartError `Conflict`, reason `still_running`, while there is no result.
   */
  async ack(options: CallOptions & { readonly whenAcked?: 'resolve' | 'throw' } = {}): Promise<ExecResult> {
    try {
      return await this.transport.sendJson(
        { method: 'POST', path: this.path('/ack'), signal: options.signal },
        decodeExecResult,
      );
    } catch (error) {
      const again = VmchartError.is(error) && error.reason === 'already_acked';
      if (again && options.whenAcked !== 'throw') return bareResult(this.execId, 'acked');
      throw error;
    }
  }

  /** Ends the whole process group. Resolves `true` when a group was there to be signalled. It may take ten seconds. */
  async kill(options: CallOptions = {}): Promise<boolean> {
    return await this.transport.sendJson(
      { method: 'POST', path: this.path('/kill'), retry: 'resume', signal: options.signal },
      (body) => required(objectIn(body, 'the body'), 'killed', isBoolean),
    );
  }

  /** Writes to the command's input; `eof` closes it after the bytes. The command must have been started with `stdin`. */
  async writeStdin(
    data: Uint8Array | string,
    options: CallOptions & { readonly eof?: boolean } = {},
  ): Promise<StdinReceipt> {
    const bytes =
      typeof data === 'string' ? Buffer.from(data, 'utf8') : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    return await this.transport.sendJson(
      {
        method: 'POST',
        path: this.path('/stdin'),
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          ...(bytes.length === 0 ? {} : { data_b64: bytes.toString('base64') }),
          ...(options.eof === true ? { signal: 'eof' } : {}),
        }),
        signal: options.signal,
      },
      (body) => {
        const from = objectIn(body, 'the body');
        return { writtenBytes: optional(from, 'written', isNumber, 0), eof: optional(from, 'eof', isBoolean, false) };
      },
    );
  }

  /** Closes the command's input. */
  async closeStdin(options: CallOptions = {}): Promise<StdinReceipt> {
    return await this.writeStdin('', { ...options, eof: true });
  }

  /**
   * Polls until the command has ended. Retryable failures of a poll are waited through.
   *
   * @throws ExecWaitTimeout when the client's wait elapses.
   */
  async wait(options: WaitOptions = {}): Promise<ExecResult> {
    const waitMs = checkedDurationMs('waitMs', options.waitMs ?? defaultExecWaitMs);
    return await this.waitWithin(new Countdown(this.transport, waitMs, 'wall', true), options);
  }

  /**
   * Polls until the command has ended or a countdown has. The first poll is the caller's own and is sent in any case;
   * after it a VM that is suspended is not polled, since that could wake it.
   */
  async waitWithin(countdown: Countdown, options: Omit<WaitOptions, 'waitMs'> = {}): Promise<ExecResult> {
    const schedule = options.poll ?? this.#poll;
    const { clock } = this.transport;
    const startedAt = clock.now();
    let phase = 'unknown';
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result = attempt > 1 && this.transport.pause.paused ? null : await this.poll(options);
        if (result?.done === true) return result;
        phase = result?.phase ?? 'suspended';
      } catch (error) {
        if (!VmchartError.is(error) || !error.retryable) throw error;
      }
      const { leftMs } = countdown;
      if (leftMs <= 0) {
        const kill = options.killOnTimeout === true ? await this.tryKill(options) : null;
        throw new ExecWaitTimeout(this.execId, countdown.limitMs, phase, kill);
      }
      const sleepMs = schedule(attempt, clock.now() - startedAt);
      await this.transport.sleep(this.transport.pause.paused ? sleepMs : Math.min(sleepMs, leftMs), options.signal);
    }
  }

  /** Waits, then takes the output. A command that somebody else acknowledged is answered as it is. */
  async waitAndAck(options: WaitOptions = {}): Promise<ExecResult> {
    const result = await this.wait(options);
    return result.phase === 'acked' ? result : await this.ack(options);
  }

  /** Kills and tells how it went; only an abort makes it throw. */
  async tryKill(options: CallOptions = {}): Promise<KillAnswer> {
    try {
      return { kind: (await this.kill(options)) ? 'signalled' : 'already-gone' };
    } catch (error) {
      options.signal?.throwIfAborted();
      return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
    }
  }

  /** The route of this command. */
  path(suffix = ''): string {
    return `/v1/exec/${encodeURIComponent(this.execId)}${suffix}`;
  }

  toJSON(): { execId: string } {
    return { execId: this.execId };
  }
}

/** One half-sentence on a kill. */
export function killSentence(kill: KillAnswer): string {
  if (kill.kind === 'signalled') return 'its process group was killed';
  if (kill.kind === 'already-gone') return 'its process group was already gone';
  return `it could not be killed (${kill.message})`;
}
