/** What a process pays before it does anything: importing the library, and `vmchart --help`. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median } from './table.ts';
import type { BenchTable } from './table.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Milliseconds that a child process takes from its start to its end. */
function wholeProcess(...words: string[]): number {
  const startedAt = performance.now();
  execFileSync(process.execPath, words, { stdio: 'ignore' });
  return performance.now() - startedAt;
}

/** Milliseconds of an import alone, told by the child itself. */
function importAlone(specifier: string): number {
  return Number(execFileSync(process.execPath, [at('./import-alone.js'), specifier], { encoding: 'utf8' }));
}

function middleOf(sample: () => number): number {
  sample();
  return Math.round(median(Array.from({ length: 11 }, sample)));
}

/** Import times beside the official SDK's, and the help beside a bare Node process. */
export async function measure(): Promise<BenchTable> {
  return {
    title: 'Starting',
    about: 'Median of eleven fresh processes.',
    columns: ['what', 'ms'],
    rows: [
      ["import 'vmchart'", middleOf(() => importAlone(import.meta.resolve('vmchart')))],
      [
        "import '@aws-sdk/client-lambda-microvms'",
        middleOf(() => importAlone(import.meta.resolve('@aws-sdk/client-lambda-microvms'))),
      ],
      ['vmchart --help, whole process', middleOf(() => wholeProcess(at('../bundle/vmchart.js'), '--help'))],
      ['node -e 0, whole process', middleOf(() => wholeProcess('-e', '0'))],
    ],
  };
}
