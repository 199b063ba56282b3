/** `vmchart terminate`: end a kept VM and give its name up. */
import { flag } from '../arguments/argument.ts';
import { keptOptions } from '../arguments/kept.ts';
import { givenName, namePositional } from '../arguments/vm-name.ts';
import { command } from '../command.ts';

/** Ends it for good. */
export const terminateCommand = command({
  name: 'terminate',
  summary: 'End a kept VM and forget its name and token.',
  description:
    'Takes a VM in any state, suspended ones too, and ends it with all that it holds. The name is free again once the\n' +
    'service has accepted, or when it has no such VM any more. If the call fails the name stays, so that it can be\n' +
    'tried again.',
  positionals: [namePositional],
  options: {
    ...keptOptions,
    forget: flag({ summary: 'Give the name up even if the VM cannot be reached; it may go on billing.' }),
  },
  examples: [
    ['vmchart terminate box', 'End the VM that was kept as box.'],
    ['vmchart terminate box --forget', 'Its emulator is gone, and the VM with it.'],
  ],
  async run(values, context) {
    const name = givenName(values, 'terminate');
    const { terminateKept } = await import('../life/terminate-kept.ts');
    return await terminateKept(name, context, values);
  },
});
