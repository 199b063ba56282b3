/** From the typed words to the exit code. */
import { globalOptions } from './arguments/global-options.ts';
import { optionName } from './arguments/option-name.ts';
import { parseArguments } from './arguments/parse.ts';
import { CliError, toCliError, usageError } from './cli-error.ts';
import type { AnyCommand, CommandContext, CommandEntry, Outcome } from './command.ts';
import { commands as allCommands } from './commands/index.ts';
import { didYouMean } from './did-you-mean.ts';
import { commandHelp, programHelp } from './help.ts';
import { failureEnvelope, successEnvelope } from './output/envelope.ts';
import { failureText } from './output/failure-text.ts';
import type { Terminal } from './output/terminal.ts';
import { packageVersion } from './package-version.ts';
import type { Interrupts } from './signals.ts';

/** What a run of the program has around it. */
export interface ProgramHost {
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly commands?: readonly CommandEntry[];
}

/** What the words say of the output; known before anything else, so that a usage error is JSON too. */
export function outputWanted(words: readonly string[]): { readonly json: boolean; readonly quiet: boolean } {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  return {
    json: own.some((word) => word === '--json' || word === '--json=true'),
    quiet: own.some((word) => word === '--quiet' || word === '-q'),
  };
}

/** Runs one command line and returns the exit code. Never throws. */
export async function runProgram(words: readonly string[], host: ProgramHost): Promise<number> {
  const { terminal } = host;
  // Named in the envelope: the command, once it is known.
  let type = 'vmchart';
  let announced = false;
  const show = async (outcome: Outcome) => {
    announced = true;
    if (terminal.json) await terminal.out(`${JSON.stringify(successEnvelope(type, outcome))}\n`);
    else if (outcome.text !== undefined) await terminal.say(outcome.text);
  };
  try {
    const call = resolveCall(words, host.commands ?? allCommands);
    type = call.type;
    const outcome = await carryOut(call, host, async (early) => {
      if (announced) throw new TypeError('a result can be announced once');
      await show(early);
    });
    if (outcome !== undefined && !announced) await show(outcome);
    const lost = lostOutput(terminal);
    if (lost === null) return 0;
    announced = true;
    throw lost;
  } catch (thrown) {
    const error = toCliError(thrown);
    if (terminal.json && !announced) await terminal.out(`${JSON.stringify(failureEnvelope(type, error))}\n`);
    else terminal.note(failureText(error, terminal.paint, { stack: Boolean(host.environment['VMCHART_DEBUG']) }));
    return error.exitCode;
  }
}

/** A success whose output did not arrive is none. */
function lostOutput({ lost }: Terminal): CliError | null {
  if (lost === null) return null;
  const why = lost.code === 'ENOSPC' ? 'the disk is full' : lost.code || 'unknown reason';
  return new CliError('Platform', `Output was lost: ${lost.stream} could not be written (${why}).`, {
    suggestions: ['The command itself was carried out; look before you repeat it.'],
  });
}

/** What was asked for. */
interface Call {
  readonly type: string;
  readonly entry: CommandEntry | null;
  readonly words: readonly string[];
  readonly show: 'help' | 'version' | null;
}

/** Finds the command among the words. Only the global options may stand before it. */
function resolveCall(words: readonly string[], commands: readonly CommandEntry[]): Call {
  const at = words.findIndex((word) => !word.startsWith('-'));
  const before = at === -1 ? words : words.slice(0, at);
  const after = at === -1 ? [] : words.slice(at + 1);
  refuseEarlyOptions(before);
  const end = after.indexOf('--');
  const options = [...before, ...(end === -1 ? after : after.slice(0, end))];
  const show = options.some((word) => word === '--help' || word === '-h')
    ? 'help'
    : options.some((word) => word === '--version' || word === '-V')
      ? 'version'
      : null;
  const named = words[at];
  if (named === undefined || named === 'version') {
    if (show === null && named === undefined) {
      throw usageError('No command was given.', ['Try vmchart demo, or vmchart --help for the list.']);
    }
    return { type: show ?? 'version', entry: null, words: [], show: show ?? 'version' };
  }
  if (named === 'help') {
    const about = after.find((word) => !word.startsWith('-'));
    const entry = about === undefined ? null : commandNamed(about, commands);
    return { type: 'help', entry, words: [], show: 'help' };
  }
  const entry = commandNamed(named, commands);
  return { type: show ?? entry.name, entry, words: [...before, ...after], show };
}

function commandNamed(name: string, commands: readonly CommandEntry[]): CommandEntry {
  const entry = commands.find((candidate) => candidate.name === name);
  if (entry !== undefined) return entry;
  throw usageError(`vmchart has no command ${JSON.stringify(name)}.`, [
    ...didYouMean(
      name,
      commands.map((candidate) => candidate.name),
    ),
    'See vmchart --help for the list.',
  ]);
}

function refuseEarlyOptions(words: readonly string[]): void {
  const known = Object.entries(globalOptions).flatMap(([key, { short }]) => [
    `--${optionName(key)}`,
    ...(short === undefined ? [] : [`-${short}`]),
  ]);
  for (const word of words) {
    if (known.includes(word)) continue;
    throw usageError(`vmchart itself has no option ${word.replace(/=.*/s, '')}.`, [
      ...didYouMean(word, known),
      'Options of a command stand after it: vmchart COMMAND --option.',
    ]);
  }
}

async function carryOut(
  call: Call,
  host: ProgramHost,
  announce: CommandContext['announce'],
): Promise<Outcome | undefined> {
  if (call.show === 'version') {
    const version = packageVersion();
    return { data: { version }, text: version };
  }
  const command: AnyCommand | null = (await call.entry?.load()) ?? null;
  const { terminal, interrupts, environment } = host;
  if (command === null || call.show === 'help') {
    const paint = terminal.paintOut;
    const text = command === null ? programHelp(host.commands ?? allCommands, paint) : commandHelp(command, paint);
    return { data: { command: command?.name ?? null, text }, text };
  }
  const values = await parseArguments(command, call.words);
  try {
    // A signal that came while the program was loaded: nothing has begun.
    interrupts.signal.throwIfAborted();
    const running = command.run(values as never, { terminal, interrupts, environment, announce });
    const outcome = await untilHurried(running, interrupts);
    return outcome ?? undefined;
  } catch (error) {
    throw interrupted(error, interrupts);
  }
}

/**
 * How long a command may take to end after a second signal, in milliseconds. All that such a command waits for ends at
 * once; this is for what nobody thought of.
 */
const hurryMs = 1_500;

/** Fails when a command has been told twice to stop and still goes on: a signal can always end the process. */
async function untilHurried<T>(running: Promise<T>, { hurry }: Interrupts): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let told: () => void = () => undefined;
  const stuck = new Promise<never>((_resolve, reject) => {
    const giveUp = () => {
      const { message } = hurry.reason as Error;
      reject(
        new CliError('Interrupted', `${message} It did not end in ${hurryMs / 1_000} s and was left in the middle.`, {
          suggestions: ['What was launched may still be there: look with ListMicrovms, or in the console.'],
        }),
      );
    };
    told = () => {
      timer = setTimeout(giveUp, hurryMs);
    };
  });
  if (hurry.aborted) told();
  else hurry.addEventListener('abort', told, { once: true });
  try {
    return await Promise.race([running, stuck]);
  } finally {
    hurry.removeEventListener('abort', told);
    clearTimeout(timer);
  }
}

/** Whatever a command stumbles over after a signal, the signal was the reason. */
function interrupted(error: unknown, { signal }: Interrupts): unknown {
  const own = error instanceof CliError ? error : null;
  if (!signal.aborted || own?.kind === 'Interrupted') return error;
  return toCliError(signal.reason, own?.data ?? undefined);
}
