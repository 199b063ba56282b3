/** `vmchart resume`: wake a kept VM. */
import { keptOptions } from '../arguments/kept.ts';
import { givenName, namePositional } from '../arguments/vm-name.ts';
import { command } from '../command.ts';

/** Resumes and waits until it runs. */
export const resumeCommand = command({
  name: 'resume',
  summary: 'Resume a suspended VM: what ran before goes on.',
  description:
    'Returns once the VM is RUNNING and its daemon answers. Past the suspended window of its launch\n' +
    '(vmchart run --suspended-sec) this is refused before any call, with exit code 8; and once the platform has ended\n' +
    'the VM, with exit code 2.',
  positionals: [namePositional],
  options: keptOptions,
  examples: [['vmchart resume box', 'Resume the VM that was kept as box.']],
  async run(values, context) {
    const name = givenName(values, 'resume');
    const { changeKept } = await import('../life/change-kept.ts');
    return await changeKept(name, 'resuming', context, values.region, async ({ sandbox }, signal) => {
      await sandbox.resume({ signal });
    });
  },
});
