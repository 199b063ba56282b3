/** Where the system's own programs are that isolation needs. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Absolute paths. */
export interface Tools {
  readonly env: string;
  readonly hostname: string;
  readonly mkfifo: string;
  readonly mount: string;
  readonly nsenter: string;
  readonly pivotRoot: string;
  readonly setpriv: string;
  readonly setsid: string;
  readonly sh: string;
  readonly umount: string;
  readonly unshare: string;
}

const fileNames: Readonly<Record<keyof Tools, string>> = {
  env: 'env',
  hostname: 'hostname',
  mkfifo: 'mkfifo',
  mount: 'mount',
  nsenter: 'nsenter',
  pivotRoot: 'pivot_root',
  setpriv: 'setpriv',
  setsid: 'setsid',
  sh: 'sh',
  umount: 'umount',
  unshare: 'unshare',
};

const usualPlaces = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/** Whether `path` is a regular file with an execute bit that we may use. */
function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The first program of that name in the usual places, then on the search path; `null` when there is none. */
export function findTool(name: keyof Tools, searchPath: string = process.env['PATH'] ?? ''): string | null {
  const places = [...usualPlaces, ...searchPath.split(delimiter).filter((place) => place.startsWith('/'))];
  for (const place of places) {
    const path = join(place, fileNames[name]);
    if (isProgram(path)) return path;
  }
  return null;
}

/** Every tool, or the file name of the first that is missing. */
export function findTools(): Tools | { readonly missing: string } {
  const found: Partial<Record<keyof Tools, string>> = {};
  for (const name of Object.keys(fileNames) as (keyof Tools)[]) {
    const path = findTool(name);
    if (path === null) return { missing: fileNames[name] };
    found[name] = path;
  }
  return found as Tools;
}
