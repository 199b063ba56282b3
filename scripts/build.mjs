// Compiles the sources into dist/. Also the package's `prepare` step, so that a fresh `npm ci` leaves a working command.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');

/** Builds dist/ from the sources; returns the compiler's exit status. */
export function build() {
  const startedAt = new Date();
  const cache = join(root, 'node_modules', '.cache');
  const buildInfo = join(cache, 'vmchart.tsbuildinfo');
  // An incremental state without its output would make the compiler skip what it believes is there.
  if (!existsSync(join(root, 'dist'))) rmSync(buildInfo, { force: true });
  const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  // Files that the compiler does not carry over: the spec as data and the page's assets.
  for (const asset of ['model/symspec.json', 'adapters/ui/assets']) {
    if (existsSync(join(root, asset))) cpSync(join(root, asset), join(root, 'dist', asset), { recursive: true });
  }
  const unresolved = status === 0 ? importsOfSources(join(root, 'dist')) : [];
  for (const place of unresolved) process.stderr.write(`${place} imports a source: dist/ has none\n`);
  if (unresolved.length > 0) return 1;
  if (status === 0) {
    // A source that changes during the build counts as newer than it.
    const stamp = join(cache, 'vmchart.built');
    mkdirSync(cache, { recursive: true });
    writeFileSync(stamp, '');
    utimesSync(stamp, startedAt, startedAt);
  }
  return status ?? 1;
}

/**
 * Compiled files that still import a `.ts`: the compiler rewrites such an import, but not one that stands in the scope
 * of an `await using`.
 */
function importsOfSources(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => /\b(?:import\(|from )\s*(['"])\.[^'"]+\.ts\1/.test(readFileSync(file, 'utf8')));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Installed as a dependency there are no sources and no compiler: dist/ came with the package.
  if (existsSync(tsc) && existsSync(join(root, 'tsconfig.build.json'))) process.exitCode = build();
}
