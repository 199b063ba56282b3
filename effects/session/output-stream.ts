/** Follows the output of one command across cuts, by the machine in `machines/output-stream.ts`. */
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import { outputStreamMachine } from '../../machines/output-stream.ts';
import type { HttpStream } from '../ports.ts';
import { VmchartError, fromRecord, toVmchartError } from '../errors.ts';
import { checkCap } from './caps.ts';
import { checkedDurationMs, linkSignals } from './deadline.ts';
import type { EventFrame } from './event-stream.ts';
import { EventStreamParser } from './event-stream.ts';
import type { ExecEvent } from './exec-events.ts';
import { decodeExecEvent } from './exec-events.ts';
import type { Transport } from './transport.ts';

/** How a stream is followed. */
export interface StreamOptions {
  /** The first byte wanted. Default 0. */
  readonly offset?: number;
  /** Attach again after a cut. Default `true`. */
  readonly reconnect?: boolean;
  /**
   * How many re-attaches a stream may need over its whole life. Default 20; `Infinity` for no limit.
   *
   * It bounds attempts, not time. A refusal that may pass, such as a 500, and an answer that ends without an exit are
   * attempts; between them lie 250 ms, 500 ms, 1 s, 2 s and then 4 s each, together 68 s for 20. Each may also wait
   * for the session's `timeoutMs` until the answer begins, and for `idleTimeoutMs` when it falls silent. A daemon that
   * sends keep-alives and no exit is followed for ever: only a `signal` ends that.
   */
  readonly maxReconnects?: number;
  /** Ends with `OutputGap` when bytes are gone for good, instead of telling of it. Default `false`. */
  readonly errorOnGap?: boolean;
  /** Silence that counts as a cut, in milliseconds; the daemon's keep-alives feed it. Default 60 s. */
  readonly idleTimeoutMs?: number;
  /** What an unfinished event may hold, in bytes. Default 4 MiB. */
  readonly frameLimitBytes?: number;
  /** Ends the stream at any moment, with the signal's reason. `AbortSignal.timeout()` bounds its whole time. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How a stream ended when no error ended it.
 *
 * - `Exited`: the command ended and said so
 * - `Stopped`: whoever read it had enough
 * - `Cut`: the body ended without an exit, and `reconnect` was off: the outcome is unknown, not a success
 */
export interface StreamEnd {
  readonly reason: 'Exited' | 'Stopped' | 'Cut';
  /** What a resume passes as `offset`. */
  readonly cursor: number;
}

/** What a consumer answers: `'stop'` to hear no more, anything else to go on. */
export type OutputFlow = 'stop' | 'continue' | void;

/** How long a stream may be silent by default, in milliseconds. */
export const defaultIdleTimeoutMs = 60_000;

/**
 * One reader of one command's output: an async iterable of events, each once and in order.
 *
 * It is read at the consumer's pace. Leaving the iteration closes the connection and leaves the command alone.
 */
export class OutputStream implements AsyncIterable<ExecEvent> {
  readonly #transport: Transport;
  readonly #execId: string;
  readonly #options: StreamOptions;
  readonly #idleTimeoutMs: number;
  readonly #actor: Actor<typeof outputStreamMachine>;
  /** The last error that made it attach again. */
  #lastFailure: VmchartError | null = null;
  #started = false;

  constructor(transport: Transport, execId: string, options: StreamOptions = {}) {
    const { offset = 0 } = options;
    if (!Number.isSafeInteger(offset) || offset < 0) {
      throw new VmchartError('InvalidArg', `An offset is a whole number, zero or more; got ${offset}.`);
    }
    checkCap('maxReconnects', options.maxReconnects);
    checkCap('frameLimitBytes', options.frameLimitBytes);
    this.#transport = transport;
    this.#execId = execId;
    this.#options = options;
    this.#idleTimeoutMs = checkedDurationMs('idleTimeoutMs', options.idleTimeoutMs ?? defaultIdleTimeoutMs);
    this.#actor = createActor(outputStreamMachine, {
      input: {
        execId,
        offset,
        policy: {
          reconnect: options.reconnect ?? true,
          maxReconnects: options.maxReconnects ?? 20,
          errorOnGap: options.errorOnGap ?? false,
        },
      },
    }).start();
  }

  /** The first byte that was not delivered: what a resume passes as `offset`. */
  get cursor(): number {
    return this.#actor.getSnapshot().context.cursor;
  }

  /** How it ended, or `null` while it has not, and when an error ended it. */
  get end(): StreamEnd | null {
    const { value } = this.#actor.getSnapshot();
    if (typeof value === 'string' || value.Done === 'Failed') return null;
    return { reason: value.Done, cursor: this.cursor };
  }

  /** Reads every event through a consumer that may be slow: each is awaited. */
  async drive(consume: (event: ExecEvent) => OutputFlow | Promise<OutputFlow>): Promise<StreamEnd> {
    for await (const event of this) {
      if ((await consume(event)) === 'stop') break;
    }
    return this.end ?? { reason: 'Stopped', cursor: this.cursor };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExecEvent, void, undefined> {
    if (this.#started) throw new VmchartError('Precondition', 'An output stream can be read only once.');
    this.#started = true;
    const link = linkSignals(this.#options.signal, this.#transport.closed);
    try {
      while (this.#actor.getSnapshot().matches('Reconnect')) {
        const stream = await this.#attach(link.signal);
        if (stream !== null) yield* this.#follow(stream, link.signal);
      }
      const { error } = this.#actor.getSnapshot().context;
      if (error !== null) throw this.#thrown(error);
    } finally {
      link.release();
      if (!this.#actor.getSnapshot().matches('Done')) this.#actor.send({ type: 'STOP', at: this.#at });
      this.#actor.stop();
    }
  }

  get #at(): number {
    return this.#transport.clock.now();
  }

  /** Sleeps what the machine says, then attaches at its cursor with headers of its own. */
  async #attach(signal: AbortSignal): Promise<HttpStream | null> {
    const { attempts, backoffMs, cursor } = this.#actor.getSnapshot().context;
    if (attempts > 0) {
      await this.#transport.sleep(backoffMs, signal);
      // Attaching again is nobody's wish but the stream's own, and must not wake a VM that was suspended.
      await this.#transport.untilAwake(signal);
    }
    try {
      const stream = await this.#transport.openStream(
        {
          method: 'GET',
          path: `/v1/exec/${encodeURIComponent(this.#execId)}/stream?offset=${cursor}`,
          headers: { accept: 'text/event-stream' },
          signal,
        },
        this.#idleTimeoutMs,
      );
      this.#actor.send({ type: 'ATTACHED', at: this.#at });
      return stream;
    } catch (error) {
      await this.#failed(error, signal);
      return null;
    }
  }

  async *#follow(stream: HttpStream, signal: AbortSignal): AsyncGenerator<ExecEvent, void, undefined> {
    const parser = new EventStreamParser(
      this.#options.frameLimitBytes === undefined ? {} : { limitBytes: this.#options.frameLimitBytes },
    );
    // The cursor grows here between two events of the machine, which learns of it before it decides anything.
    let cursor = this.cursor;
    const report = () => {
      if (cursor > this.cursor) this.#actor.send({ type: 'OUTPUT', to: cursor, at: this.#at });
    };
    try {
      for await (const chunk of stream.body) {
        const frames: EventFrame[] = [];
        const broken = attempt(() => parser.push(chunk, frames));
        for (const frame of frames) {
          const event = decodeExecEvent(frame);
          if (event === null) continue;
          if (event.type === 'output') {
            const fresh = withoutDelivered(event, cursor);
            if (fresh === null) continue;
            cursor = Math.max(cursor, fresh.offset + fresh.data.length);
            yield fresh;
            continue;
          }
          report();
          if (event.type === 'exit') {
            this.#actor.send({ type: 'EXIT', at: this.#at });
            yield event;
            return;
          }
          cursor = Math.max(cursor, event.to);
          this.#actor.send({ type: 'GAP', from: event.from, to: event.to, at: this.#at });
          if (this.#actor.getSnapshot().matches('Done')) return;
          yield event;
        }
        if (broken !== null) throw broken;
      }
      report();
      this.#actor.send({ type: 'CUT', at: this.#at });
    } catch (error) {
      report();
      await this.#failed(error, signal);
    } finally {
      report();
      stream.close();
    }
  }

  async #failed(error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let failure = toVmchartError(error);
    // A silent stream is either a lost connection or a VM that is gone; the control plane knows which (FC-076).
    if (failure.reason === 'idle') failure = (await this.#transport.goneError(signal)) ?? failure;
    this.#lastFailure = failure;
    this.#actor.send({ type: 'FAILED', error: failure.toRecord(), at: this.#at });
  }

  /** The error itself where the machine kept its record; else the machine's, caused by the last failure. */
  #thrown(record: ReturnType<VmchartError['toRecord']>): VmchartError {
    const last = this.#lastFailure;
    if (last !== null && last.message === record.message && last.kind === record.kind) return last;
    const made = fromRecord(record);
    if (last !== null) made.cause = last;
    return made;
  }
}

/** Drops the part of an output that was delivered before, should anything on the way repeat it. */
function withoutDelivered(event: ExecEvent & { type: 'output' }, cursor: number): typeof event | null {
  if (event.offset >= cursor) return event;
  const known = cursor - event.offset;
  if (known >= event.data.length) return null;
  return { ...event, offset: cursor, data: event.data.subarray(known) };
}

function attempt(work: () => void): unknown {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
}
