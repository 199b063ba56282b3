/** `vmchart ls`: the VMs that are kept. */
import { flag } from '../arguments/argument.ts';
import { command } from '../command.ts';

/** Lists them, with their states as the services tell them now. */
export const lsCommand = command({
  name: 'ls',
  summary: 'List the kept VMs with their states.',
  description:
    'Asks the service of each VM for its state; that wakes none of them. Beside the states of the service there are\n' +
    'gone (it has no such VM any more), reserved (a launch under this name is under way, or was cut off), unreachable\n' +
    '(nobody answers, most likely an emulator that has stopped), unknown and unreadable; NOTE says why.',
  options: { offline: flag({ summary: 'Ask nobody: show what was written down last.' }) },
  examples: [
    ['vmchart ls', 'All names, and how their VMs are.'],
    ["vmchart ls --json | jq -r '.data.vms[].name'", 'The names alone.'],
  ],
  async run(values, context) {
    const { listKept } = await import('../life/list-kept.ts');
    return await listKept(context, values.offline);
  },
});
