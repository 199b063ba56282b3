/** The test to paste for any counterexample of a check. */
import { compositionTest } from '../composition-replay.ts';
import { scenarioTest } from '../counterexample.ts';
import type { Counterexample } from '../property.ts';

/** Where a user's own machine and properties come from; see `CheckModule`. */
export interface ModuleSource {
  /** As the test imports it, such as `./orders.ts`. */
  readonly path: string;
}

/** Properties that the watcher of level 1 demands, by what the expression of their system begins with. */
const propertiesOf: readonly (readonly [system: string, imports: string, properties: string])[] = [
  ['observedSystem(', 'observedProperties, observedSystem', 'observedProperties'],
  ['sandboxSystem(', 'sandboxPropertiesOf, sandboxSystem', 'sandboxPropertiesOf()'],
];

/** What a variant of the machine in an expression needs. */
function variantImports(system: string): string {
  return ['withoutGuard', 'mutantMachine']
    .filter((name) => system.includes(`${name}(`))
    .map((name) => `, ${name}`)
    .join('');
}

/**
 * A Jest test that fails as long as the property is violated along this path; `null` for a counterexample that is no
 * path, such as a proof that fails.
 */
export function pasteableTest(counterexample: Counterexample, module: ModuleSource | null = null): string | null {
  const { system, steps } = counterexample;
  if (module !== null) {
    return scenarioTest(counterexample, {
      imports: [`import { moduleSystem } from 'vmchart/model';`, `import check from '${module.path}';`],
      system: 'moduleSystem(check)',
      properties: 'check.properties',
    });
  }
  if (system === null || steps.length === 0) return null;
  if (system.startsWith('composedSystem(')) return compositionTest(counterexample);
  const source = propertiesOf.find(([start]) => system.startsWith(start));
  if (source === undefined) return null;
  const [, imports, properties] = source;
  const own = properties === 'sandboxPropertiesOf()' ? machineOf(system) : null;
  return scenarioTest(counterexample, {
    imports: [`import { ${imports}${variantImports(system)} } from 'vmchart/model';`],
    properties: own === null ? properties : `sandboxPropertiesOf(${own})`,
  });
}

/** The expression of the machine in that of its system: the second argument. */
function machineOf(system: string): string | null {
  return /, ((?:withoutGuard|mutantMachine)\('[^']*'\))\)$/.exec(system)?.[1] ?? null;
}
