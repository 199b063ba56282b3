/** The test to paste for any counterexample of a check. */
import { compositionTest, variantNames } from '../composition-replay.ts';
import { scenarioTest } from '../counterexample.ts';
import type { Counterexample } from '../property.ts';

/** Where a user's own machine and properties come from; see `CheckModule`. */
export interface ModuleSource {
  /** The file, such as `orders.ts`, or the package. */
  readonly path: string;
}

/** Which names a system's expression and its properties need, by what the expression begins with. */
const sources: readonly (readonly [system: string, names: readonly string[], properties: string])[] = [
  ['observedSystem(', ['observedProperties', 'observedSystem'], 'observedProperties'],
  ['sandboxSystem(', ['sandboxPropertiesOf', 'sandboxSystem'], 'sandboxPropertiesOf'],
];

/**
 * A Jest test that fails as long as the property is violated along this path; `null` for a counterexample that is no
 * path, such as a proof that fails.
 */
export function pasteableTest(counterexample: Counterexample, module: ModuleSource | null = null): string | null {
  const { system, steps } = counterexample;
  if (module !== null) {
    return scenarioTest(counterexample, {
      names: ['moduleSystem'],
      imports: [`import check from '${importable(module.path)}';`],
      system: 'moduleSystem(check)',
      properties: 'check.properties',
    });
  }
  if (system === null || steps.length === 0) return null;
  if (system.startsWith('composedSystem(')) return compositionTest(counterexample);
  const source = sources.find(([start]) => system.startsWith(start));
  if (source === undefined) return null;
  const [, names, properties] = source;
  return scenarioTest(counterexample, {
    names: [...names, ...variantNames(system)],
    imports: [],
    properties: properties === 'sandboxPropertiesOf' ? `sandboxPropertiesOf(${machineOf(system) ?? ''})` : properties,
  });
}

/** A path as an import wants it: without a dot or a slash before it, it would name a package. */
function importable(path: string): string {
  return /\.[cm]?[jt]s$/.test(path) && !/^\.{0,2}\//.test(path) ? `./${path}` : path;
}

/** The expression of the machine in that of its system: the second argument. */
function machineOf(system: string): string | null {
  return /, ((?:withoutGuard|mutantMachine)\('[^']*'\))\)$/.exec(system)?.[1] ?? null;
}
