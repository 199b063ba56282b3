/** From the file of a recording, or of a report with a counterexample, to its drawing. */
import { findMachine } from '../../../model/export/index.ts';
import { foreignMachine } from '../../trace/counterexample.ts';
import type { LifeEntry } from '../../trace/entry.ts';
import { readReplay, type Replay } from '../../trace/file.ts';
import { usageError } from '../cli-error.ts';
import { drawReplay, type DrawnLife } from './draw-replay.ts';
import { loadMachine } from './load-machine.ts';

/** A file as it was read. */
export interface ReplayFile {
  readonly path: string;
  readonly content: string;
}

/**
 * Draws the lives of a file: those of the machines of this package, and those of the machine that was named.
 *
 * @param named a name or a module, as {@link loadMachine} takes it
 * @throws CliError in one sentence when there is nothing in it that can be drawn
 */
export async function drawReplayFile(
  { path, content }: ReplayFile,
  named: string | undefined,
  flat: boolean,
): Promise<{ readonly machine: string; readonly svg: string }> {
  const replay = readReplay(content, path);
  const lives = await livesOf(replay, path, named);
  const machine = [...new Set(lives.map((life) => life.machine.id))].join(', ');
  return { machine, svg: await drawReplay(lives, replay, flat) };
}

async function livesOf(replay: Replay, path: string, named: string | undefined): Promise<readonly DrawnLife[]> {
  const own = named === undefined ? null : (await loadMachine(named)).machine;
  const told = replay.entries.filter((entry): entry is LifeEntry => entry.kind === 'life');
  const lives = told.flatMap(({ life, machine: id }): DrawnLife[] => {
    const machine = own !== null && [own.id, foreignMachine].includes(id) ? own : (findMachine(id)?.machine ?? null);
    return machine === null ? [] : [{ life, machine }];
  });
  if (lives.length > 0) return lives;
  const [first] = told;
  if (first === undefined) throw usageError(`There is no life in ${path}.`);
  throw usageError(`${path} is of ${first.machine}, which vmchart cannot draw by itself.`, [
    'Name the module that exports its machine, such as vmchart graph ./orders.js --replay FILE.',
  ]);
}
