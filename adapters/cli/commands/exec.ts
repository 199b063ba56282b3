/** `vmchart exec`: a command in a kept VM. */
import { flag, text } from '../arguments/argument.ts';
import { environmentOptions, variablesOf } from '../arguments/environment.ts';
import { executionFrom, executionOptions } from '../arguments/execution.ts';
import { keptOptions } from '../arguments/kept.ts';
import { givenName } from '../arguments/vm-name.ts';
import { usageError } from '../cli-error.ts';
import { command } from '../command.ts';

const execId = text({ summary: '', placeholder: 'EXEC_ID' });

/** Runs a shell line, or words as they are; or looks after a command that was started before. */
export const execCommand = command({
  name: 'exec',
  summary: 'Run a command in a kept VM.',
  description:
    'SHELL_LINE is one word, so put it in quotes; words after -- are run as they are, without a shell. The output\n' +
    'comes as it is written; with --json it is in the object at the end. The exit code is 0 when the command exited\n' +
    'with 0, else 13; so too for --poll of a command that has ended. Ctrl-C ends the command and leaves the VM.',
  positionals: [
    { key: 'line', argument: text({ summary: 'The shell line to run.', placeholder: 'SHELL_LINE' }), required: false },
  ],
  options: {
    ...keptOptions,
    ...executionOptions,
    ...environmentOptions,
    stream: flag({
      summary: 'With --json: print output as it comes, one JSON event a line, and the result object last.',
    }),
    stdin: flag({ summary: "Pass this process's standard input on to the command." }),
    detach: flag({ summary: 'Start it, print its exec id, and leave it running.' }),
    poll: {
      ...execId,
      summary: 'Show the state of a command that was started before, and its output once it has ended.',
    },
    wait: flag({ summary: 'With --poll: wait until it has ended.' }),
    kill: { ...execId, summary: 'End a command that was started before, with all processes of its group.' },
  },
  takesRest: true,
  examples: [
    ["vmchart exec --name box 'make test'", 'Run a shell line.'],
    ['vmchart exec --name box -- python3 -c "print(1)"', 'Run words without a shell.'],
    ["tar c . | vmchart exec --name box --stdin 'tar x -C /workspace'", 'Feed it from here.'],
    [
      "vmchart exec --name box --user nobody --cwd /tmp --env LEVEL=2 'id; echo $LEVEL'",
      'As somebody else, elsewhere.',
    ],
    ["vmchart exec --name box --stream --json 'make test'", 'For programs: one JSON object a line.'],
    ["vmchart exec --name box --detach './server'", 'Start it and leave it; prints its exec id.'],
    ['vmchart exec --name box --poll x-0123456789abcdef --wait', 'Wait until it has ended, and show its output.'],
    ['vmchart exec --name box --kill x-0123456789abcdef', 'End it.'],
  ],
  async run(values, context) {
    const name = givenName({ name: values.name, positional: {} }, 'exec');
    const line = values.positional['line'];
    const words = values.rest;
    const tasks = [line, words.length > 0 ? words : undefined, values.poll, values.kill].filter(Boolean);
    if (tasks.length !== 1) {
      throw usageError(
        tasks.length === 0
          ? 'vmchart exec needs a shell line, words after --, --poll or --kill.'
          : 'vmchart exec takes one of: a shell line, words after --, --poll, --kill.',
        ["For example: vmchart exec --name box 'uname -a'"],
      );
    }
    if (values.wait && values.poll === undefined) throw usageError('--wait goes with --poll.', ['Add --poll EXEC_ID.']);
    if (values.detach && (values.stdin || values.stream)) {
      throw usageError('--detach leaves the command alone: it takes neither --stdin nor --stream.');
    }
    const env = variablesOf(values, context.environment);
    const task = await import('../life/exec-in-kept.ts');
    const around = { name, context, region: values.region, execStatus: values.execStatus };
    if (values.poll !== undefined) return await task.pollExec(values.poll, values.wait, around);
    if (values.kill !== undefined) return await task.killExec(values.kill, around);
    const what = line ?? words;
    const options = { ...executionFrom(values), env };
    if (values.detach) return await task.detachExec(what, options, around);
    return await task.runExec(what, { ...options, stdin: values.stdin, events: values.stream }, around);
  },
});
