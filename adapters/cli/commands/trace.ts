/** `vmchart trace`: from each requirement to what carries, checks and tests it. */
import { list, text } from '../arguments/argument.ts';
import { command } from '../command.ts';
import type { Outcome } from '../command.ts';

/** Traces. */
export const traceCommand = command({
  name: 'trace',
  summary: 'List what carries each requirement: transitions, guards, properties, tests.',
  description:
    'A requirement that no transition or guard carries, no property checks or no test names is an error.\n' +
    'Tests are found by their titles.',
  options: {
    tests: list(
      text({
        summary: 'A folder with tests. Repeatable.',
        placeholder: 'FOLDER',
        defaultText: 'test and property-tests',
      }),
    ),
  },
  examples: [['vmchart trace', 'In a checkout: every requirement with its lines and tests.']],
  async run(values, context): Promise<Outcome> {
    const { trace } = await import('../proof/trace.ts');
    return await trace(values.tests.length === 0 ? ['test', 'property-tests'] : values.tests, context);
  },
});
