/** The kinds of arguments. Each checks its text on its own and says in one sentence what it takes. */
import { readFileSync } from 'node:fs';
import type { CliError } from '../cli-error.ts';
import { usageError } from '../cli-error.ts';
import { didYouMean } from '../did-you-mean.ts';

/** One argument, described for parsing and for help. */
export interface Argument<T> {
  /** What stands for the value in help, such as `SECONDS`; `null` for a switch. */
  readonly placeholder: string | null;
  readonly summary: string;
  /** How the default reads in help. The command applies it. */
  readonly defaultText?: string;
  /** Which numbers are taken, such as `60 or more`. */
  readonly range?: string;
  /** A one-letter form. */
  readonly short?: string;
  /** Whether it may be given more than once: then the value is a list. */
  readonly many: boolean;
  /** Reads one value. `label` is how the argument is called in a message, such as `--port`. */
  readonly read: (text: string, label: string) => T;
}

/** Arguments by camel-case key. */
export type Arguments = Readonly<Record<string, Argument<unknown>>>;

/** The values of some arguments: `undefined` where one was not given, a list where it may be repeated. */
export type Values<A extends Arguments> = {
  readonly [K in keyof A]: A[K] extends ListArgument<infer T>
    ? readonly T[]
    : A[K] extends SwitchArgument
      ? boolean
      : A[K] extends Argument<infer T>
        ? T | undefined
        : never;
};

/** An argument that may be repeated. */
export type ListArgument<T> = Argument<T> & { readonly many: true };

/** A switch: there or not. */
export type SwitchArgument = Argument<boolean> & { readonly placeholder: null };

/** What is said of an argument in help. */
export interface Told {
  readonly summary: string;
  readonly placeholder?: string;
  readonly defaultText?: string;
  readonly short?: string;
}

function told(from: Told, placeholder: string) {
  return {
    summary: from.summary,
    placeholder: from.placeholder ?? placeholder,
    many: false,
    ...(from.defaultText === undefined ? {} : { defaultText: from.defaultText }),
    ...(from.short === undefined ? {} : { short: from.short }),
  };
}

/** A switch, off unless given. */
export function flag(from: Omit<Told, 'placeholder'>): SwitchArgument {
  return { ...told({ ...from }, ''), placeholder: null, read: () => true };
}

/** A text that is not empty; `check` may refuse it by throwing or change it. */
export function text(from: Told, check: (value: string, label: string) => string = (value) => value): Argument<string> {
  return {
    ...told(from, 'TEXT'),
    read(value, label) {
      if (value.trim() === '') throw usageError(`${label} must not be empty.`);
      return check(value, label);
    },
  };
}

/** A whole number within bounds, both inclusive. */
export function wholeNumber(from: Told, bounds: { readonly min: number; readonly max: number }): Argument<number> {
  return number(from, bounds, Number.isInteger, 'a whole number');
}

/** A number, fractions allowed, within bounds, both inclusive. */
export function decimal(from: Told, bounds: { readonly min: number; readonly max: number }): Argument<number> {
  return number(from, bounds, Number.isFinite, 'a number');
}

function number(
  from: Told,
  { min, max }: { readonly min: number; readonly max: number },
  fits: (value: number) => boolean,
  kind: string,
): Argument<number> {
  const range =
    max === Number.POSITIVE_INFINITY || max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`;
  return {
    ...told(from, 'N'),
    range,
    read(value, label) {
      const read = /^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(value.trim()) ? Number(value) : Number.NaN;
      if (fits(read) && read >= min && read <= max) return read;
      throw usageError(`${label} takes ${kind}, ${range}; got ${JSON.stringify(value)}.`);
    },
  };
}

/** One of some words. */
export function choice<const T extends string>(from: Told, words: readonly T[]): Argument<T> {
  return {
    ...told(from, words.join('|')),
    read(value, label) {
      const found = words.find((word) => word === value);
      if (found !== undefined) return found;
      throw notOneOf(value, label, words);
    },
  };
}

/** The refusal of a word that is none of those known. */
export function notOneOf(value: string, label: string, words: readonly string[]): CliError {
  return usageError(
    `${label} takes one of ${words.join(', ')}; got ${JSON.stringify(value)}.`,
    didYouMean(value, words),
  );
}

/** An argument that may be repeated. */
export function list<T>(one: Argument<T>): ListArgument<T> {
  return { ...one, many: true };
}

/** The content of a file that can be read now. */
export function readableFile(from: Told): Argument<{ readonly path: string; readonly content: string }> {
  return {
    ...told(from, 'FILE'),
    read(path, label) {
      try {
        return { path, content: readFileSync(path, 'utf8') };
      } catch (error) {
        throw unreadable(path, label, error);
      }
    },
  };
}

/** The refusal of a file that cannot be read, with the system's reason in words. */
export function unreadable(path: string, label: string, error: unknown): CliError {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const why: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EACCES: 'reading it is not permitted',
    EISDIR: 'it is a folder',
    ENOTDIR: 'a part of its path is no folder',
  };
  return usageError(`${label}: ${JSON.stringify(path)} cannot be read: ${why[code] ?? (code || 'unknown reason')}.`, [
    'Check the path and its permissions.',
  ]);
}
