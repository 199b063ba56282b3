/** A counterexample for people: a scenario to read, and a test to paste. */
import type { Counterexample } from './property.ts';

/** Where a pasted test finds the machine that the path was found on. */
export interface TestSource {
  /** Module of the machine, for example `vmchart/machines`. */
  readonly module: string;
  /** Its exported name. */
  readonly machine: string;
  /** Input of each start that was explored; the path names which. */
  readonly inputs?: readonly unknown[];
  /** Module that exports the property under `properties`; `vmchart/model` unless said otherwise. */
  readonly properties?: { readonly module: string; readonly name: string };
}

/** Who did what, what went out, and the state after each step. */
export function scenarioText({ property, says, start, steps }: Counterexample): string {
  const width = Math.max(...steps.map(({ by }) => by.length), 5);
  const lines = [`${property} is violated: ${says}`, `  ${'start'.padEnd(width)}  ${start}`];
  for (const [index, { by, what, effects, state }] of steps.entries()) {
    lines.push(`${String(index + 1).padStart(3)}. ${by.padEnd(width - 3 + 2)} ${what}`);
    for (const effect of effects) lines.push(`       ${' '.repeat(width)}${effect}`);
    lines.push(`       ${' '.repeat(width)}→ ${state}`);
  }
  return lines.join('\n');
}

/**
 * A Jest test that walks the path and fails as long as the property is violated. It stands alone but for the module
 * of the machine and that of the property.
 */
export function scenarioTest(counterexample: Counterexample, source: TestSource): string {
  const { property, says, steps, startIndex } = counterexample;
  const input = source.inputs?.[startIndex];
  const from = source.properties ?? { module: 'vmchart/model', name: 'sandboxProperties' };
  const events = steps.map(
    ({ by, what, event, state }) => `    // ${by}: ${what} → ${state}\n    ${JSON.stringify(event)},`,
  );
  return [
    `import { expect, test } from '@jest/globals';`,
    `import { ${source.machine} } from '${source.module}';`,
    ...(from.module === 'vmchart/model'
      ? [`import { firstViolation, replay, ${from.name} } from 'vmchart/model';`]
      : [`import { firstViolation, replay } from 'vmchart/model';`, `import { ${from.name} } from '${from.module}';`]),
    ``,
    `test(${JSON.stringify(`${property}: ${says}`)}, () => {`,
    `  const steps = replay(${source.machine}, ${input === undefined ? 'undefined' : JSON.stringify(input)}, [`,
    ...events,
    `  ]);`,
    `  expect(firstViolation(${from.name}, ${JSON.stringify(property)}, steps)).toBeNull();`,
    `});`,
    ``,
  ].join('\n');
}
