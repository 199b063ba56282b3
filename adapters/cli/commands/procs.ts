/** `vmchart procs`: what runs in a kept VM. */
import { keptOptions } from '../arguments/kept.ts';
import { givenName, namePositional } from '../arguments/vm-name.ts';
import { command } from '../command.ts';
import { durationText } from '../output/progress.ts';
import { table } from '../output/table.ts';

/** Lists the commands that the daemon knows and their processes. */
export const procsCommand = command({
  name: 'procs',
  summary: 'List the commands of a kept VM and their processes.',
  description:
    'One line a command that was started by vmchart or through the library. PHASE is running, ended, or left running:\n' +
    'the command itself has ended, processes of its group have not. GROUP is its process group, PIDS are those that\n' +
    'run in it now.',
  positionals: [namePositional],
  options: keptOptions,
  examples: [
    ['vmchart procs box', 'What runs in box.'],
    ['vmchart procs box --json', 'The same for programs.'],
  ],
  async run(values, context) {
    const name = givenName(values, 'procs');
    const { listProcs } = await import('../life/list-procs.ts');
    const { microvmId, procs } = await listProcs(name, context, values);
    const rows = procs.map(({ execId, pgid, startedAtSec, childExited, pids }) => [
      execId,
      childExited ? (pids.length > 0 ? 'left running' : 'ended') : 'running',
      pgid === null ? '' : String(pgid),
      ageText(startedAtSec),
      pids.join(' '),
    ]);
    return {
      data: { name, microvmId, procs },
      text: procs.length === 0 ? 'No command is known.' : table([['EXEC', 'PHASE', 'GROUP', 'AGE', 'PIDS'], ...rows]),
    };
  },
});

/** The daemon tells whole seconds, so that more would be invented. */
function ageText(startedAtSec: number): string {
  const seconds = Math.max(0, Math.floor(Date.now() / 1_000) - startedAtSec);
  return seconds < 60 ? `${seconds} s` : durationText(seconds * 1_000);
}
