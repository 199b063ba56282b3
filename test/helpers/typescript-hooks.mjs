/** The hooks of `typescript-loader.mjs`. */
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

const loaded = process.env['VMCHART_LOADED'];

export async function load(url, context, next) {
  if (loaded !== undefined) appendFileSync(loaded, `${url}\n`);
  if (!url.endsWith('.ts') || url.includes('/node_modules/')) return await next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    swcrc: false,
    jsc: {
      target: 'es2022',
      experimental: { keepImportAttributes: true },
      parser: { syntax: 'typescript', explicitResourceManagement: true },
    },
    module: { type: 'es6' },
    sourceMaps: 'inline',
  });
  return { format: 'module', source: code, shortCircuit: true };
}
