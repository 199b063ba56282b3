/** `docs/cli.md`, made from the same data that the command line reads. */
import type { Argument } from './arguments/argument.ts';
import { globalOptions } from './arguments/global-options.ts';
import type { AnyCommand } from './command.ts';
import { exitTable } from './exit-codes.ts';
import { optionTerm, summaryOf, usageLine } from './help.ts';

/** The whole page. */
export function cliReference(commands: readonly AnyCommand[]): string {
  const parts = [introduction, ...commands.map(commandSection), everywhere(), envelope, exitCodes(), variables];
  return `${parts.join('\n\n')}\n`;
}

const introduction = `# The command line

Printed from the declarations of the commands; a test keeps it true. From a checkout write \`npm run -s vmchart --\`
where this page says \`vmchart\`.

Without \`--region\`, \`--endpoint-url\` and \`AWS_ENDPOINT_URL_LAMBDA_MICROVMS\` a command works on the embedded
platform, which needs no AWS account and ends with the command. \`AWS_REGION\` alone changes nothing, so that a shell
that is set up for AWS does not make a first try bill anything.`;

function commandSection(command: AnyCommand): string {
  const { name, summary, description, examples = [], positionals = [] } = command;
  const parts = [`## ${name}`, summary, ...(description === undefined ? [] : [plain(description)])];
  parts.push(`\`\`\`text\n${usageLine(command)}\n\`\`\``);
  const rows = [
    ...positionals.map(({ key, argument }) => [argument.placeholder ?? key, summaryOf(argument)]),
    ...optionRows(command.options),
  ];
  if (rows.length > 0) parts.push(markdownTable(['Argument', 'What it does'], rows));
  if (examples.length > 0) {
    parts.push(`\`\`\`text\n${examples.map(([line, meaning]) => `# ${meaning}\n${line}`).join('\n')}\n\`\`\``);
  }
  return parts.join('\n\n');
}

function everywhere(): string {
  return ['## Options of every command', markdownTable(['Option', 'What it does'], optionRows(globalOptions))].join(
    '\n\n',
  );
}

function optionRows(options: Readonly<Record<string, Argument<unknown>>>): string[][] {
  return Object.entries(options).map(([key, argument]) => [optionTerm(key, argument), summaryOf(argument)]);
}

const envelope = `## The JSON object

With \`--json\` a command prints exactly one object on stdout, whatever happens; progress goes to stderr.
Only a signal that comes while Node.js itself is starting, before any of this program is read, ends it without one.

\`\`\`text
{ "type": "run", "ok": true, "data": { ... } }
{ "type": "run", "ok": false, "error": { "code", "kind", "message", "exitCode", "suggestions": [ ... ] } }
\`\`\`

\`type\` is the command, or \`vmchart\` when none was recognised. A failure carries \`data\` too when something is known in
spite of it: the output of a command that failed, the report of a teardown. \`emulator\` and \`ui\` print their object when
they listen. \`exec --stream --json\` prints one event a line (\`output\`, \`gap\`, \`exit\`) and the object last.

No secret is in any of it: neither the tokens of VMs nor the values of variables. What \`emulator\` prints for other
programs to use is there: the published example key pair, and the admin token, which is made anew for each emulator
and is worth nothing elsewhere.`;

function exitCodes(): string {
  const rows = exitTable.map(({ exitCode, code, meaning }) => [String(exitCode), code, meaning]);
  return [
    '## Exit codes',
    'The table is append-only. `--exec-status` passes the own status of a failed command through instead of 13.',
    markdownTable(['Exit', 'Code', 'Meaning'], [['0', '', 'Success.'], ...rows], { plain: true }),
  ].join('\n\n');
}

const variables = `## Environment

| Variable | What it does |
| --- | --- |
| \`AWS_ENDPOINT_URL_LAMBDA_MICROVMS\` | The address of the service, as \`--endpoint-url\`. |
| \`AWS_ACCESS_KEY_ID\` and the other variables of the AWS tools | Credentials. An emulator on this machine needs none. |
| \`VMCHART_HOME\` | Where kept VMs are remembered; else \`vmchart\` in \`XDG_STATE_HOME\` or \`~/.local/state\`. |
| \`VMCHART_DEBUG\` | With any value, a failure shows where it was thrown. |
| \`NO_COLOR\` | With any value, no colours. |`;

function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  options: { readonly plain?: boolean } = {},
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const escaped = rows.map(([first = '', ...rest]) => {
    const term = options.plain === true ? first : `\`${first}\``;
    return [term, ...rest].map((cell) => cell.replaceAll('|', '\\|'));
  });
  return [line(header), line(header.map(() => '---')), ...escaped.map(line)].join('\n');
}

/** Help is plain text: what Markdown would take for emphasis or a tag is kept as it is. */
function plain(text: string): string {
  return text.replaceAll(/[\\*_<`]/g, '\\$&');
}
