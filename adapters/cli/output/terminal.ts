/** Where a command's words go: data to stdout, everything else to stderr. */
import type { Writable } from 'node:stream';
import type { Paint } from './paint.ts';
import { painter } from './paint.ts';

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
 * outcome, the teardown and the exit code stay what they are.
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
    return this.#stderr.columns ?? 80;
  }

  /** Data, as it is. Resolves when the reader has taken it, so that a slow reader slows the source. */
  async out(chunk: string | Uint8Array): Promise<void> {
    await write(this.#stdout, chunk);
  }

  /** What the command in the VM wrote to its stderr, as it is. */
  async errorOutput(chunk: string | Uint8Array): Promise<void> {
    await write(this.#stderr, chunk);
  }

  /** A line of progress, on stderr; left out when quiet. */
  progress(line: string): void {
    if (!this.quiet) this.note(line);
  }

  /** A line that people have to see, on stderr. */
  note(line: string): void {
    if (!broken(this.#stderr)) this.#stderr.write(`${line}\n`);
  }

  /** Draws without a line end. Only where `live`. */
  draw(text: string): void {
    if (!broken(this.#stderr)) this.#stderr.write(text);
  }
}

function broken(stream: Writable): boolean {
  return stream.destroyed || stream.errored !== null || !stream.writable;
}

async function write(stream: Writable, chunk: string | Uint8Array): Promise<void> {
  if (broken(stream)) return;
  await new Promise<void>((resolve) => {
    // The callback comes with an error, or not at all once the stream is destroyed by one.
    const gone = () => resolve();
    stream.once('close', gone);
    stream.write(chunk, () => {
      stream.off('close', gone);
      resolve();
    });
  });
}
