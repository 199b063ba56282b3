/** A module of the caller's that describes a check. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ModelError, readModule, type CheckModule } from '../../../model/index.ts';
import { CliError, usageError } from '../cli-error.ts';

const suggestion = 'Give it a default export made with defineCheck from vmchart/model.';

/**
 * Loads the check that a module exports.
 *
 * @throws CliError in one sentence for a module that cannot be loaded or holds no check
 */
export async function loadCheck(path: string): Promise<CheckModule> {
  let exports: Record<string, unknown>;
  try {
    exports = (await import(pathToFileURL(resolve(path)).href)) as Record<string, unknown>;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.endsWith('MODULE_NOT_FOUND') && message.includes(resolve(path)))
      throw usageError(`There is no module ${path}.`);
    if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
      throw usageError(`Node cannot load ${path} as it is.`, ['Name the compiled JavaScript file.']);
    }
    throw new CliError('InvalidArg', `${path} cannot be loaded: ${message.split('\n')[0] ?? ''}`, { cause: error });
  }
  try {
    return readModule(exports, path);
  } catch (error) {
    if (error instanceof ModelError) throw usageError(`${error.message}.`, [suggestion]);
    throw error;
  }
}
