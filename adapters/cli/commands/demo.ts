/** `vmchart demo`: a whole life on the embedded platform, for people. */
import { text } from '../arguments/argument.ts';
import { command } from '../command.ts';

/** What runs in the VM unless told otherwise. */
const defaultLine = 'echo "Hello from inside a MicroVM: process $$ on $(uname -sm), in $PWD"';

/** The whole life, with something to look at. */
export const demoCommand = command({
  name: 'demo',
  summary: 'Watch a whole life on the embedded platform: launch, command, suspend, resume, end.',
  description:
    'Needs no AWS account, no network and no configuration, and leaves nothing behind. The exit code is 0 when the\n' +
    'command exited with 0, else 13.',
  options: {
    exec: text({ summary: 'The shell line to run in the VM.', placeholder: 'SHELL_LINE', defaultText: 'a greeting' }),
  },
  examples: [
    ['vmchart demo', 'The whole life, with a greeting.'],
    ["vmchart demo --exec 'ps aux | head'", 'Look around inside.'],
  ],
  async run(values, context) {
    const { runDemo } = await import('../life/demo.ts');
    return await runDemo(values.exec ?? defaultLine, context);
  },
});
