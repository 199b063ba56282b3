/** A module of the caller's that describes a check. */
import { ModelError, readModule, type CheckModule } from '../../../model/index.ts';
import { usageError } from '../cli-error.ts';
import { importOwn } from '../own-module.ts';

const suggestion = 'Give it a default export made with defineCheck from vmchart/model.';

/**
 * Loads the check that a module exports.
 *
 * @throws CliError in one sentence for a module that cannot be loaded or holds no check
 */
export async function loadCheck(path: string): Promise<CheckModule> {
  const exports = await importOwn(path);
  try {
    return readModule(exports, path);
  } catch (error) {
    if (error instanceof ModelError) throw usageError(`${error.message}.`, [suggestion]);
    throw error;
  }
}
