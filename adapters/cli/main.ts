#!/usr/bin/env node
/** The executable: joins the program to the process. */
import { Terminal } from './output/terminal.ts';
import { outputWanted, runProgram } from './program.ts';
import { ProcessInterrupts } from './signals.ts';

/** How long the process may take to end by itself once all is done, in milliseconds. */
const lingerMs = 1_000;

const words = process.argv.slice(2);
const interrupts = new ProcessInterrupts();
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
process.exitCode = await runProgram(words, { terminal, interrupts, environment: process.env });
interrupts.close();
// A pooled connection must not keep the process; the timer itself does not either.
setTimeout(() => process.exit(), lingerMs).unref();
