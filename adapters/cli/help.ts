/** Help, made from the same data that the arguments are read by. */
import type { Argument } from './arguments/argument.ts';
import { globalOptions } from './arguments/global-options.ts';
import { optionName } from './arguments/option-name.ts';
import type { AnyCommand, CommandEntry } from './command.ts';
import { exitTable } from './exit-codes.ts';
import type { Paint } from './output/paint.ts';
import { table } from './output/table.ts';

/** What `vmchart --help` prints. */
export function programHelp(commands: readonly CommandEntry[], paint: Paint): string {
  return [
    `${paint.strong('vmchart')} launches, uses, suspends, resumes and ends AWS Lambda MicroVMs, or emulates them on this machine.`,
    '',
    `${paint.strong('Usage:')} vmchart COMMAND [OPTIONS]`,
    '',
    paint.strong('Commands:'),
    table(
      commands.map(({ name, summary }) => [paint.accent(name), summary]),
      { indent: '  ' },
    ),
    '',
    paint.strong('Options:'),
    optionTable(globalOptions, paint),
    '',
    'Without a region or an endpoint everything runs on the embedded platform: no AWS account is needed.',
    `${paint.quiet('vmchart COMMAND --help')} tells more.`,
    '',
    paint.strong('Exit codes:'),
    ...exitCodeLines(),
  ].join('\n');
}

/** All codes, a few on a line: what each means is told by the message that comes with it. */
function exitCodeLines(): string[] {
  const codes = ['0 success', ...exitTable.map(({ exitCode, code }) => `${exitCode} ${code}`)];
  const lines: string[] = [];
  for (const code of codes) {
    const last = lines.at(-1);
    if (last === undefined || last.length + code.length > 90) lines.push(`  ${code}`);
    else lines[lines.length - 1] = `${last}, ${code}`;
  }
  return lines;
}

/** What `vmchart COMMAND --help` prints. */
export function commandHelp(command: AnyCommand, paint: Paint): string {
  const positionals = command.positionals ?? [];
  const parts = [
    command.summary,
    ...(command.description === undefined ? [] : ['', command.description]),
    '',
    `${paint.strong('Usage:')} ${usageLine(command)}`,
  ];
  if (positionals.length > 0) {
    const rows = positionals.map(({ key, argument }) => [
      paint.accent(argument.placeholder ?? key),
      summaryOf(argument),
    ]);
    parts.push('', paint.strong('Arguments:'), table(rows, { indent: '  ' }));
  }
  parts.push('', paint.strong('Options:'), optionTable({ ...command.options, ...globalOptions }, paint));
  if (command.examples !== undefined) {
    parts.push('', paint.strong('Examples:'));
    for (const [line, meaning] of command.examples) parts.push(`  ${paint.quiet(`# ${meaning}`)}`, `  ${line}`);
  }
  return parts.join('\n');
}

/** `vmchart exec [SHELL_LINE] [OPTIONS]`. */
export function usageLine(command: AnyCommand): string {
  const words = (command.positionals ?? []).map(({ key, argument, required }) => {
    const word = argument.placeholder ?? key;
    return required ? word : `[${word}]`;
  });
  const rest = command.takesRest === true ? ['[-- WORDS...]'] : [];
  return ['vmchart', command.name, ...words, '[OPTIONS]', ...rest].join(' ');
}

/** `-h, --help` or `--port N`. */
export function optionTerm(key: string, argument: Argument<unknown>): string {
  const value = argument.placeholder === null ? '' : ` ${argument.placeholder}`;
  return `${argument.short === undefined ? '' : `-${argument.short}, `}--${optionName(key)}${value}`;
}

/** What it does, how often it may be given, and what holds otherwise. */
export function summaryOf(argument: Argument<unknown>): string {
  const more = [
    ...(argument.range === undefined ? [] : [argument.range]),
    ...(argument.many ? ['may be repeated'] : []),
    ...(argument.defaultText === undefined ? [] : [`default: ${argument.defaultText}`]),
  ];
  return more.length === 0 ? argument.summary : `${argument.summary} (${more.join('; ')})`;
}

function optionTable(options: Readonly<Record<string, Argument<unknown>>>, paint: Paint): string {
  const rows = Object.entries(options).map(([key, argument]) => [
    paint.accent(optionTerm(key, argument)),
    summaryOf(argument),
  ]);
  return table(rows, { indent: '  ' });
}
