/** From each requirement to the lines that carry it, the properties that check it, and the tests that name it. */
import { sandboxMachine } from '../../machines/index.ts';
import { composedProperties } from '../composed/composed-properties.ts';
import { chartOf } from '../coverage.ts';
import { bootstrapProperties } from '../daemon/bootstrap-properties.ts';
import { execProperties } from '../daemon/exec-properties.ts';
import { guardNames } from '../sandbox/mutants.ts';
import { observedProperties, sometimesProperties } from '../sandbox/observed.ts';
import { symspecFile } from '../symspec.ts';
import { sandboxPropertiesOf } from './level1.ts';

/** A test, by its title. */
export interface TitledTest {
  readonly file: string;
  readonly title: string;
}

/** What carries one requirement. */
export interface RequirementTrace {
  /** `STATE-n`, `ENV-n` or `EXT-n`. */
  readonly id: string;
  readonly says: string;
  /** Transitions of the lifecycle that name it. */
  readonly transitions: readonly string[];
  /** Its guard, where it has one. */
  readonly guards: readonly string[];
  /** Ids of the properties that check it, with their level. */
  readonly properties: readonly { readonly id: string; readonly level: number }[];
  readonly tests: readonly TitledTest[];
  /** What it lacks, in words; empty for one that is covered. */
  readonly missing: readonly string[];
}

interface TracedProperty {
  readonly id: string;
  readonly requirement: string | null;
  readonly level: number;
}

/** Every property of every level, without exploring anything. */
function allProperties(): readonly TracedProperty[] {
  const at = (level: number, properties: readonly { id: string; requirement: string | null }[]): TracedProperty[] =>
    properties.map(({ id, requirement }) => ({ id, requirement, level }));
  const proofs = [...symspecFile.requirements, ...symspecFile.environment, ...symspecFile.extensions].flatMap(
    ({ id, effects, always }) => [
      ...(effects === undefined ? [] : [{ id: `inductive: kept by ${id}`, requirement: id }]),
      ...(always === undefined ? [] : [{ id: `inductive: ${id} itself`, requirement: id }]),
    ],
  );
  return [
    ...at(1, [...sandboxPropertiesOf(), ...sometimesProperties, ...observedProperties]),
    ...at(2, composedProperties),
    ...at(3, [...bootstrapProperties, ...execProperties]),
    ...at(4, proofs),
  ];
}

/** Whether a title names a requirement: `STATE-1` is not in `STATE-11`. */
function names(title: string, id: string): boolean {
  return new RegExp(`(^|[^A-Za-z0-9-])${id}(?![0-9])`).test(title);
}

/**
 * Traces every requirement of the spec.
 *
 * A requirement has to be carried by a transition or a guard, checked by a property that a machine can break, and
 * named by a test; an environment or extension effect by a transition and a property.
 */
export function traceRequirements(tests: readonly TitledTest[]): readonly RequirementTrace[] {
  const { transitions } = chartOf(sandboxMachine);
  const properties = allProperties();
  const own = symspecFile.requirements.map(({ id }) => id);
  return [...symspecFile.requirements, ...symspecFile.environment, ...symspecFile.extensions].map(({ id, says }) => {
    const trace = {
      id,
      says,
      transitions: transitions
        .filter(({ requirements }) => requirements.includes(id))
        .map((transition) => transition.id),
      guards: guardNames.filter((guard) => guard === id),
      properties: properties
        .filter(({ requirement }) => requirement === id)
        .map(({ id: property, level }) => ({ id: property, level })),
      tests: tests.filter(({ title }) => names(title, id)),
    };
    const missing = [
      trace.transitions.length + trace.guards.length === 0 && 'no transition and no guard names it',
      !trace.properties.some(({ level }) => level < 4) && 'no property of a machine checks it',
      own.includes(id) && trace.tests.length === 0 && 'no test is named after it',
    ].filter((lack) => lack !== false);
    return { ...trace, missing };
  });
}
