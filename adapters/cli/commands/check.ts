/** `vmchart check`: the machines that run, checked against the spec. */
import { choice, flag, text, wholeNumber } from '../arguments/argument.ts';
import { usageError } from '../cli-error.ts';
import { command } from '../command.ts';
import type { Outcome } from '../command.ts';

const levels = ['1', '2', '3', '4', 'all'] as const;
// Those of the model, which is only loaded when it is asked to work; the compiler compares the two.
const guards = ['STATE-3', 'STATE-5', 'STATE-11', 'STATE-12'] as const;

/** Checks. */
export const checkCommand = command({
  name: 'check',
  summary: 'Prove that the machines keep the spec, and that each guard carries its load.',
  description:
    'Explores the very machines that run. Level 1: the client in any environment. Level 2: two callers, the client\n' +
    'and its journal, a wire that loses and repeats, the platform and the daemon. Level 3: the daemon. Level 4: the\n' +
    'invariants of the spec for any number of steps (needs the package z3-solver). A violation is told as a shortest\n' +
    'scenario and as a test to paste.',
  positionals: [
    {
      key: 'module',
      required: false,
      argument: text({
        summary: 'A module with a check of your own machine, made with defineCheck.',
        placeholder: 'MODULE',
        defaultText: 'the lifecycle',
      }),
    },
  ],
  options: {
    level: choice({ summary: 'One level only.', defaultText: 'all' }, levels),
    mutate: flag({ summary: 'Also switch each guard off and seed each fault: every one has to be found.' }),
    without: choice({ summary: 'Switch one guard off, to see what it is for.' }, guards),
    faults: wholeNumber(
      { summary: 'How often the wire may lose or repeat (level 2).', defaultText: '1' },
      { min: 0, max: 8 },
    ),
    crashes: wholeNumber({ summary: 'How often the client may die (level 2).', defaultText: '1' }, { min: 0, max: 8 }),
    limit: wholeNumber(
      { summary: 'How many states an exploration may have.', placeholder: 'STATES' },
      { min: 1, max: 100_000_000 },
    ),
    junit: text({ summary: 'Write a report for a build server.', placeholder: 'FILE' }),
    sarif: text({ summary: 'Write a report for a code host.', placeholder: 'FILE' }),
  },
  examples: [
    ['vmchart check', 'All four levels.'],
    ['vmchart check --mutate', 'And every guard and fault, one at a time.'],
    ['vmchart check --level 1 --without STATE-12', 'The shortest way to resume a VM whose window has closed.'],
    ['vmchart check ./check-orders.js --junit report.xml', 'A machine of your own, in CI.'],
  ],
  async run(values, context): Promise<Outcome> {
    const { level = 'all', mutate, without, faults, crashes, limit } = values;
    if (values.positional['module'] !== undefined) refuseForModule({ ...values, mutate: mutate || undefined });
    const { check } = await import('../proof/check.ts');
    return await check(
      {
        module: values.positional['module'],
        junit: values.junit,
        sarif: values.sarif,
        levels: level === 'all' ? [1, 2, 3, 4] : [Number(level) as 1 | 2 | 3 | 4],
        mutate,
        ...(without === undefined ? {} : { without }),
        ...(faults === undefined ? {} : { faults }),
        ...(crashes === undefined ? {} : { crashes }),
        ...(limit === undefined ? {} : { limit }),
      },
      context,
    );
  },
});

/** What there is only of the lifecycle: a check of one's own has one level, and its own events instead of bounds. */
function refuseForModule(values: Readonly<Record<string, unknown>>): void {
  const given = ['level', 'mutate', 'without', 'faults', 'crashes'].filter((name) => values[name] !== undefined);
  if (given.length === 0) return;
  const options = given.map((name) => `--${name}`).join(' and ');
  throw usageError(
    `${options} ${given.length === 1 ? 'is' : 'are'} of the check of the lifecycle, not of a module's.`,
    [`Leave ${given.length === 1 ? 'it' : 'them'} out; a module takes --limit, --junit and --sarif.`],
  );
}
