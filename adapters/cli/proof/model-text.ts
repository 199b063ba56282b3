/** The model in the languages of other checkers. */
import { composedSystem, parseComposition, symspec, toPromela, toSmtLib } from '../../../model/index.ts';
import { usageError } from '../cli-error.ts';

/** The formats that hold the model instead of a picture. */
export type ModelFormat = 'promela' | 'smt2';

/**
 * The composed system of level 2 for SPIN, or the proof of level 4 for an SMT solver.
 *
 * @throws CliError of kind `InvalidArg` when a machine is named: the model is one, whatever is drawn of it
 */
export function modelText(format: ModelFormat, machine: string | undefined): string {
  if (machine !== undefined && machine !== 'sandbox') {
    throw usageError(`--format ${format} writes the whole model; ${machine} is not part of it by itself.`);
  }
  return format === 'promela' ? toPromela(parseComposition(composedSystem())) : toSmtLib(symspec);
}
