/** What the daemon in a VM refused, in the words of what was typed. The original stays the cause, for VMCHART_DEBUG. */
import { VmchartError } from '../../../effects/errors.ts';
import { CliError } from '../cli-error.ts';
import type { CliErrorKind } from '../exit-codes.ts';

/** What was asked of the daemon. */
export interface Asked {
  /** The name of the VM, or `the VM` where it has none. */
  readonly vm: string;
  readonly execId?: string | undefined;
  readonly user?: string | number | undefined;
  readonly cwd?: string | undefined;
}

/** Gives the refusal of a command its sentence; whatever it does not know is left as it is. */
export function commandRefusal(error: unknown, asked: Asked): unknown {
  if (!VmchartError.is(error)) return error;
  const named = asked.vm === 'the VM' ? 'NAME' : asked.vm;
  switch (error.reason) {
    case 'unknown_exec':
      return refusal('Protocol', `${asked.vm} knows no command with the exec id ${asked.execId ?? ''}.`, error, [
        `vmchart procs ${named} lists those that it knows; one that has ended is forgotten after a while.`,
      ]);
    case 'unknown_user':
      return refusal(
        'Protocol',
        `${capital(asked.vm)} has no user ${JSON.stringify(String(asked.user ?? ''))}.`,
        error,
        ['Use a name that is in /etc/passwd of the VM, a number, or leave out --user.'],
      );
    case 'spawn_failed':
      return spawnRefusal(error, asked);
    default:
      return error;
  }
}

/** The child could not be started: asking again for the same changes nothing. */
function spawnRefusal(error: VmchartError, { cwd }: Asked): CliError {
  const said = detailOf(error);
  const [, what, name] = /^(no such directory|no such program|permission denied): (.*)$/s.exec(said) ?? [];
  if (what === 'no such directory') {
    return refusal('Protocol', `${name} is no folder in the VM.`, error, ['Check --cwd.']);
  }
  if (what === 'no such program') {
    return refusal('Protocol', `There is no program ${name} in the VM.`, error, [
      'Check its spelling and the PATH of the VM; for a shell line, leave out the --.',
    ]);
  }
  if (what === 'permission denied') {
    return refusal('Protocol', `${name} may not be executed in the VM.`, error, ['Check its mode: chmod +x.']);
  }
  const sentence = said === '' ? 'no reason was given' : said;
  return refusal('Protocol', `The command could not be started in the VM: ${sentence}.`, error, [
    cwd === undefined ? 'Check the program.' : 'Check the program, and the folder of --cwd.',
  ]);
}

/** Gives the refusal of a copy its sentence. `path` is in the VM. */
export function fileRefusal(error: unknown, path: string, name: string): unknown {
  if (!VmchartError.is(error) || error.status === null) return error;
  const said = detailOf(error);
  const look = [`Look with vmchart exec --name ${name} 'ls -la ${parentOf(path)}'`];
  if (error.status === 404) return refusal('Protocol', `There is no ${path} in ${name}.`, error, look);
  if (error.status === 413) {
    return refusal('Protocol', `${path} is more than the daemon of ${name} takes or sends at once.`, error, [
      'Copy it in parts, or launch an image with a larger AGENTD_MAX_BODY_BYTES.',
    ]);
  }
  if (error.status === 507) {
    return refusal('Platform', `The disk of ${name} has no room for ${path}.`, error, ['Make room, then copy again.']);
  }
  if (error.status === 400 && /directory/i.test(said)) {
    return refusal('Protocol', `${path} is a folder in ${name}.`, error, [
      'Copy it to a folder, not to a file or a dash.',
    ]);
  }
  if (error.status !== 500) return error;
  if (/ENOTDIR|not a directory/i.test(said)) {
    return refusal('Protocol', `A part of ${path} is no folder in ${name}.`, error, look);
  }
  if (/EACCES|EPERM|permission denied/i.test(said)) {
    return refusal('Protocol', `${path} is not permitted in ${name}.`, error, look);
  }
  if (/not a file/i.test(said)) {
    return refusal('Protocol', `${path} is neither a file nor a folder in ${name}.`, error, look);
  }
  if (/ELOOP/.test(said)) return refusal('Protocol', `${path} is a link that leads to itself in ${name}.`, error, look);
  return error;
}

/** Gives a failure of this machine's disk its sentence. `path` is where a copy was to land; `null` for one that left. */
export function localRefusal(error: unknown, path: string | null): unknown {
  if (VmchartError.is(error) && error.reason === 'unsafe-link') {
    return refusal(error.kind, error.message, error, ['Leave such links out with --skip-links.']);
  }
  const code = codeOf(error) ?? (VmchartError.is(error) ? codeOf(error.cause) : null);
  if (code === null || path === null) return error;
  const folder = path.replace(/(.)\/+$/, '$1') === path ? parentOf(path) : path.replace(/(.)\/+$/, '$1');
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return refusal(
        'Config',
        `${path} cannot be written here: ${code === 'EROFS' ? 'the file system is read-only' : 'permission is denied'}.`,
        error,
        ['Copy to a folder of your own.'],
      );
    case 'ENOENT':
      return refusal('Config', `The folder ${folder} does not exist here.`, error, [`mkdir -p ${folder}`]);
    case 'ENOTDIR':
      return refusal('Config', `A part of ${path} is no folder here.`, error, ['Choose another place.']);
    case 'EISDIR':
      return refusal('Config', `${path} is a folder here.`, error, [`Write ${path}/ to copy into it.`]);
    case 'ENOSPC':
    case 'EDQUOT':
      return refusal('Platform', `${path} cannot be written here: the disk is full.`, error, [
        'Make room, then copy again.',
      ]);
    case 'ENAMETOOLONG':
      return refusal('Config', `${path} is too long a name for this file system.`, error, ['Choose a shorter one.']);
    default:
      return error;
  }
}

function refusal(kind: CliErrorKind, message: string, cause: unknown, suggestions: readonly string[]): CliError {
  return new CliError(kind, message, { suggestions, cause });
}

/** The daemon's own words in the message of an error: a plain text, or `message` beside its slug. */
function detailOf({ message }: VmchartError): string {
  const [, quoted = ''] = /answered \d{3}: (.*)$/s.exec(message) ?? [];
  try {
    const body = JSON.parse(quoted) as Readonly<Record<string, unknown>>;
    const said = body['message'] ?? body['detail'];
    return typeof said === 'string' ? said : '';
  } catch {
    return quoted.startsWith('{') ? '' : quoted;
  }
}

function codeOf(error: unknown): string | null {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : null;
}

/** The folder around a path, on either side. */
function parentOf(path: string): string {
  return (
    path
      .replace(/\/+$/, '')
      .replace(/[^/]*$/, '')
      .replace(/(.)\/$/, '$1') || '.'
  );
}

function capital(text: string): string {
  return text === 'the VM' ? 'The VM' : text;
}
