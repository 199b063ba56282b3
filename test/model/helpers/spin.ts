/** Runs SPIN, a model checker that is not ours, on an exported model. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What SPIN found. */
export interface SpinVerdict {
  readonly errors: number;
  readonly states: number;
  /** Successors that SPIN computed, the start counted as one. */
  readonly transitions: number;
  readonly output: string;
}

/** Whether SPIN and a C compiler are installed. */
export function hasSpin(): boolean {
  return ['spin', 'gcc'].every((command) => spawnSync(command, [command === 'spin' ? '-V' : '--version']).status === 0);
}

function run(directory: string, command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: directory, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/** Compiles a model's verifier and lets it search for violated assertions. */
export function spin(model: string): SpinVerdict {
  const directory = mkdtempSync(join(tmpdir(), 'vmchart-spin-'));
  try {
    writeFileSync(join(directory, 'model.pml'), model);
    run(directory, 'spin', ['-a', 'model.pml']);
    run(directory, 'gcc', ['-O1', '-w', '-DSAFETY', '-DNOREDUCE', '-DNOCLAIM', '-o', 'pan', 'pan.c']);
    const output = run(directory, './pan', ['-m5000000', '-w22']);
    const number = (pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? Number.NaN);
    return {
      errors: number(/errors: (\d+)/),
      states: number(/(\d+) states, stored/),
      transitions: number(/(\d+) transitions/),
      output,
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
