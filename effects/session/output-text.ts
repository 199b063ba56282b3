/** The text of an output: one streaming decoder per side, since characters straddle chunks and sides interleave. */
import type { OutputEvent, OutputSide } from './exec-events.ts';

/** Decodes the output of one command, event by event (FC-082). */
export class OutputText {
  readonly #decoders: Readonly<Record<OutputSide, InstanceType<typeof TextDecoder>>> = {
    stdout: new TextDecoder(),
    stderr: new TextDecoder(),
  };

  /** The text that the event completes; an unfinished character waits for its rest. */
  push(event: OutputEvent): string {
    return this.#decoders[event.stream].decode(event.data, { stream: true });
  }

  /** What is left at the end: a replacement character for each unfinished one. */
  end(): Readonly<Record<OutputSide, string>> {
    return { stdout: this.#decoders.stdout.decode(), stderr: this.#decoders.stderr.decode() };
  }
}

/** How much of each side is kept beside a callback, in bytes: what the daemon itself keeps (`agentd-protocol.md` 6). */
export const capturedBytesPerSide = 8 * 1024 * 1024;

/** Keeps the first bytes of both sides, for the case that the daemon's own record cannot be collected. */
export class OutputCapture {
  readonly #pieces: Readonly<Record<OutputSide, Uint8Array[]>> = { stdout: [], stderr: [] };
  readonly #kept: Record<OutputSide, number> = { stdout: 0, stderr: 0 };
  #truncated = false;

  add({ stream, data }: OutputEvent): void {
    const room = capturedBytesPerSide - this.#kept[stream];
    if (room < data.length) this.#truncated = true;
    if (room <= 0) return;
    const piece = data.subarray(0, room);
    this.#pieces[stream].push(piece);
    this.#kept[stream] += piece.length;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  text(stream: OutputSide): string {
    return Buffer.concat(this.#pieces[stream]).toString('utf8');
  }
}
