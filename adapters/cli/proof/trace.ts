/** What `vmchart trace` does. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { traceRequirements, type RequirementTrace, type TitledTest } from '../../../model/index.ts';
import { CliError, usageError } from '../cli-error.ts';
import type { CommandContext, Outcome } from '../command.ts';

/** The first argument of `test`, `it` or `describe` (and of their variants), where it is a literal. */
const titlePattern = /\b(?:test|it|describe)(?:\.\w+)*(?:\([^()]*\))?\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

/** Lists for each requirement what carries it; fails when one is carried by nothing. */
export async function trace(folders: readonly string[], { terminal }: CommandContext): Promise<Outcome> {
  const tests = (await Promise.all(folders.map(testsIn))).flat();
  if (tests.length === 0) {
    throw usageError(`There are no tests in ${folders.join(' and ')}.`, ['Name the folders with --tests.']);
  }
  const requirements = traceRequirements(tests);
  const uncovered = requirements.filter(({ missing }) => missing.length > 0);
  const data = { requirements, uncovered: uncovered.map(({ id }) => id) };
  const text = requirements.map(readable).join('\n\n');
  if (uncovered.length === 0) return { data, text };
  if (!terminal.json) await terminal.out(`${text}\n`);
  const lacks = uncovered.map(({ id, missing }) => `${id}: ${missing.join(', ')}`);
  throw new CliError('Violated', `Not covered: ${lacks.join('; ')}.`, { data });
}

function readable({ id, says, transitions, guards, properties, tests, missing }: RequirementTrace): string {
  const shown = (name: string, items: readonly string[]): string[] =>
    items.map((item, index) => `  ${(index === 0 ? name : '').padEnd(12)}${item}`);
  return [
    `${id}  ${says}`,
    ...shown('guard', guards),
    ...shown('transitions', transitions),
    ...shown(
      'properties',
      properties.map((property) => `${property.id} (level ${property.level})`),
    ),
    ...shown(
      'tests',
      tests.map(({ file, title }) => `${file}: ${title}`),
    ),
    ...missing.map((lack) => `  NOT COVERED ${lack}`),
  ].join('\n');
}

async function testsIn(folder: string): Promise<TitledTest[]> {
  let names: string[];
  try {
    names = await readdir(folder, { recursive: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usageError(`The tests in ${folder} cannot be read (${code ?? 'unknown reason'}).`, [
      'Run it in a checkout of vmchart, or name the folders of your tests with --tests FOLDER.',
    ]);
  }
  const files = names.filter((name) => /\.test\.[cm]?[jt]s$/.test(name)).sort();
  const found = await Promise.all(
    files.map(async (name) => {
      const file = join(folder, name);
      return [...(await readFile(file, 'utf8')).matchAll(titlePattern)].map(([, , title = '']) => ({ file, title }));
    }),
  );
  return found.flat();
}
