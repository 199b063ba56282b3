/** Runs the command line in this process, with outputs that are kept, or as a process of its own. */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcessWithoutNullStreams, StdioOptions } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Terminal } from '../../adapters/cli/output/terminal.ts';
import { outputWanted, runProgram } from '../../adapters/cli/program.ts';
import { ProcessInterrupts } from '../../adapters/cli/signals.ts';
import type { Interrupts } from '../../adapters/cli/signals.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** An output that keeps what it is given. */
export class Kept extends Writable {
  readonly chunks: Buffer[] = [];
  isTTY = false;
  heard: (text: string) => void = () => undefined;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(chunk);
    this.heard(this.text);
    done();
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }
}

/** Signals that a test sends by hand. */
export class HandSignals extends ProcessInterrupts {
  readonly #hand: EventEmitter;

  constructor(hand = new EventEmitter()) {
    let lookedAtMs = 0;
    // An hour between two looks: a second signal is never the first one again.
    super(hand, () => (lookedAtMs += 3_600_000));
    this.#hand = hand;
  }

  /** The first tells to stop, a second one to hurry. */
  interrupt(): void {
    this.#hand.emit('SIGINT', 'SIGINT');
  }
}

/** What a command came to. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The envelope of a run with `--json`: the whole of stdout. */
export interface Envelope {
  readonly type: string;
  readonly ok: boolean;
  readonly data?: Record<string, unknown>;
  readonly error?: {
    readonly code: string;
    readonly kind: string;
    readonly message: string;
    readonly exitCode: number;
    readonly suggestions: readonly string[];
  };
}

/** Runs a command line in this process. */
export async function cli(
  words: readonly string[],
  options: {
    readonly environment?: Record<string, string>;
    readonly interrupts?: Interrupts;
    readonly tty?: boolean;
    /** Hears all of stdout so far whenever it grows. */
    readonly heard?: (stdout: string) => void;
  } = {},
): Promise<Ran> {
  const [stdout, stderr] = [new Kept(), new Kept()];
  stdout.isTTY = stderr.isTTY = options.tty === true;
  if (options.heard !== undefined) stdout.heard = options.heard;
  const environment = { HOME: '/nonexistent', ...options.environment };
  const terminal = new Terminal({ stdout, stderr, ...outputWanted(words), environment });
  const interrupts = options.interrupts ?? new HandSignals();
  const code = await runProgram(words, { terminal, interrupts, environment });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Reads the one object of stdout; anything beside it fails. */
export function envelopeOf({ stdout }: { readonly stdout: string }): Envelope {
  const lines = stdout.trimEnd().split('\n');
  if (lines.length !== 1) throw new Error(`stdout has ${lines.length} lines: ${stdout}`);
  return JSON.parse(lines[0] ?? '') as Envelope;
}

/** Runs with `--json` and gives the exit code and the envelope. */
export async function json(
  words: readonly string[],
  options: Parameters<typeof cli>[1] = {},
): Promise<Envelope & { readonly exitCode: number }> {
  const ran = await cli(['--json', ...words], options);
  return { ...envelopeOf(ran), exitCode: ran.code };
}

/** The command line as a process, from the sources. */
export interface CliProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Resolves once either output matches; rejects when the process ends first. */
  seen(pattern: RegExp): Promise<void>;
  readonly stdout: string;
  readonly stderr: string;
}

const loader = join(root, 'test', 'helpers', 'typescript-loader.mjs');
const main = join(root, 'adapters', 'cli', 'main.ts');

/** Runs it to its end with outputs of the test's choosing. */
export function runCli(words: readonly string[], stdio: StdioOptions) {
  return spawnSync(process.execPath, ['--import', loader, main, ...words], {
    env: { PATH: process.env['PATH'], HOME: tmpdir() },
    stdio,
    encoding: 'utf8',
  });
}

/** Starts it. The sources are compiled as they are loaded, so nothing can be stale. */
export function startCli(words: readonly string[], environment: Record<string, string> = {}): CliProcess {
  const child = spawn(process.execPath, ['--import', loader, main, ...words], {
    env: { PATH: process.env['PATH'], HOME: tmpdir(), ...environment },
    stdio: 'pipe',
  });
  const out = { stdout: '', stderr: '' };
  let look: () => void = () => undefined;
  child.stdout.on('data', (chunk) => ((out.stdout += String(chunk)), look()));
  child.stderr.on('data', (chunk) => ((out.stderr += String(chunk)), look()));
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  return {
    child,
    ended,
    get stdout() {
      return out.stdout;
    },
    get stderr() {
      return out.stderr;
    },
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          if (pattern.test(out.stdout + out.stderr)) resolve();
        };
        look();
        void ended.then(() => reject(new Error(`ended before ${String(pattern)}: ${out.stdout}${out.stderr}`)));
      }),
  };
}

/** Runs work with a state directory of its own. */
export async function withHome<T>(work: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'vmchart-home-'));
  try {
    return await work(home);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
