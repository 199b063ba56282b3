// Runs the command line from a checkout in this one process (so that signals reach it), compiling first when a source is newer.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const main = join(root, 'dist', 'adapters', 'cli', 'main.js');
const stamp = join(root, 'node_modules', '.cache', 'vmchart.tsbuildinfo');

function newestSource(folder) {
  let newest = 0;
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(path));
    else if (/\.(ts|json)$/.test(entry.name)) newest = Math.max(newest, statSync(join(root, path)).mtimeMs);
  }
  return newest;
}

function stale() {
  if (!existsSync(main) || !existsSync(stamp)) return true;
  const built = statSync(stamp).mtimeMs;
  const newest = Math.max(
    statSync(join(root, 'index.ts')).mtimeMs,
    ...['machines', 'model', 'effects', 'adapters'].map(newestSource),
  );
  return newest > built;
}

if (stale()) {
  const { build } = await import('./build.mjs');
  const status = build();
  if (status !== 0) process.exit(status);
}
await import(main);
