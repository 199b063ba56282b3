/** The name of a kept VM. */
import { usageError } from '../cli-error.ts';
import type { CommandValues } from '../command.ts';
import { text } from './argument.ts';

/** Refuses what is no name: 1 to 128 letters, digits, `_` and `-`, not like the service's own ids. */
export function checkName(name: string, label: string): string {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(name) && !/^(microvm|mvm)-/.test(name)) return name;
  throw usageError(`${label} takes a name of 1 to 128 letters, digits, _ and -; got ${JSON.stringify(name)}.`, [
    'It must not begin with microvm- or mvm-, as the ids of the service do.',
  ]);
}

/** `--name NAME`. */
export const nameOption = text({ summary: 'The VM, by the name it was kept under.', placeholder: 'NAME' }, checkName);

/** NAME as a word. */
export const namePositional = { key: 'name', argument: { ...nameOption, placeholder: 'NAME' }, required: false };

/** The commands whose words are something else than a name. */
const wordsMeanMore = new Set(['exec', 'cp', 'forward']);

/** The name, given as a word or as an option. */
export function givenName(
  values: Pick<CommandValues<Record<never, never>>, 'positional'> & { readonly name: string | undefined },
  command: string,
): string {
  const word = values.positional['name'];
  if (word !== undefined && values.name !== undefined && word !== values.name) {
    throw usageError(`Two names were given: ${word} and ${values.name}.`, ['Give one.']);
  }
  const name = values.name ?? word;
  if (name !== undefined) return name;
  throw usageError(`vmchart ${command} needs the name of a VM.`, [
    `vmchart ${command} ${wordsMeanMore.has(command) ? '--name ' : ''}NAME; vmchart ls shows the names.`,
  ]);
}
