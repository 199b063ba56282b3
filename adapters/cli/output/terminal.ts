/** Where a command's words go: data to stdout, everything else to stderr. */
import type { Writable } from 'node:stream';
import type { Paint } from './paint.ts';
import { painter } from './paint.ts';
import { plainLine, plainText, unmarked } from './plain-text.ts';

/** A stream that may be a terminal. */
export type Sink = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** What a terminal is made of. */
export interface TerminalOptions {
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly json: boolean;
  /** No progress. */
  readonly quiet?: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * The two outputs of the process.
 *
 * A reader that goes away (`vmchart run | head -1`) changes nothing but that the rest is not written: the
 * outcome, the teardown and the exit code stay what they are. Data that a full disk swallowed is lost output, and
 * that is told: see {@link Terminal.lost}.
 */
export class Terminal {
  readonly json: boolean;
  readonly quiet: boolean;
  /** Colours for stderr. */
  readonly paint: Paint;
  /** Colours for stdout. */
  readonly paintOut: Paint;
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  #lost: LostOutput | null = null;

  constructor(options: TerminalOptions) {
    this.json = options.json;
    this.quiet = options.quiet === true;
    this.#stdout = options.stdout;
    this.#stderr = options.stderr;
    this.paint = painter(options.stderr, options.environment);
    this.paintOut = painter(options.stdout, options.environment);
    // Without a listener a broken pipe would end the process in the middle of its teardown.
    for (const stream of [this.#stdout, this.#stderr]) stream.on('error', () => undefined);
  }

  /** Whether a person is looking at stderr, so that a line may be redrawn. */
  get live(): boolean {
    return this.#stderr.isTTY === true && !this.json && !this.quiet;
  }

  /** The width to draw for. */
  get columns(): number {
    // A terminal that does not know its width says 0.
    return this.#stderr.columns || 80;
  }

  /** Data, as it is. Resolves when the reader has taken it, so that a slow reader slows the source. */
  async out(chunk: string | Uint8Array): Promise<void> {
    await this.#write('standard output', this.#stdout, typeof chunk === 'string' ? unmarked(chunk) : chunk);
  }

  /** A result for people, with its line end: nothing in it acts on the terminal but our own colours. */
  async say(text: string): Promise<void> {
    await this.out(`${plainText(text)}\n`);
  }

  /** What the command in the VM wrote to its stderr, as it is. */
  async errorOutput(chunk: string | Uint8Array): Promise<void> {
    await this.#write('standard error', this.#stderr, chunk);
  }

  /** What became of data that could not be written, or `null`. A reader that went away is not meant. */
  get lost(): LostOutput | null {
    return this.#lost;
  }

  /** Resolves when both streams have taken what they were given, or after some time when a reader is stuck. */
  async flush(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([Promise.all([write(this.#stdout, ''), write(this.#stderr, '')]), late]);
    clearTimeout(timer);
  }

  /** A line of progress, on stderr; left out when quiet. */
  progress(line: string): void {
    if (!this.quiet) this.note(line);
  }

  /** Lines that people have to see, on stderr: nothing in them breaks a line, or acts on the terminal. */
  note(lines: string | readonly string[]): void {
    if (broken(this.#stderr)) return;
    const each = typeof lines === 'string' ? [lines] : lines;
    this.#stderr.write(each.map((line) => `${unmarked(plainLine(line))}\n`).join(''));
  }

  async #write(stream: LostOutput['stream'], sink: Sink, chunk: string | Uint8Array): Promise<void> {
    const error = await write(sink, chunk);
    const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
    if (error !== null && !goneCodes.has(code)) this.#lost ??= { stream, code };
  }

  /** Wipes the line that is drawn, and draws another without a line end. Only where `live`. */
  draw(line = ''): void {
    if (!broken(this.#stderr)) this.#stderr.write(`\r\u001B[2K${unmarked(plainLine(line))}`);
  }
}

/** Data that was not written. */
export interface LostOutput {
  readonly stream: 'standard output' | 'standard error';
  /** The system's code, such as `ENOSPC`. */
  readonly code: string;
}

/** The codes of a reader that went away. */
const goneCodes = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_PREMATURE_CLOSE']);

function broken(stream: Writable): boolean {
  return stream.destroyed || stream.errored !== null || !stream.writable;
}

/** @returns why it was not written, or `null` */
async function write(stream: Writable, chunk: string | Uint8Array): Promise<Error | null> {
  if (broken(stream)) return stream.errored;
  return await new Promise((resolve) => {
    // The callback comes with an error, or not at all once the stream is destroyed by one.
    const gone = () => resolve(stream.errored);
    stream.once('close', gone);
    stream.write(chunk, (error) => {
      stream.off('close', gone);
      resolve(error ?? null);
    });
  });
}
