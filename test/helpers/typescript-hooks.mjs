/** The hooks of `typescript-loader.mjs`. What was compiled is kept by path, time and size, so that only changes cost. */
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const loaded = process.env['VMCHART_LOADED'];
const cache = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'node_modules', '.cache', 'vmchart-stripped');

const options = {
  swcrc: false,
  jsc: {
    target: 'es2022',
    experimental: { keepImportAttributes: true },
    parser: { syntax: 'typescript', explicitResourceManagement: true },
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
};

export async function load(url, context, next) {
  if (loaded !== undefined) appendFileSync(loaded, `${url}\n`);
  if (!url.endsWith('.ts') || url.includes('/node_modules/')) return await next(url, context);
  return { format: 'module', source: await stripped(fileURLToPath(url)), shortCircuit: true };
}

async function stripped(filename) {
  const { mtimeMs, size } = await stat(filename);
  const kept = join(cache, createHash('sha256').update(`1:${filename}:${mtimeMs}:${size}`).digest('hex'));
  try {
    return await readFile(kept, 'utf8');
  } catch {
    const { transform } = await import('@swc/core');
    const { code } = await transform(await readFile(filename, 'utf8'), { filename, ...options });
    // Whole or not at all: another process may be looking for it in this moment.
    const beside = `${kept}.${randomUUID()}`;
    await mkdir(cache, { recursive: true });
    await writeFile(beside, code);
    await rename(beside, kept);
    return code;
  }
}
