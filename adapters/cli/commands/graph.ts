/** `vmchart graph`: a machine as a picture or as a text. */
import { choice, flag, readableFile, text } from '../arguments/argument.ts';
import { CliError, usageError } from '../cli-error.ts';
import { command } from '../command.ts';
import type { Outcome } from '../command.ts';
import { table } from '../output/table.ts';

// Those of `pictures/formats.ts`, which is only loaded when a picture is made; the compiler compares the two.
const pictures = ['mermaid', 'svg', 'dot', 'stately', 'scxml', 'json', 'table'] as const;
/** The model of `vmchart check`, for checkers that are not ours. */
const models = ['promela', 'smt2'] as const;
const formats = [...pictures, ...models] as const;

/** Draws a machine. */
export const graphCommand = command({
  name: 'graph',
  summary: 'Draw a statechart: the lifecycle, or any other machine.',
  description:
    'Every picture is made from the machine that runs. mermaid is for Markdown; svg is laid out by Graphviz, for light and\n' +
    'dark; dot is for Graphviz itself; stately is one file of plain XState v5, to paste into Stately Studio; scxml is the\n' +
    'W3C format; json is the definition; table shows what each state answers to each command.\n' +
    'promela and smt2 are the model that vmchart check explores, for SPIN and for an SMT solver.\n' +
    'Without -o it prints to stdout.',
  positionals: [
    {
      key: 'machine',
      required: false,
      argument: text({
        summary:
          'A name of vmchart graph --list, or a module that exports a machine: ./orders.js, or ./orders.js#orderMachine.',
        placeholder: 'MACHINE',
        defaultText: 'sandbox',
      }),
    },
  ],
  options: {
    format: choice({ summary: 'What to make.', defaultText: 'mermaid; with --replay: svg' }, formats),
    flat: flag({ summary: 'Only the outermost states, with the main arrows (mermaid, svg, dot).' }),
    highlight: text({
      summary: 'Mark a state, such as RUNNING or RUNNING.suspending (mermaid, svg, dot).',
      placeholder: 'STATE',
    }),
    only: text({ summary: 'Draw one outermost state with all that is in it (svg, dot).', placeholder: 'STATE' }),
    output: text({ summary: 'Write to a file.', placeholder: 'FILE', short: 'o', defaultText: 'stdout' }),
    replay: readableFile({
      summary:
        'Draw the way of a life that vmchart run --record wrote, or of a counterexample of vmchart check --json.',
    }),
    list: flag({ summary: 'List the machines, with the number of their states.' }),
  },
  examples: [
    ['vmchart graph --list', 'What can be drawn.'],
    ['vmchart graph --flat', 'The lifecycle at a glance, for a README.'],
    ['vmchart graph --format svg -o lifecycle.svg', 'The whole lifecycle to look at.'],
    ['vmchart graph --format svg --only SUSPENDED -o suspended.svg', 'One of its states, with what is inside.'],
    ['vmchart graph exec --format svg --highlight running.alive -o exec.svg', 'Another machine, with a state marked.'],
    ['vmchart graph --format stately -o lifecycle.js', 'A file to paste into Stately Studio.'],
    ['vmchart graph --format table', 'What every state answers to every command.'],
    ['vmchart graph --format promela -o model.pml', 'The composed system for SPIN: spin -a model.pml.'],
    ['vmchart graph ./orders.js --format svg -o orders.svg', 'A machine of your own.'],
    ['vmchart graph --replay life.jsonl -o life.svg', 'The way that a recorded life took.'],
    ['vmchart graph ./check.js --replay report.json -o bug.svg', 'A counterexample of your own check.'],
  ],
  async run(values): Promise<Outcome> {
    if (values.list) return await listed();
    const [{ loadMachine }, { pictureOf }] = await Promise.all([
      import('../pictures/load-machine.ts'),
      import('../pictures/formats.ts'),
    ]);
    if (values.replay !== undefined) return await drawnReplay(values.replay, values);
    const format = values.format ?? 'mermaid';
    if (format === 'promela' || format === 'smt2') {
      const { modelText } = await import('../proof/model-text.ts');
      return await delivered(
        { machine: 'model', format },
        modelText(format, values.positional['machine']),
        values.output,
      );
    }
    const loaded = await loadMachine(values.positional['machine'] ?? 'sandbox');
    const content = await pictureOf(loaded, format, {
      flat: values.flat,
      highlight: values.highlight ?? null,
      only: values.only ?? null,
    });
    return await delivered({ machine: loaded.name, format }, content, values.output);
  },
});

/** A picture on stdout, or in a file. */
async function delivered(
  about: Readonly<Record<string, string>>,
  content: string,
  file: string | undefined,
): Promise<Outcome> {
  if (file === undefined) return { data: { ...about, file: null, content }, text: content.trimEnd() };
  await write(file, content);
  return { data: { ...about, file }, text: `Wrote ${file}.` };
}

interface ReplayValues {
  readonly positional: Readonly<Record<string, string | undefined>>;
  readonly format: string | undefined;
  readonly flat: boolean;
  readonly highlight: string | undefined;
  readonly only: string | undefined;
  readonly output: string | undefined;
}

async function drawnReplay(
  file: { readonly path: string; readonly content: string },
  values: ReplayValues,
): Promise<Outcome> {
  if ((values.format ?? 'svg') !== 'svg') throw usageError(`--replay draws svg; ${values.format} has no use for it.`);
  for (const option of ['highlight', 'only'] as const) {
    if (values[option] !== undefined) throw usageError(`--replay marks the way itself: it has no use for --${option}.`);
  }
  const { drawReplayFile } = await import('../pictures/replay-file.ts');
  const { machine, svg } = await drawReplayFile(file, values.positional['machine'], values.flat);
  return await delivered({ machine, format: 'svg' }, svg, values.output);
}

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
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError('Config', `${file} cannot be written (${code ?? 'unknown reason'}).`, { cause: error });
  }
}
