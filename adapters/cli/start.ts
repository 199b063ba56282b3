/** Joins the program to the process. */
import type { SignalSource } from './early-signals.ts';
import { Terminal } from './output/terminal.ts';
import { outputWanted, runProgram } from './program.ts';
import { ProcessInterrupts } from './signals.ts';

/** How long a reader may take to accept the last words, in milliseconds. */
const lastWordsMs = 1_000;

/** Runs the command line of this process, and ends the process. */
export async function start(signals: SignalSource): Promise<never> {
  const words = process.argv.slice(2);
  const interrupts = new ProcessInterrupts(signals);
  const terminal = new Terminal({
    stdout: process.stdout,
    stderr: process.stderr,
    ...outputWanted(words),
    environment: process.env,
  });
  // Nothing should get here. If it does, what was launched is still torn down, and no stack trace is shown.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      interrupts.stop(error instanceof Error ? error : new Error(String(error)));
    });
  }
  const exitCode = await runProgram(words, { terminal, interrupts, environment: process.env });
  await terminal.flush(lastWordsMs);
  // Not left to end by itself: a pooled connection would keep it, and a signal that comes late, as when a supervisor
  // sends another for each line it reads, must not turn a good end into death by that signal. So the listeners stay.
  process.exit(exitCode);
}
