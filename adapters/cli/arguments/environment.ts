/** Environment variables for the VM. Their values are never shown, whatever goes wrong. */
import { readFileSync } from 'node:fs';
import { usageError } from '../cli-error.ts';
import type { Argument } from './argument.ts';
import { list, unreadable } from './argument.ts';

/** One variable; a `null` value is taken from the environment of this process. */
export interface Variable {
  readonly name: string;
  readonly value: string | null;
}

const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

function readVariable(text: string, label: string): Variable {
  const at = text.indexOf('=');
  const name = at === -1 ? text : text.slice(0, at);
  if (!namePattern.test(name)) {
    throw usageError(`${label} takes NAME=VALUE, or NAME alone to pass on a variable of this shell.`, [
      'A name has letters, digits and underscores, and does not begin with a digit.',
    ]);
  }
  return { name, value: at === -1 ? null : text.slice(at + 1) };
}

/**
 * `--env` and `--vars-file`. Not `--env-file`: Node reads an option of that name even behind the script, and a
 * `NODE_OPTIONS` in the file would then hold for this process.
 */
export const environmentOptions = {
  env: list<Variable>({
    summary: 'Set a variable in the VM; NAME alone takes the value from this shell, so that no process list shows it.',
    placeholder: 'NAME[=VALUE]',
    many: false,
    read: readVariable,
  }),
  varsFile: list<readonly Variable[]>({
    summary: 'Set variables from a file with one NAME=VALUE a line.',
    placeholder: 'FILE',
    many: false,
    read: readFile,
  } satisfies Argument<readonly Variable[]>),
};

function readFile(path: string, label: string): readonly Variable[] {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, label, error);
  }
  return content.split(/\r?\n/).flatMap((line, index) => {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) return [];
    return [readVariable(trimmed, `${label} ${path}, line ${index + 1}`)];
  });
}

/** Puts files and single variables together; a later one wins, and `--env` wins over files. */
export function variablesOf(
  values: { readonly env: readonly Variable[]; readonly varsFile: readonly (readonly Variable[])[] },
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name, value } of [...values.varsFile.flat(), ...values.env]) {
    const given = value ?? environment[name];
    if (given === undefined) {
      throw usageError(`The variable ${name} is to be passed on, but this shell does not have it.`, [
        `Export ${name}, or write --env ${name}=VALUE.`,
      ]);
    }
    found[name] = given;
  }
  return found;
}
