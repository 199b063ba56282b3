/** A recording: one line that says what it is, then one entry a line. */
import { createWriteStream, openSync } from 'node:fs';
import { VmchartError } from '../../effects/errors.ts';
import { entriesOfCounterexample, findCounterexample } from './counterexample.ts';
import type { Tell, TraceEntry } from './entry.ts';

/** The first line of a recording. */
interface Head {
  readonly type: 'vmchart.trace';
  readonly version: 1;
  readonly title: string;
  readonly recordedAt: number;
}

/** A recording that is being written. */
export interface Recording {
  readonly tell: Tell;
  /** Resolves when all is on disk. */
  close(): Promise<void>;
}

/**
 * Begins a recording. What a command printed is left out, but for its size: it may be a secret.
 *
 * @throws VmchartError of kind `Precondition` (`recording`) at once when the file cannot be opened, and from `close`
 *   when it could not be written to its end
 */
export function recordTo(path: string, title: string, wallNow: () => number = Date.now): Recording {
  const stream = createWriteStream(path, { fd: opened(path) });
  let failure: Error | null = null;
  stream.on('error', (error) => (failure ??= error));
  const write = (line: unknown) => void stream.write(`${JSON.stringify(line)}\n`);
  write({ type: 'vmchart.trace', version: 1, title, recordedAt: wallNow() } satisfies Head);
  return {
    tell: (entry) => write(entry.kind === 'output' ? { ...entry, text: null } : entry),
    async close() {
      // A stream that failed has closed itself, and tells it once only.
      if (!stream.closed) {
        await new Promise<void>((resolve) => {
          stream.once('close', resolve);
          stream.end();
        });
      }
      if (failure !== null) throw unwritable(path, failure);
    },
  };
}

/** Opened before anything is recorded, so that a life which cannot be recorded need not begin. */
function opened(path: string): number {
  try {
    return openSync(path, 'w', 0o600);
  } catch (error) {
    throw unwritable(path, error as NodeJS.ErrnoException);
  }
}

function unwritable(path: string, cause: NodeJS.ErrnoException): VmchartError {
  const why = cause.code ?? cause.message;
  return new VmchartError('Precondition', `the recording ${path} cannot be written (${why})`, {
    reason: 'recording',
    cause,
  });
}

/** A recording that was read. */
export interface Replay {
  readonly title: string;
  readonly entries: readonly TraceEntry[];
}

const kinds: readonly TraceEntry['kind'][] = [
  'life',
  'state',
  'event',
  'answer',
  'settled',
  'call',
  'output',
  'finding',
];

/**
 * Reads a recording, or the counterexample in a report of the model checker.
 *
 * @throws VmchartError of kind `InvalidArg` (`bad-recording`) that says in one sentence what is wrong, and where
 */
export function readReplay(text: string, name: string): Replay {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw refused(`${name} is empty`);
  const head = parsed(lines[0] ?? '');
  if (isHead(head)) return { title: head.title, entries: readEntries(lines.slice(1), name) };
  const whole = parsed(text);
  const counterexample = whole === undefined ? null : findCounterexample(whole);
  if (counterexample !== null) {
    return { title: counterexample.property, entries: entriesOfCounterexample(counterexample) };
  }
  if (typeof head === 'object' && head !== null && (head as Head).type === 'vmchart.trace') {
    throw refused(`${name} was recorded by another version of vmchart (${String((head as Head).version)})`);
  }
  throw refused(
    whole === undefined
      ? `${name} is neither a recording nor a report of vmchart check: its first line is no recording's, and it is no JSON`
      : `${name} is JSON, but there is no counterexample in it`,
  );
}

function readEntries(lines: readonly string[], name: string): TraceEntry[] {
  return lines.flatMap((line, index) => {
    const entry = parsed(line);
    if (isEntry(entry)) return [entry];
    // The last line of a recording whose writer died may be cut off.
    if (entry === undefined && index === lines.length - 1) return [];
    throw refused(`line ${index + 2} of ${name} is no entry of a recording`);
  });
}

function isHead(value: unknown): value is Head {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as Head).type === 'vmchart.trace' &&
    (value as Head).version === 1
  );
}

/** Whether a value has the form of an entry. */
export function isEntry(value: unknown): value is TraceEntry {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, at, life, state = '' } = value as Partial<TraceEntry> & { readonly state?: unknown };
  const known = kind !== undefined && kinds.includes(kind);
  return known && typeof at === 'number' && typeof life === 'string' && typeof state === 'string';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function refused(sentence: string): VmchartError {
  return new VmchartError('InvalidArg', `${sentence}.`, {
    reason: 'bad-recording',
    suggestions: ['Record a life with vmchart run --record FILE, or save a failing proof with vmchart check --json.'],
  });
}
