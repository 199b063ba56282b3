// The test command: Jest in native ESM mode, then one plain line with the counts.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const scratch = mkdtempSync(join(tmpdir(), 'vmchart-test-'));
const results = join(scratch, 'results.json');
try {
  const { status } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
      '--json',
      `--outputFile=${results}`,
      ...process.argv.slice(2),
    ],
    { cwd: root, stdio: ['inherit', 'ignore', 'inherit'] },
  );
  let summary = '0 passed, 1 failed';
  try {
    const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(readFileSync(results, 'utf8'));
    // A suite that cannot even load has no failed test of its own, yet it did fail.
    summary = `${numPassedTests} passed, ${Math.max(numFailedTests, numFailedTestSuites)} failed`;
  } catch {
    process.stderr.write('Jest ended without results.\n');
  }
  console.log(summary);
  process.exitCode = status ?? 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
