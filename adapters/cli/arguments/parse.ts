/** Turns typed words into checked values. */
import type { AnyCommand } from '../command.ts';
import { usageError } from '../cli-error.ts';
import { nearest } from '../did-you-mean.ts';
import type { Argument, Arguments } from './argument.ts';
import { globalOptions } from './global-options.ts';
import { optionName } from './option-name.ts';

/** What a command is given. */
export type ParsedValues = Readonly<Record<string, unknown>> & {
  readonly positional: Readonly<Record<string, string | undefined>>;
  readonly rest: readonly string[];
};

/**
 * Reads the words after the command's name.
 *
 * @throws CliError of kind `InvalidArg`: an unknown option, a missing or bad value, a word too many or too few
 */
export async function parseArguments(command: AnyCommand, words: readonly string[]): Promise<ParsedValues> {
  refuseSwitchValues(command, words);
  const { Parser } = await import('yargs/helpers');
  const options: Arguments = { ...command.options, ...globalOptions };
  const entries = Object.entries(options);
  const named = (keep: (argument: Argument<unknown>) => boolean) =>
    entries.filter(([, argument]) => keep(argument)).map(([key]) => optionName(key));
  const parsed = Parser(withWholeSwitches(words, options), {
    boolean: named((argument) => argument.placeholder === null),
    string: [...named((argument) => argument.placeholder !== null), '_'],
    // Every option is read as a list, so that a repetition is seen and not silently merged.
    array: named((argument) => argument.placeholder !== null),
    alias: Object.fromEntries(
      entries.flatMap(([key, { short }]) => (short === undefined ? [] : [[optionName(key), [short]]])),
    ),
    configuration: {
      'boolean-negation': false,
      'camel-case-expansion': false,
      'dot-notation': false,
      'duplicate-arguments-array': true,
      'greedy-arrays': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
      'populate--': true,
      'strip-aliased': true,
    },
  });
  const given = new Map(Object.entries(parsed));
  const rest = (given.get('--') as string[] | undefined) ?? [];
  const placed = (given.get('_') as string[]).map(String);
  given.delete('--');
  given.delete('_');
  for (const [key, argument] of entries) refuseWithoutValue(key, argument, given);
  refuseSpreadLine(command, words, placed);
  refuseUnknown(command, given, entries);
  return {
    ...Object.fromEntries(entries.map(([key, argument]) => [key, readOption(key, argument, given)])),
    ...placeWords(command, placed, rest),
  };
}

function refuseUnknown(
  command: AnyCommand,
  given: ReadonlyMap<string, unknown>,
  entries: readonly (readonly [string, Argument<unknown>])[],
): void {
  const known = entries.map(([key]) => optionName(key));
  for (const name of given.keys()) {
    if (known.includes(name)) continue;
    const dashes = name.length === 1 ? '-' : '--';
    const guess = nearest(name, known);
    throw usageError(`vmchart ${command.name} has no option ${dashes}${name}.`, [
      ...(guess === null ? [] : [`Did you mean --${guess}?`]),
      `See vmchart ${command.name} --help.`,
    ]);
  }
}

/** Before unknown options are told: in `--name -x` the mistake is that --name has no value. */
function refuseWithoutValue(key: string, argument: Argument<unknown>, given: ReadonlyMap<string, unknown>): void {
  const value = given.get(optionName(key));
  if (argument.placeholder === null || !Array.isArray(value) || value.length > 0) return;
  const label = `--${optionName(key)}`;
  throw usageError(`${label} needs a value (${argument.placeholder}).`, [
    `To give one that begins with a dash, write ${label}=VALUE.`,
  ]);
}

/** The parser takes a `true` behind a switch for its value, and so would lose the command of `exec --detach true`. */
function withWholeSwitches(words: readonly string[], options: Arguments): string[] {
  const whole = new Map<string, string>();
  for (const [key, { placeholder, short }] of Object.entries(options)) {
    if (placeholder !== null) continue;
    for (const typed of [`--${optionName(key)}`, ...(short === undefined ? [] : [`-${short}`])]) {
      whole.set(typed, `--${optionName(key)}=true`);
    }
  }
  const end = words.indexOf('--');
  return words.map((word, index) => (end !== -1 && index > end ? word : (whole.get(word) ?? word)));
}

/** A switch takes `=true` and `=false`; with any other word nobody knows what is meant. */
function refuseSwitchValues(command: AnyCommand, words: readonly string[]): void {
  const end = words.indexOf('--');
  const switches = Object.entries({ ...command.options, ...globalOptions })
    .filter(([, { placeholder }]) => placeholder === null)
    .map(([key]) => optionName(key));
  for (const word of end === -1 ? words : words.slice(0, end)) {
    const [, name = '', value = ''] = /^--([a-z-]+)=(.*)$/s.exec(word) ?? [];
    if (!switches.includes(name) || value === 'true' || value === 'false') continue;
    throw usageError(`--${name} is a switch and takes true or false at most; got ${JSON.stringify(value)}.`, [
      `Write --${name}, or leave it out.`,
    ]);
  }
}

function readOption(key: string, argument: Argument<unknown>, given: ReadonlyMap<string, unknown>): unknown {
  const label = `--${optionName(key)}`;
  const value = given.get(optionName(key));
  if (argument.placeholder === null) return value === true || (Array.isArray(value) && value.at(-1) === true);
  const texts = ((value ?? []) as unknown[]).map(String);
  if (argument.many) return texts.map((text) => argument.read(text, label));
  if (texts.length > 1) throw usageError(`${label} was given ${texts.length} times; give it once.`);
  return texts[0] === undefined ? undefined : argument.read(texts[0], label);
}

/**
 * Refuses a command for the VM whose words stand about without quotes, before its options are taken for options that
 * nobody knows: `vmchart run uname -a`.
 */
function refuseSpreadLine(command: AnyCommand, words: readonly string[], placed: readonly string[]): void {
  const places = command.positionals?.length ?? 0;
  const first = placed[0];
  if (!takesLine(command) || first === undefined) return;
  const known = optionWords(command);
  const line = words.slice(words.indexOf(first));
  const end = line.findIndex((word) => word === '--' || known.has(word.replace(/=.*/s, '')));
  const spread = end === -1 ? line : line.slice(0, end);
  if (placed.length <= places && !spread.some((word) => word.startsWith('-'))) return;
  throw usageError(`vmchart ${command.name} ${lineHint(command, spread)}.`, [`See vmchart ${command.name} --help.`]);
}

function takesLine({ options, takesRest }: AnyCommand): boolean {
  return options['exec'] !== undefined || takesRest === true;
}

/** Where a command's line goes: in a word of its own, or behind `--exec`. */
function lineHint({ options }: AnyCommand, words: readonly string[]): string {
  const line = words.join(' ');
  const quoted = line.includes("'") ? JSON.stringify(line) : `'${line}'`;
  return options['exec'] === undefined
    ? `takes a shell line as one word: ${quoted}`
    : `takes a shell line by --exec ${quoted}`;
}

/** The options of a command as they are typed. */
function optionWords(command: AnyCommand): ReadonlySet<string> {
  const options = Object.entries({ ...command.options, ...globalOptions });
  return new Set(
    options.flatMap(([key, { short }]) => [`--${optionName(key)}`, ...(short === undefined ? [] : [`-${short}`])]),
  );
}

function placeWords(command: AnyCommand, placed: readonly string[], rest: readonly string[]) {
  const declared = command.positionals ?? [];
  const surplus = placed[declared.length];
  if (surplus !== undefined) {
    throw usageError(`vmchart ${command.name} does not take the word ${JSON.stringify(surplus)}.`, [
      declared.length === 0 ? 'It takes options only.' : 'Quote a value that has spaces in it.',
      `See vmchart ${command.name} --help.`,
    ]);
  }
  if (rest.length > 0 && command.takesRest !== true) {
    const instead = takesLine(command) ? lineHint(command, rest) : 'takes no words after --';
    throw usageError(`vmchart ${command.name} ${instead}.`, [`See vmchart ${command.name} --help.`]);
  }
  const positional: Record<string, string | undefined> = {};
  for (const [index, { key, argument, required }] of declared.entries()) {
    const word = placed[index];
    const label = argument.placeholder ?? key;
    if (word === undefined && required) {
      throw usageError(`vmchart ${command.name} needs ${label}.`, [`See vmchart ${command.name} --help.`]);
    }
    if (word !== undefined) argument.read(word, label);
    positional[key] = word;
  }
  return { positional, rest };
}
