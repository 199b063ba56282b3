/** What the fs routes share (`agentd-protocol.md` 12): paths, modes, the disk reserve, failures as plain text. */
import { closeSync, createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { PathFailure } from '../guest/rooted-path.ts';
import type { VmFiles } from '../guest/vm-files.ts';
import { drained } from './drained.ts';
import { lent } from './lent.ts';
import type { DaemonSettings } from './options.ts';
import { oneText } from './queries.ts';
import { textProblem } from './replies.ts';

/** What the fs routes work on. */
export interface FsWorld {
  readonly settings: DaemonSettings;
  readonly files: VmFiles;
  /** The daemon's working directory, from which relative paths go. */
  readonly workingDirectory: string;
  /** Free bytes around a path; `null` when they cannot be measured. */
  availableBytes(path: string): number | null;
}

/** How often the disk reserve is looked at while bytes come in. */
export const diskCheckBytes = 8_388_608;

/** Runs a query reader; whatever is wrong with the query is a 400. */
export function queried<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw textProblem(400, (error as Error).message);
  }
}

/** The `path` parameter. Throws 400 when it is missing. */
export function queriedPath(query: URLSearchParams): string {
  const path = queried(() => oneText(query, 'path'));
  if (path === null) throw textProblem(400, 'path is missing');
  return path;
}

/** The octal `mode` parameter, with or without its usual prefixes; `null` when it is absent. */
export function queriedMode(query: URLSearchParams): number | null {
  const text = queried(() => oneText(query, 'mode'));
  if (text === null) return null;
  const digits = text.replace(/^0o/, '');
  const mode = /^[0-7]{1,12}$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
  if (!(mode <= 0o7777)) throw textProblem(400, 'mode is not an octal number up to 7777');
  return mode;
}

/** Throws 507 when a write near `path` would eat into the reserve. What cannot be measured is allowed. */
export function checkDisk(world: FsWorld, path: string): void {
  const { diskReserveBytes } = world.settings;
  if (diskReserveBytes === 0) return;
  const available = world.availableBytes(path);
  if (available === null || available >= diskReserveBytes) return;
  throw textProblem(507, `no room for ${path}: ${available} bytes available, ${diskReserveBytes} bytes reserved`);
}

/** The code of what the system refused, such as `ENOENT`. */
export function failureCode(error: unknown): string | undefined {
  return (error as PathFailure | NodeJS.ErrnoException).code;
}

/**
 * Writes pieces to an open file as fast as both sides can. `seen` hears the size so far, and may throw to stop.
 * The file stays open.
 */
export async function writePieces(
  pieces: AsyncIterable<Uint8Array>,
  fd: number,
  seen: (bytes: number) => void,
): Promise<void> {
  // Pieces that wait behind a write are written together.
  const sink = createWriteStream('', { fd, fs: lent, highWaterMark: 1_048_576 });
  const failed = new Promise<never>((_, reject) => {
    sink.once('error', reject);
  });
  failed.catch(() => undefined);
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      seen(bytes);
      if (!sink.write(piece)) await Promise.race([drained(sink), failed]);
    }
    sink.end();
    await finished(sink);
  } catch (error) {
    // What is being written has to land before anybody closes or removes the file.
    await new Promise<void>((resolve) => {
      sink.once('close', resolve);
      sink.destroy();
    });
    throw error;
  }
}

/** Uses a descriptor and closes it, whatever happens. */
export async function using<T>(fd: number, use: (fd: number) => Promise<T>): Promise<T> {
  try {
    return await use(fd);
  } finally {
    closeSync(fd);
  }
}
