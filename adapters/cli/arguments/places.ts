/** The two ends of a copy. */
import { accessSync, constants, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { usageError } from '../cli-error.ts';
import { unreadable } from './argument.ts';

/** A copy into the VM or out of it. `-` as the local end is standard input or output. */
export interface Places {
  readonly direction: 'up' | 'down';
  readonly local: string;
  /** Absolute, in the VM. */
  readonly remote: string;
  /** Whether the source is a folder; `null` when only the VM knows. */
  readonly folder: boolean | null;
}

const prefix = 'vm:';

/**
 * Tells which end is which, and refuses what cannot be read here, before any call.
 *
 * @param json - whether standard output is taken by the envelope
 * @throws CliError of kind `InvalidArg`
 */
export function checkPlaces(source: string, target: string, json: boolean): Places {
  const ends = [source, target].filter((place) => place.startsWith(prefix)).length;
  if (ends !== 1) {
    throw usageError(
      ends === 0 ? 'Neither path is in the VM.' : 'Both paths are in the VM.',
      ends === 0
        ? [`Write the one in the VM as vm:/path, such as vm:/workspace/${basename(target) || 'file'}.`]
        : ['To copy inside the VM: vmchart exec --name NAME cp.'],
    );
  }
  return source.startsWith(prefix) ? down(source, target, json) : up(source, target);
}

function up(source: string, target: string): Places {
  const remote = remotePath(target, 'DEST');
  if (source === '-') {
    if (remote.endsWith('/')) throw usageError('Standard input has no name: DEST has to be a file.');
    return { direction: 'up', local: '-', remote, folder: false };
  }
  const folder = readableKind(source) === 'folder';
  const named = !folder && remote.endsWith('/') ? remote + basename(source) : remote;
  return { direction: 'up', local: source, remote: named, folder };
}

function down(source: string, target: string, json: boolean): Places {
  const remote = remotePath(source, 'SRC');
  const folder = remote.endsWith('/') ? true : null;
  if (target !== '-') return { direction: 'down', local: target, remote, folder };
  if (json) throw usageError('With --json, standard output is taken by the JSON object.', ['Copy to a file.']);
  if (folder === true) throw usageError('A folder does not go to standard output.', ['Copy it to a folder.']);
  return { direction: 'down', local: '-', remote, folder: false };
}

function remotePath(place: string, label: string): string {
  const path = place.slice(prefix.length);
  if (path.startsWith('/') && !path.includes('\0')) return path;
  throw usageError(`${label} ${JSON.stringify(place)} is no absolute path in the VM.`, [
    `Write vm:/${path || 'workspace/file'}.`,
  ]);
}

function readableKind(path: string): 'file' | 'folder' {
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    throw unreadable(path, 'SRC', error);
  }
}

/** Where a file from the VM lands here: under the name given, or in a folder that is there. */
export function landingPlace(local: string, remote: string): string {
  const into = /[/\\]$/.test(local) || isFolder(local);
  return into ? join(local, basename(remote)) : local;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
