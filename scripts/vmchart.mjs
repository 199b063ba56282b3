// Runs the command line from a checkout in this one process (so that signals reach it), compiling first when a source is newer.
import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const main = join(root, 'dist', 'bundle', 'vmchart.js');
const cache = join(root, 'node_modules', '.cache');
const stamp = join(cache, 'vmchart.built');
const lock = join(cache, 'vmchart.building');
/** A build that takes longer has died. */
const longestBuildMs = 300_000;

function newestSource(folder) {
  let newest = 0;
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(path));
    else if (/\.(ts|json|css|js|html)$/.test(entry.name)) newest = Math.max(newest, statSync(join(root, path)).mtimeMs);
  }
  return newest;
}

function stale() {
  if (!existsSync(main) || !existsSync(stamp)) return true;
  const built = statSync(stamp).mtimeMs;
  const newest = Math.max(
    ...['index.ts', 'tsconfig.json', 'tsconfig.build.json'].map((file) => statSync(join(root, file)).mtimeMs),
    ...['machines', 'model', 'effects', 'adapters'].map(newestSource),
  );
  return newest > built;
}

/** Two builds at once would write the same files: the second one waits, and then finds it done. */
function takeLock() {
  mkdirSync(cache, { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    try {
      if (Date.now() - statSync(lock).mtimeMs > longestBuildMs) rmdirSync(lock);
    } catch {
      // Released in this moment.
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
}

if (stale()) {
  takeLock();
  try {
    if (stale()) {
      const { build } = await import('./build.mjs');
      const status = await build();
      if (status !== 0) {
        process.stderr.write('The sources do not compile; nothing was run.\n');
        process.exitCode = status;
      }
    }
  } finally {
    rmdirSync(lock);
  }
}
if (!process.exitCode) await import(main);
