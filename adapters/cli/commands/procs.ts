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
  positionals: [namePositional],
  options: keptOptions,
  examples: [['vmchart procs box', 'What runs in box.']],
  async run(values, context) {
    const name = givenName(values, 'procs');
    const { listProcs } = await import('../life/list-procs.ts');
    const { microvmId, procs } = await listProcs(name, context, values);
    const rows = procs.map(({ execId, pgid, startedAtSec, childExited, pids }) => [
      execId,
      childExited ? (pids.length > 0 ? 'left running' : 'ended') : 'running',
      pgid === null ? '' : String(pgid),
      durationText(Math.max(0, Date.now() - startedAtSec * 1_000)),
      pids.join(' '),
    ]);
    return {
      data: { name, microvmId, procs },
      text: procs.length === 0 ? 'No command is known.' : table([['EXEC', 'PHASE', 'GROUP', 'AGE', 'PIDS'], ...rows]),
    };
  },
});
