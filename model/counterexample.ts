/** A counterexample for people: a scenario to read, and a test to paste. */
import type { Counterexample } from './property.ts';

/** How a pasted test comes by the system and its properties. */
export interface TestSource {
  /** Names to import from `vmchart/model`, besides `replay` and `firstViolation`. */
  readonly names: readonly string[];
  /** Further import lines. */
  readonly imports: readonly string[];
  /** Expression of the list of properties. */
  readonly properties: string;
  /** Expression of the system, where the counterexample does not name one. */
  readonly system?: string;
}

/** Who did what, what went out, and the state after each step. */
export function scenarioText({ property, says, start, steps }: Counterexample): string {
  const width = Math.max(...steps.map(({ by }) => by.length), 5);
  const indent = ' '.repeat(width + 7);
  const lines = [`${property} is violated: ${says}`, `     ${'start'.padEnd(width)}  ${start}`];
  for (const [index, { by, what, effects, state }] of steps.entries()) {
    lines.push(`${String(index + 1).padStart(3)}. ${by.padEnd(width)}  ${what}`);
    for (const effect of effects) lines.push(`${indent}  ${effect}`);
    lines.push(`${indent}→ ${state}`);
  }
  return lines.join('\n');
}

/** A Jest test that walks the path and fails as long as the property is violated. JavaScript, and TypeScript as it is. */
export function scenarioTest(
  { property, says, steps, startIndex, system }: Counterexample,
  source: TestSource,
): string {
  return [
    `import { expect, test } from '@jest/globals';`,
    `import { ${['firstViolation', 'replay', ...source.names].sort().join(', ')} } from 'vmchart/model';`,
    ...source.imports,
    ``,
    `test(${JSON.stringify(`${property}: ${says}`)}, () => {`,
    `  const system = ${system ?? source.system ?? 'theSystem'};`,
    `  const start = system.initial()[${startIndex}];`,
    `  if (start === undefined) throw new Error('the system has no such start');`,
    `  const steps = replay(system, start, [`,
    ...steps.flatMap(({ by, what, event, state }) => [
      `    // ${by}: ${what} → ${state}`,
      `    [${JSON.stringify(what)}, ${JSON.stringify(event)}],`,
    ]),
    `  ]);`,
    `  expect(firstViolation(${source.properties}, ${JSON.stringify(property)}, steps)).toBeNull();`,
    `});`,
    ``,
  ].join('\n');
}
