/** Feeding a command's input from a run, while its output is followed. */
import { VmchartError } from '../errors.ts';
import { linkSignals, orAborted } from './deadline.ts';
import type { ExecHandle } from './exec-handle.ts';

/** What is written to a command's input: text, bytes, or bytes as they come. */
export type CommandInput = string | Uint8Array | AsyncIterable<Uint8Array>;

/** One write stays well below the daemon's limit of 1 MiB, and is about what a pipe holds. */
const writeBytes = 64 * 1024;

/** An input that is being written. */
export interface Feeding {
  /** One line when not all of it was taken. Ends the writing: the command is over. */
  notes(): Promise<readonly string[]>;
  stop(): void;
}

/**
 * Writes an input to its end and closes it, in the background.
 *
 * A command that stops reading is nothing unusual. A write that was not drained in time is not repeated, since
 * nobody knows how much of it arrived; the result then says so.
 */
export function feedInput(handle: ExecHandle, input: CommandInput, signal: AbortSignal | undefined): Feeding {
  const link = linkSignals(signal);
  let note: string | null = null;
  const work = write(handle, input, link.signal)
    .catch((error: unknown) => {
      const closed = VmchartError.is(error) && error.wireKind === 'StdinClosed';
      if (closed || link.signal.aborted) return;
      note = `Not all of the input was taken: ${error instanceof Error ? error.message : String(error)}`;
    })
    .finally(() => link.release());
  const stop = () => link.abort(new VmchartError('Interrupted', 'The command is over.', { reason: 'over' }));
  return {
    stop,
    async notes() {
      stop();
      await work;
      return note === null ? [] : [note];
    },
  };
}

async function write(handle: ExecHandle, input: CommandInput, signal: AbortSignal): Promise<void> {
  const pieces = piecesOf(input);
  try {
    for (;;) {
      // The source may never give another piece, and the command may be over: neither waits for the other.
      const next = await orAborted(pieces.next(), signal);
      if (next.done === true) break;
      for (let from = 0; from < next.value.length; from += writeBytes) {
        await handle.writeStdin(next.value.subarray(from, from + writeBytes), { signal });
      }
    }
  } finally {
    pieces.return?.(undefined)?.catch(() => undefined);
  }
  await handle.closeStdin({ signal });
}

function piecesOf(input: CommandInput): AsyncIterator<Uint8Array> {
  return typeof input === 'string' || input instanceof Uint8Array
    ? onePiece(typeof input === 'string' ? Buffer.from(input, 'utf8') : input)
    : input[Symbol.asyncIterator]();
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
