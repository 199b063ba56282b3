/** The formats of a picture by name. */
import type { AnyStateMachine } from 'xstate';
import { chartOf, toDot, toJson, toMermaid, toScxml, toStately, toTable, topOf } from '../../../model/export/index.ts';
import { usageError } from '../cli-error.ts';
import { didYouMean } from '../did-you-mean.ts';
import { drawSvg } from './draw.ts';
import type { LoadedMachine } from './load-machine.ts';

/** All of them. */
export const pictureFormats = ['mermaid', 'svg', 'dot', 'stately', 'scxml', 'json', 'table'] as const;

/** One of them. */
export type PictureFormat = (typeof pictureFormats)[number];

/** What can be asked of a picture. */
export interface PictureOptions {
  readonly flat: boolean;
  readonly highlight: string | null;
  readonly only: string | null;
}

type Writer = (loaded: LoadedMachine, options: PictureOptions) => string | Promise<string>;

const writers: Readonly<Record<PictureFormat, Writer>> = {
  mermaid: ({ machine }, options) => toMermaid(machine, options),
  svg: ({ machine }, options) => drawSvg(machine, options),
  dot: ({ machine }, options) => toDot(machine, options),
  stately: ({ machine, scope }) => toStately(machine, scope),
  scxml: ({ machine }) => toScxml(machine),
  json: ({ machine }) => toJson(machine),
  table: ({ machine }) => toTable(machine),
};

/** The drawings among them: what `--flat`, `--highlight` and `--only` mean something to. */
const drawings: readonly PictureFormat[] = ['mermaid', 'svg', 'dot'];

/**
 * Makes the picture.
 *
 * @throws CliError of kind `InvalidArg` for a state that the machine does not have, and for an option that the format
 * has no use for
 */
export async function pictureOf(
  loaded: LoadedMachine,
  format: PictureFormat,
  options: PictureOptions,
): Promise<string> {
  const { flat, highlight, only } = options;
  if (!drawings.includes(format)) {
    const [unused] =
      Object.entries({ flat, highlight, only }).find(([, value]) => value !== false && value !== null) ?? [];
    if (unused !== undefined)
      throw usageError(`--${unused} is for ${drawings.join(', ')}; ${format} has no use for it.`);
  }
  if (only !== null && format === 'mermaid') throw usageError('--only is for svg and dot; mermaid has no use for it.');
  if (flat && only !== null)
    throw usageError('--flat draws every outermost state, --only a single one: they do not go together.');
  for (const [name, state] of [
    ['highlight', highlight],
    ['only', only],
  ] as const) {
    if (state !== null) checkState(loaded.machine, state, name);
  }
  return await writers[format](loaded, options);
}

function checkState(machine: AnyStateMachine, state: string, option: 'highlight' | 'only'): void {
  const paths = chartOf(machine)
    .states.map(({ path }) => path)
    .filter((path) => path !== '');
  const known = option === 'only' ? paths.filter((path) => topOf(path) === path) : paths;
  if (known.includes(state)) return;
  throw usageError(`--${option}: ${machine.id} has no state ${JSON.stringify(state)}.`, [
    ...didYouMean(state, known),
    `It has ${known.slice(0, 8).join(', ')}${known.length > 8 ? ', …' : ''}.`,
  ]);
}
