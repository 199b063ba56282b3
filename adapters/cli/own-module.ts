/** A module of the caller's: loaded, or refused in one sentence that says where in it the fault is. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CliError, usageError } from './cli-error.ts';

/**
 * Loads what a module exports.
 *
 * @throws CliError of kind `InvalidArg` for one that is not there, that Node cannot read, or that throws
 */
export async function importOwn(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>;
  } catch (error) {
    const { code, message, name, stack } = thrownBy(error);
    if (code?.endsWith('MODULE_NOT_FOUND') && message.includes(resolve(path))) {
      throw usageError(`There is no module ${path}.`, ['Check the path.']);
    }
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      throw usageError(`Node cannot load ${path} as it is.`, ['Name the compiled JavaScript file.']);
    }
    const place = name === 'SyntaxError' ? syntaxErrorPlace(path, stack) : null;
    const said = (message.split('\n')[0] ?? '').replace(/\.$/, '');
    throw new CliError('InvalidArg', `${path} cannot be loaded: ${said}${place === null ? '' : ` (${place})`}.`, {
      suggestions: name === 'SyntaxError' && place === null ? [`To see the line of the mistake: node ${path}`] : [],
      cause: error,
    });
  }
}

/** A module may throw whatever it likes, also an error of another realm. */
function thrownBy(thrown: unknown): NodeJS.ErrnoException {
  const like = typeof thrown === 'object' && thrown !== null && 'message' in thrown;
  return like ? (thrown as NodeJS.ErrnoException) : new Error(String(thrown));
}

/** Node keeps the line of a syntax error to itself, unless it prints it. What is checked is not run. */
function syntaxErrorPlace(path: string, stack = ''): string | null {
  return placeIn(stack) ?? placeIn(spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' }).stderr ?? '');
}

/** `line 3` of the first line of what Node prints, with the file where it is another one. */
function placeIn(printed: string): string | null {
  const [, file = '', line] = /^(file:\/\/\S+|\/.*|[A-Za-z]:.*):(\d+)$/m.exec(printed.split('\n')[0] ?? '') ?? [];
  if (line === undefined) return null;
  return `line ${line} of ${file.startsWith('file:') ? fileURLToPath(file) : file}`;
}
