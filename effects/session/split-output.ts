/** One output stream as two Web streams of bytes (`client-behaviour.md` 4.12). */
import { VmchartError } from '../errors.ts';
import { linkSignals } from './deadline.ts';
import type { ExecEvent, GapEvent, OutputSide } from './exec-events.ts';
import type { OutputStream, StreamEnd, StreamOptions } from './output-stream.ts';

/** What a gap does: end both sides, or only be logged. */
export type GapPolicy = 'error' | 'event';

/** How an output is split. */
export interface SplitOptions extends Omit<StreamOptions, 'errorOnGap'> {
  /** Default `error`. */
  readonly onGap?: GapPolicy;
}

/** A gap, under the side of the output that came next; `null` when nothing did. */
export interface LoggedGap {
  readonly stream: OutputSide | null;
  readonly from: number;
  readonly to: number;
}

/**
 * Both sides of one output. Order is kept per side.
 *
 * Each side holds one chunk: a side that nobody reads stalls the other after it, and cancelling either ends both.
 * An error reaches both sides at once, behind no unread chunk of the other one.
 */
export class SplitOutput {
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** How the stream ended. Rejects with the error that both sides got; leaving it alone is fine. */
  readonly done: Promise<StreamEnd>;
  readonly #gaps: LoggedGap[] = [];

  constructor(source: OutputStream, onGap: GapPolicy, signals: readonly (AbortSignal | undefined)[] = []) {
    if (onGap !== 'error' && onGap !== 'event') {
      throw new VmchartError('InvalidArg', `A gap policy is 'error' or 'event'; got '${String(onGap)}'.`);
    }
    const cancelled = new AbortController();
    const sides = { stdout: new Side(cancelled), stderr: new Side(cancelled) };
    this.stdout = sides.stdout.readable;
    this.stderr = sides.stderr.readable;
    const aborted = linkSignals(...signals);
    const abort = () => {
      sides.stdout.fail(aborted.signal.reason);
      sides.stderr.fail(aborted.signal.reason);
      cancelled.abort();
    };
    if (aborted.signal.aborted) abort();
    aborted.signal.addEventListener('abort', abort, { once: true });
    this.done = this.#drive(source, onGap, sides, cancelled.signal, aborted.signal).finally(() => aborted.release());
    this.done.catch(() => undefined);
  }

  /** The gaps so far. Empty under the policy `error`. */
  get gaps(): readonly LoggedGap[] {
    return this.#gaps;
  }

  async #drive(
    source: OutputStream,
    onGap: GapPolicy,
    sides: Readonly<Record<OutputSide, Side>>,
    cancelled: AbortSignal,
    aborted: AbortSignal,
  ): Promise<StreamEnd> {
    let held: GapEvent | null = null;
    const log = (stream: OutputSide | null) => {
      if (held !== null) this.#gaps.push({ stream, from: held.from, to: held.to });
      held = null;
    };
    const consume = async (event: ExecEvent) => {
      if (event.type === 'gap') {
        if (onGap === 'error') throw gapError(event);
        log(null);
        held = event;
      } else if (event.type === 'output') {
        log(event.stream);
        await sides[event.stream].write(event.data);
      }
      aborted.throwIfAborted();
      return cancelled.aborted ? 'stop' : 'continue';
    };
    try {
      // Nothing is asked of the daemon before somebody reads.
      await Promise.race([sides.stdout.wanted, sides.stderr.wanted]);
      aborted.throwIfAborted();
      const end = cancelled.aborted
        ? ({ reason: 'Stopped', cursor: source.cursor } as const)
        : await source.drive(consume);
      log(null);
      if (end.reason === 'Cut') throw cutError(end.cursor);
      sides.stdout.close();
      sides.stderr.close();
      return end;
    } catch (error) {
      sides.stdout.fail(error);
      sides.stderr.fail(error);
      throw error;
    }
  }
}

/** One side: a Web stream that holds a single chunk. */
class Side {
  readonly readable: ReadableStream<Uint8Array>;
  /** Settles once somebody reads or cancels. */
  readonly wanted: Promise<void>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #room: (() => void) | null = null;
  #failure: { readonly error: unknown } | null = null;
  #ended = false;

  constructor(cancelled: AbortController) {
    let want: () => void = () => undefined;
    this.wanted = new Promise((resolve) => {
      want = resolve;
    });
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          want();
          this.#makeRoom();
        },
        cancel: () => {
          this.#ended = true;
          cancelled.abort();
          want();
          this.#makeRoom();
        },
      },
      new CountQueuingStrategy({ highWaterMark: 1 }),
    );
    cancelled.signal.addEventListener(
      'abort',
      () => {
        want();
        this.#makeRoom();
      },
      { once: true },
    );
  }

  /** Waits for room, then hands the chunk over. */
  async write(chunk: Uint8Array): Promise<void> {
    if (!this.#ended && (this.#controller.desiredSize ?? 0) <= 0) {
      await new Promise<void>((resolve) => {
        this.#room = resolve;
      });
    }
    if (!this.#ended && (this.#controller.desiredSize ?? 0) > 0) this.#controller.enqueue(chunk);
  }

  close(): void {
    if (!this.#ended) this.#controller.close();
    this.#ended = true;
  }

  /** Fails the side: at once when nothing is unread, else right behind the unread chunk. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    if ((this.#controller.desiredSize ?? 0) > 0) this.#controller.error(error);
    else this.#failure = { error };
  }

  #makeRoom(): void {
    if (this.#failure !== null) {
      this.#controller.error(this.#failure.error);
      this.#failure = null;
    }
    this.#room?.();
    this.#room = null;
  }
}

function gapError(gap: GapEvent): VmchartError {
  return new VmchartError(
    { wireKind: 'OutputGap' },
    `The output bytes [${gap.from}, ${gap.to}) are gone; offset ${gap.to} is the next that can be read.`,
    { reason: 'output-gap' },
  );
}

function cutError(cursor: number): VmchartError {
  return new VmchartError('Retryable', `The output was cut at offset ${cursor}, and no exit had come.`, {
    reason: 'stream-cut',
  });
}
