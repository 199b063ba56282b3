/** What to type when a command has no place in the state that a kept VM is in. */
import { VmchartError } from '../../../effects/errors.ts';
import type { RequirementId } from '../../../machines/index.ts';
import { CliError } from '../cli-error.ts';

const advice: Partial<Record<RequirementId, (name: string) => string>> = {
  'STATE-5': (name) => `Only a running VM can be suspended; if it sleeps, vmchart resume ${name} wakes it.`,
  'STATE-7': (name) => `Only a suspended VM can be resumed; if it runs, use it: vmchart exec --name ${name} 'uname -a'`,
  'STATE-11': (name) => `It has ended for good: vmchart terminate ${name} gives the name up.`,
  'STATE-12': (name) =>
    `Give the name up with vmchart terminate ${name}, and launch the next one with a longer --suspended-sec.`,
};

/** Adds the advice to a refusal; anything else is left as it is. */
export function withAdvice(error: unknown, name: string): unknown {
  if (!VmchartError.is(error) || error.requirement === null) return error;
  const sentence = advice[error.requirement]?.(name);
  if (sentence === undefined) return error;
  return new CliError(error.kind, error.message, { suggestions: [...error.suggestions, sentence], cause: error });
}
