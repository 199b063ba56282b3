// Compiles the sources into dist/, and bundles from them what is published, in dist/bundle/: a file for each entry, so
// that importing one does not open a hundred. Also the package's `prepare` step, so that a fresh `npm ci` leaves a
// working command.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');

/** What is published: the name in dist/bundle/, and the source. */
const entries = {
  index: 'index.ts',
  machines: 'machines/index.ts',
  effects: 'effects/index.ts',
  adapters: 'adapters/index.ts',
  emulator: 'adapters/emulator/index.ts',
  model: 'model/index.ts',
  vmchart: 'adapters/cli/main.ts',
  'check-worker': 'adapters/cli/proof/check-worker.ts',
};

/**
 * Bundles the entries; what two of them share is written once, so that a class is one class whoever imports it.
 * Names and lines stay readable; nothing from node_modules/ is taken in.
 *
 * Opening a file costs more than reading what it holds, so that whatever `vmchart` needs at once lies in few files:
 * the machines, what the command's own start needs too, and the rest.
 */
async function bundle() {
  const { rolldown } = await import('rolldown');
  const dir = join(root, 'dist', 'bundle');
  rmSync(dir, { recursive: true, force: true });

  /** What each module imports at once, by its path. */
  const imports = new Map();
  const needed = (path, found = new Set()) => {
    if (found.has(path)) return found;
    found.add(path);
    for (const next of imports.get(path) ?? []) needed(next, found);
    return found;
  };
  let library;
  let command;
  const modules = await rolldown({
    cwd: root,
    input: entries,
    external: (name) => !/^[./\0]|^@oxc-project\/runtime/.test(name),
    platform: 'node',
    // The oldest Node.js that is supported has no `await using`.
    transform: { target: 'node20.19' },
    plugins: [
      { name: 'imports', moduleParsed: ({ id, importedIds }) => void imports.set(id, importedIds) },
      {
        name: 'library',
        buildEnd() {
          library = needed(join(root, entries.index));
          // The executable loads this only when it listens for signals.
          command = needed(join(root, 'adapters/cli/start.ts'));
        },
      },
    ],
  });
  const inLibrary = (path) => library.has(path);
  await modules.write({
    dir,
    format: 'esm',
    chunkFileNames: '[name]-[hash].js',
    comments: { legal: true, annotation: false, jsdoc: false },
    codeSplitting: {
      groups: [
        { name: 'base', test: (path) => inLibrary(path) && command.has(path), priority: 4 },
        // What listens for signals stands before the rest of the command is opened.
        { name: 'early', test: (path) => path.endsWith('early-signals.ts'), priority: 5 },
        { name: 'command', test: (path) => command.has(path), priority: 3 },
        { name: 'lifecycle', test: (path) => inLibrary(path) && path.startsWith(join(root, 'machines/')), priority: 2 },
        { name: 'library', test: inLibrary, priority: 1 },
      ],
    },
  });
  cpSync(join(root, 'adapters', 'ui', 'assets'), join(dir, 'assets'), { recursive: true });
}

/** Builds dist/ from the sources; returns the compiler's exit status. */
export async function build() {
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
    cpSync(join(root, asset), join(root, 'dist', asset), { recursive: true });
  }
  const unresolved = status === 0 ? importsOfSources(join(root, 'dist')) : [];
  for (const place of unresolved) process.stderr.write(`${place} imports a source: dist/ has none\n`);
  if (unresolved.length > 0) return 1;
  if (status === 0) {
    await bundle();
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
  if (existsSync(tsc) && existsSync(join(root, 'tsconfig.build.json'))) process.exitCode = await build();
}
