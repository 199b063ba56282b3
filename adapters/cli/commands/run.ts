/** `vmchart run`: launch a VM, run a command in it, end it. */
import { flag, text } from '../arguments/argument.ts';
import { variablesOf } from '../arguments/environment.ts';
import { executionFrom, executionOptions } from '../arguments/execution.ts';
import { imageFor, launchFrom, launchOptions } from '../arguments/launch.ts';
import { targetOf, targetOptions } from '../arguments/target.ts';
import { nameOption } from '../arguments/vm-name.ts';
import { usageError } from '../cli-error.ts';
import { command } from '../command.ts';
import { watchOptions } from '../life/watch.ts';

/** The main job. */
export const runCommand = command({
  name: 'run',
  summary: 'Launch a MicroVM, run a command in it, and end it.',
  description:
    "The command's output goes to stdout and stderr as it is. The exit code is 0 when it exited with 0, else 13;\n" +
    'a failure of anything else exits with the number of its class. Ctrl-C ends the VM, names what could not be\n' +
    'deleted, and exits with 11. Without --exec the VM is launched and, unless it is kept, ended at once.\n' +
    '\n' +
    'Where: by --endpoint-url on an emulator, by --region on AWS, by neither on the embedded platform, an emulator\n' +
    'that lives as long as this command.',
  options: {
    exec: text({ summary: 'The shell line to run in the VM.', placeholder: 'SHELL_LINE' }),
    ...executionOptions,
    ...targetOptions,
    ...launchOptions,
    ...watchOptions,
    keep: flag({ summary: 'Leave the VM running and remember it; it bills until it ends. Needs --name.' }),
    name: { ...nameOption, summary: 'The name to remember a kept VM by.' },
  },
  examples: [
    ["vmchart run --exec 'uname -a'", 'On the embedded platform: no AWS account needed.'],
    ["vmchart run --exec 'exit 3' --exec-status", "Exits with 3, the command's own status."],
    ["vmchart run --env GREETING=hi --timeout 5 --exec 'echo $GREETING'", 'With a variable, for five seconds at most.'],
    ['vmchart run --keep --name box --endpoint-url http://127.0.0.1:9100', 'Keep it on a running emulator.'],
    [
      "vmchart run --region us-east-1 --image arn:aws:lambda:us-east-1:123456789012:microvm-image:job --exec './job'",
      'On AWS.',
    ],
  ],
  async run(values, context) {
    const { environment } = context;
    const target = targetOf(values, environment);
    const image = imageFor(values.image, target);
    const request = launchFrom(values, image, variablesOf(values, environment));
    const line = values.exec ?? null;
    const lineOptions = executionFrom(values);
    const watch = { record: values.record ?? null, inspect: values.inspect ?? null };
    if (!values.keep) {
      if (values.name !== undefined) {
        throw usageError('--name is for a VM that stays.', ['Add --keep, or leave out --name.']);
      }
      const { runOnce } = await import('../life/run-once.ts');
      return await runOnce({ target, request, line, lineOptions, execStatus: values.execStatus, watch }, context);
    }
    if (values.name === undefined) {
      throw usageError('--keep needs a name to find the VM by.', ['Add --name NAME.']);
    }
    if (target.kind === 'embedded') {
      throw usageError('--keep is of no use on the embedded platform, which ends with this command.', [
        'In another terminal: vmchart emulator --port 9100',
        `Then: vmchart run --keep --name ${values.name} --endpoint-url http://127.0.0.1:9100`,
      ]);
    }
    const { runAndKeep } = await import('../life/run-and-keep.ts');
    return await runAndKeep(
      { target, request, line, lineOptions, execStatus: values.execStatus, watch, name: values.name },
      context,
    );
  },
});
