/** Finding out before a launch what the system would refuse, since a wrapper could only tell by an exit code. */
import { constants } from 'node:fs';
import { posix } from 'node:path';
import type { VmFiles } from './vm-files.ts';
import { LaunchFailure } from './vm-processes.ts';
import type { LaunchRequest } from './vm-processes.ts';

/** Where the C library looks for programs when the environment has no `PATH`. */
const defaultSearchPath = '/bin:/usr/bin';
const anyExecute = constants.S_IXUSR | constants.S_IXGRP | constants.S_IXOTH;

/** Whether a path of the VM is a regular file that somebody may execute; `null` when there is no such file. */
export function isExecutable(files: VmFiles, path: string): boolean | null {
  const stats = files.stat(path);
  return stats === null ? null : stats.isFile() && (stats.mode & anyExecute) !== 0;
}

/** Throws {@link LaunchFailure} for a program, directory or user that is not there. */
export function checkLaunch(files: VmFiles, request: LaunchRequest, ownUsers: boolean): void {
  const { argv, cwd, env, uid, gid } = request;
  const [program = ''] = argv;
  if ([...argv, cwd, ...Object.entries(env).flat()].some((text) => text.includes('\0'))) {
    throw new LaunchFailure('nul byte found in provided data');
  }
  if (ownUsers && ((uid ?? 0) !== 0 || (gid ?? 0) !== 0)) {
    throw new LaunchFailure('this VM has one user only, root: its emulator runs as an ordinary user');
  }
  if (files.stat(cwd)?.isDirectory() !== true) throw new LaunchFailure(`no such directory: ${cwd}`);
  const candidates = program.includes('/')
    ? [posix.resolve(cwd, program)]
    : (env['PATH'] ?? defaultSearchPath).split(':').map((place) => posix.resolve(cwd, place, program));
  const found = candidates.map((path) => isExecutable(files, path));
  if (program !== '' && found.includes(true)) return;
  throw new LaunchFailure(found.includes(false) ? `permission denied: ${program}` : `no such program: ${program}`);
}
