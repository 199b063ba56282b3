/** `vmchart suspend`: put a kept VM to sleep. */
import { keptOptions } from '../arguments/kept.ts';
import { givenName, namePositional } from '../arguments/vm-name.ts';
import { command } from '../command.ts';

/** Suspends and waits until it is. */
export const suspendCommand = command({
  name: 'suspend',
  summary: 'Suspend a kept VM: its processes stop, its memory stays.',
  description:
    'A suspended VM costs storage only. It can be resumed within the suspended window of its launch\n' +
    '(vmchart run --suspended-sec); after that the platform ends it. Forwards and streams into it break.\n' +
    'Returns once the VM is SUSPENDED; one that is already changes nothing.',
  positionals: [namePositional],
  options: keptOptions,
  examples: [['vmchart suspend box', 'Suspend the VM that was kept as box.']],
  async run(values, context) {
    const name = givenName(values, 'suspend');
    const { changeKept } = await import('../life/change-kept.ts');
    return await changeKept(name, 'suspending', context, values.region, async ({ sandbox }, signal) => {
      await sandbox.suspend({ signal });
    });
  },
});
