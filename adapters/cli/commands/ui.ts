/** `vmchart ui`: the fleet, live in a browser. */
import { readableFile, text, wholeNumber } from '../arguments/argument.ts';
import { targetOf, targetOptions } from '../arguments/target.ts';
import { command } from '../command.ts';

/** Serves the page until it is stopped. */
export const uiCommand = command({
  name: 'ui',
  summary: 'Watch lifecycles in a browser, live or replayed.',
  description:
    'Serves a page on 127.0.0.1 that shows a table of VMs and, for each, its statechart with the current state lit,\n' +
    'its timeline, events, calls and output, and from which SUSPEND, RESUME and TERMINATE can be sent. Without --region\n' +
    'and --endpoint-url it starts an emulator of its own. Open the whole address that it prints: the token in it, another\n' +
    'one at each start, is what lets a page send commands. It serves until Ctrl-C.\n' +
    'vmchart run --inspect ADDRESS shows a run here; a program that you write shows up with one line:\n' +
    'inspect: inspectTo(ADDRESS), from vmchart/adapters.',
  options: {
    port: wholeNumber({ summary: 'The port of the page.', defaultText: 'a free one' }, { min: 0, max: 65_535 }),
    launch: wholeNumber(
      { summary: 'Launch this many VMs at the start, on the emulator of its own.', defaultText: '0' },
      { min: 0, max: 50 },
    ),
    replay: readableFile({
      summary: 'Show what vmchart run --record wrote, or a counterexample of vmchart check --json, step by step.',
    }),
    machine: text({
      summary: 'With --replay: the module of the machine that was checked, where it is one of your own.',
      placeholder: 'MODULE',
    }),
    ...targetOptions,
  },
  examples: [
    ['vmchart ui --launch 3', 'Three VMs on an emulator, to look at and to play with.'],
    ['vmchart ui --endpoint-url http://127.0.0.1:9100', 'The VMs of an emulator that runs already.'],
    ['vmchart ui --region us-east-1', 'The VMs of an account on AWS; reading wakes nothing.'],
    ['vmchart ui --replay life.jsonl', 'A recorded life, step by step.'],
    ['vmchart ui --replay report.json', 'A failing proof, from vmchart check --without STATE-12 --json > report.json.'],
    ['vmchart ui --replay report.json --machine ./check.js', 'A failing proof of your own check.'],
  ],
  async run(values, context) {
    const { serveUi } = await import('../pictures/serve-ui.ts');
    await serveUi(
      {
        port: values.port ?? 0,
        launch: values.launch ?? 0,
        replay: values.replay ?? null,
        machine: values.machine ?? null,
        target: targetOf(values, context.environment),
      },
      context,
    );
  },
});
