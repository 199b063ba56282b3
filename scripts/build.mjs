// Compiles the sources into dist/. Also the package's `prepare` step, so that a fresh `npm ci` leaves a working command.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
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
  if (status === 0) {
    // A source that changes during the build counts as newer than it.
    const stamp = join(cache, 'vmchart.built');
    mkdirSync(cache, { recursive: true });
    writeFileSync(stamp, '');
    utimesSync(stamp, startedAt, startedAt);
  }
  return status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Installed as a dependency there are no sources and no compiler: dist/ came with the package.
  if (existsSync(tsc) && existsSync(join(root, 'tsconfig.build.json'))) process.exitCode = build();
}
