/** `vmchart graph`: a machine as a picture or as a text. */
import { choice, flag, text } from '../arguments/argument.ts';
import { CliError } from '../cli-error.ts';
import { command } from '../command.ts';
import type { Outcome } from '../command.ts';
import { table } from '../output/table.ts';

// Repeated in `pictures/formats.ts`, which is only loaded when a picture is made; the compiler compares the two.
const formats = ['mermaid', 'svg', 'dot', 'stately', 'scxml', 'json', 'table'] as const;

/** Draws a machine. */
export const graphCommand = command({
  name: 'graph',
  summary: 'Draw a statechart: the lifecycle, or any other machine.',
  description:
    'The pictures are made from the machine that runs. stately is a file of plain XState v5 to paste into Stately\n' +
    'Studio; scxml is the W3C format; table shows what each state answers to each command.',
  positionals: [
    {
      key: 'machine',
      required: false,
      argument: text({
        summary: 'Its name, or a module that exports one, such as ./orders.js or ./orders.js#orderMachine.',
        placeholder: 'MACHINE',
        defaultText: 'sandbox',
      }),
    },
  ],
  options: {
    format: choice({ summary: 'What to make.', defaultText: 'mermaid' }, formats),
    flat: flag({ summary: 'Only the outermost states, with the main arrows.' }),
    highlight: text({ summary: 'Mark a state.', placeholder: 'STATE' }),
    only: text({ summary: 'Draw one outermost state with all that is in it (svg, dot).', placeholder: 'STATE' }),
    output: text({ summary: 'Write to a file.', placeholder: 'FILE', short: 'o', defaultText: 'stdout' }),
    replay: text({ summary: 'Draw the way that a recorded life took (svg).', placeholder: 'FILE' }),
    list: flag({ summary: 'List the machines.' }),
  },
  examples: [
    ['vmchart graph --flat', 'The lifecycle at a glance, for a README.'],
    ['vmchart graph --format svg -o lifecycle.svg', 'The whole lifecycle to look at.'],
    ['vmchart graph --format stately', 'Paste what it prints into Stately Studio.'],
    ['vmchart graph --format table', 'What every state answers to every command.'],
    ['vmchart graph ./orders.js --format svg -o orders.svg', 'A machine of your own.'],
  ],
  async run(values): Promise<Outcome> {
    if (values.list) return await listed();
    const [{ loadMachine }, { pictureOf }] = await Promise.all([
      import('../pictures/load-machine.ts'),
      import('../pictures/formats.ts'),
    ]);
    const format = values.format ?? 'mermaid';
    const loaded = await loadMachine(values.positional['machine'] ?? 'sandbox');
    const content = await pictureOf(loaded, format, {
      flat: values.flat,
      highlight: values.highlight ?? null,
      only: values.only ?? null,
    });
    const file = values.output ?? null;
    if (file === null) return { data: { machine: loaded.name, format, file, content }, text: content.trimEnd() };
    await write(file, content);
    return { data: { machine: loaded.name, format, file }, text: `Wrote ${file}.` };
  },
});

async function listed(): Promise<Outcome> {
  const { machineCatalog } = await import('../../../model/export/index.ts');
  const machines = machineCatalog.map(({ name, title, machine }) => ({
    name,
    title,
    states: countStates(machine.root),
  }));
  return {
    data: { machines },
    text: table(
      machines.map(({ name, title, states }) => [name, String(states), title]),
      { right: [1] },
    ),
  };
}

/** The states that hold no others. */
function countStates(node: { readonly states: Readonly<Record<string, unknown>> }): number {
  const children = Object.values(node.states) as (typeof node)[];
  return children.length === 0 ? 1 : children.reduce((sum, child) => sum + countStates(child), 0);
}

async function write(file: string, content: string): Promise<void> {
  const { writeFile } = await import('node:fs/promises');
  try {
    await writeFile(file, content);
  } catch (error) {
    throw new CliError('Config', `${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
