/**
 * The form of a command: one verb per file in `commands/`, described as data, so that parsing, help, the
 * documents and the tests all read the same.
 *
 * A command's file imports nothing heavy at its top: what it works with is imported inside `run`.
 * A new command is one file plus one line in `commands/index.ts`.
 */
import type { Argument, Arguments, Values } from './arguments/argument.ts';
import type { Interrupts } from './signals.ts';
import type { Terminal } from './output/terminal.ts';

/** What a command has around it. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** Aborts at Ctrl-C and the like. A command that waits gives `interrupts.signal` to what it waits for. */
  readonly interrupts: Interrupts;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Shows the result now, for a command that goes on serving afterwards (`emulator`). At most once;
   * such a command then returns nothing.
   */
  readonly announce: (outcome: Outcome) => Promise<void>;
}

/** What a command that succeeded ends with. One that fails throws; a `CliError` may carry `data` too. */
export interface Outcome {
  /** `data` of the envelope: plain JSON, no secrets. */
  readonly data: Readonly<Record<string, unknown>>;
  /** What people read on stdout instead, when `--json` is not given. */
  readonly text?: string;
}

/** A word without a flag, taken by its place. */
export interface Positional {
  /** As the values have it, such as `source`. */
  readonly key: string;
  readonly argument: Argument<unknown>;
  readonly required: boolean;
}

/** A command. `O` are its options by camel-case key: `suspendedSec` is `--suspended-sec`. */
export interface Command<O extends Arguments = Arguments> {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** Some sentences, for its own help. */
  readonly description?: string;
  readonly positionals?: readonly Positional[];
  readonly options: O;
  /** Whether words after `--` are taken: they arrive as `values.rest`. */
  readonly takesRest?: boolean;
  /** Lines that can be typed, each with what it does. */
  readonly examples?: readonly (readonly [line: string, meaning: string])[];
  readonly run: (values: CommandValues<O>, context: CommandContext) => Promise<Outcome | void>;
}

/** The values that `run` gets: options by key, positionals by theirs, and the words after `--`. */
export type CommandValues<O extends Arguments> = Values<O> & {
  readonly positional: Readonly<Record<string, string | undefined>>;
  readonly rest: readonly string[];
};

/** A command whose own options do not matter to the reader. */
export type AnyCommand = Omit<Command, 'run' | 'options'> & {
  readonly options: Arguments;
  // A command is only ever run with values that its own arguments made.
  readonly run: (values: never, context: CommandContext) => Promise<Outcome | void>;
};

/** Declares a command with the types of its options worked out. */
export function command<const O extends Arguments>(declared: Command<O>): Command<O> {
  return declared;
}

/** An entry of the list of commands: enough for help, the rest is loaded when it is called for. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<AnyCommand>;
}
