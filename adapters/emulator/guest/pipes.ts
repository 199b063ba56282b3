/**
 * Real pipes for the standard streams of a program.
 *
 * Node connects children by socket pairs, and a program that opens `/dev/stdout` or `/dev/stderr` fails on those.
 * So the pipes are FIFOs, opened at both ends and unlinked at once; a stock of them is made ahead, many in one call.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, fstatSync, mkdirSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openReader } from './pipe-reader.ts';
import type { PipeReader } from './pipe-reader.ts';

const run = promisify(execFile);
const batchSize = 48;
const refillBelow = 16;

/** A pipe whose read end the emulator holds. */
export interface OutputPipe {
  readonly reader: PipeReader;
  /** Closes the end that the child was given. Call it once the child has it. */
  readonly writeFd: number;
}

/** Hands out FIFOs. */
export interface PipeStock {
  /** The path of a FIFO that nobody has open, to be moved or unlinked by the taker. */
  take(): Promise<string>;
  /** A pipe from a child to the emulator. */
  output(): Promise<OutputPipe>;
}

/** The emulator's end of a pipe to a child. */
export interface PipeWriter {
  /** Writes as much as fits now and says how much; 0 when the pipe is full. Throws when nobody reads any more. */
  writeSome(data: Uint8Array): number;
  /** Whether {@link PipeWriter.close} was called. */
  readonly closed: boolean;
  /** The child sees the end of its input. Safe to call more than once. */
  close(): void;
}

/** A pipe to a child, opened for writing before the child opens it for reading. */
export interface InputPipe {
  readonly path: string;
  readonly writer: PipeWriter;
  /** Call it once the child holds the read end: from then on its closing is felt, and the name is gone. */
  handedOver(): void;
}

function pipeWriter(fd: number): PipeWriter {
  let closed = false;
  return {
    writeSome(data) {
      try {
        return writeSync(fd, data);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
        throw error;
      }
    },
    get closed() {
      return closed;
    },
    close() {
      if (!closed) closeSync(fd);
      closed = true;
    },
  };
}

/** Opens the write end of a pipe whose read end another process holds under that descriptor. Throws when it is none. */
export function openWriterOf(pid: number, descriptor: number): PipeWriter {
  // The kernel opens the very pipe again, the other way round.
  const fd = openSync(`/proc/${pid}/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  if (fstatSync(fd).isFIFO()) return pipeWriter(fd);
  closeSync(fd);
  throw new Error('not a pipe');
}

/** Opens the FIFO `path` for writing. A reader that opens it from now on does not wait. */
export function openInput(path: string): InputPipe {
  // Open both ways, the FIFO has a reader until the child comes.
  const holdFd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  return {
    path,
    writer: pipeWriter(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)),
    handedOver() {
      closeSync(holdFd);
      unlinkSync(path);
    },
  };
}

/** A stock of FIFOs under `directory`, which is made when it is first needed. */
export function createPipeStock(directory: string, mkfifo: string): PipeStock {
  const ready: string[] = [];
  let made = 0;
  let refilling: Promise<void> | null = null;

  const refill = async (): Promise<void> => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const paths = Array.from({ length: batchSize }, () => join(directory, String((made += 1))));
    await run(mkfifo, ['-m', '600', '--', ...paths], { env: {} });
    ready.push(...paths);
  };
  const refillOnce = (): Promise<void> => {
    refilling ??= refill().finally(() => {
      refilling = null;
    });
    return refilling;
  };
  const take = async (): Promise<string> => {
    for (;;) {
      const path = ready.pop();
      if (path !== undefined) {
        // A failed refill shows itself to the one who finds the stock empty.
        if (ready.length < refillBelow) refillOnce().catch(() => undefined);
        return path;
      }
      await refillOnce();
    }
  };

  return {
    take,
    async output() {
      const path = await take();
      const reader = openReader(path);
      try {
        return { reader, writeFd: openSync(path, constants.O_WRONLY) };
      } finally {
        unlinkSync(path);
      }
    },
  };
}
