/** `vmchart ui`: the fleet, live in a browser. */
import { readableFile, wholeNumber } from '../arguments/argument.ts';
import { targetOf, targetOptions } from '../arguments/target.ts';
import { command } from '../command.ts';

/** Serves the page until it is stopped. */
export const uiCommand = command({
  name: 'ui',
  summary: 'Watch lifecycles in a browser, live or replayed.',
  description:
    'Serves a page on 127.0.0.1 that shows a table of VMs and, for each, its statechart with the current state lit,\n' +
    'its timeline, events, calls and output. Without --region and --endpoint-url it starts an emulator of its own.\n' +
    'Programs that you write show up with one line: inspect: inspectTo(ADDRESS), from vmchart/adapters.',
  options: {
    port: wholeNumber({ summary: 'The port of the page.', defaultText: 'a free one' }, { min: 0, max: 65_535 }),
    launch: wholeNumber(
      { summary: 'Launch this many VMs at the start, on the emulator.', defaultText: '0' },
      { min: 0, max: 50 },
    ),
    replay: readableFile({ summary: 'Show a recording (vmchart run --record), or a counterexample of vmchart check.' }),
    ...targetOptions,
  },
  examples: [
    ['vmchart ui --launch 3', 'Three VMs on an emulator, to look at and to play with.'],
    ['vmchart ui --endpoint-url http://127.0.0.1:9100', 'The VMs of an emulator that runs already.'],
    ['vmchart ui --replay life.jsonl', 'A recorded life, step by step.'],
  ],
  async run(values, context) {
    const { serveUi } = await import('../pictures/serve-ui.ts');
    await serveUi(
      {
        port: values.port ?? 0,
        launch: values.launch ?? 0,
        replay: values.replay ?? null,
        target: targetOf(values, context.environment),
      },
      context,
    );
  },
});
