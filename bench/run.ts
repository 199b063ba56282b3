/**
 * `npm run bench [-- NAME ...] [--write]`: measures side by side, in one run. With `--write` the tables are kept in
 * `docs/bench.md`.
 */
import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform } from 'node:os';
import { toMarkdown } from './table.ts';
import type { BenchTable } from './table.ts';

/** Every measurement, loaded only when it is run. */
const measurements: Readonly<Record<string, () => Promise<{ measure(): Promise<BenchTable> }>>> = {
  'get-microvm': () => import('./get-microvm.ts'),
  lag: () => import('./lag.ts'),
  startup: () => import('./startup.ts'),
  lives: () => import('./lives.ts'),
  actors: () => import('./actors.ts'),
  streams: () => import('./streams.ts'),
  files: () => import('./files.ts'),
  execs: () => import('./execs.ts'),
  model: () => import('./model.ts'),
  page: () => import('./page.ts'),
};

const words = process.argv.slice(2);
const chosen = words.filter((word) => !word.startsWith('--'));
const unknown = chosen.filter((name) => !(name in measurements));
if (unknown.length > 0) {
  console.error(`There is no measurement ${unknown.join(', ')}; there are ${Object.keys(measurements).join(', ')}.`);
  process.exit(2);
}

const tables: string[] = [];
for (const [name, load] of Object.entries(measurements)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  console.error(`measuring ${name} ...`);
  const { measure } = await load();
  const table = toMarkdown(await measure());
  tables.push(table);
  console.log(table);
}

if (words.includes('--write')) {
  const [cpu] = cpus();
  const intro = [
    '# Measurements',
    '',
    `The last run of \`npm run bench -- --write\`, on ${new Date().toISOString().slice(0, 10)}: Node ${process.version}, ` +
      `${platform()} ${arch()}, ${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}), shared with other work. ` +
      'Figures rank what stands in one table; they are not records.',
    '',
  ];
  await writeFile(new URL('../../docs/bench.md', import.meta.url), [...intro, ...tables].join('\n'));
}
