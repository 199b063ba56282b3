/** The page's own files, read once. */
import { readFile, readdir } from 'node:fs/promises';

/** One file as it is served. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
};

/** Reads `assets/`: scripts, style sheets and the page, by the path under which each is asked for. */
export async function readAssets(): Promise<Map<string, Asset>> {
  const folder = new URL('assets/', import.meta.url);
  const assets = new Map<string, Asset>();
  for (const name of await readdir(folder)) {
    const type = types[name.split('.').at(-1) ?? ''];
    if (type === undefined || name.endsWith('.d.ts')) continue;
    const asset = { type, body: await readFile(new URL(name, folder)) };
    assets.set(`/${name}`, asset);
    if (name === 'index.html') assets.set('/', asset);
  }
  return assets;
}
