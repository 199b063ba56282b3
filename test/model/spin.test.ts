import { expect, test } from '@jest/globals';
import { composedSystem } from '../../model/composed/composed-system.ts';
import { parseComposition } from '../../model/composition.ts';
import { exploreProduct } from '../../model/product.ts';
import { mutantMachine } from '../../model/sandbox/mutants.ts';
import { toPromela } from '../../model/promela.ts';
import { hasSpin, spin } from './helpers/spin.ts';
import { twoPhaseCommit } from './helpers/two-phase-commit.ts';

const installed = hasSpin();
if (!installed)
  process.stderr.write('SPIN is not installed (Debian: apt-get install spin gcc): its cross-checks are skipped\n');
const testWithSpin = installed ? test : test.skip;

testWithSpin('SPIN finds as many states and successors of two-phase commit, and no violation', () => {
  const composition = parseComposition(twoPhaseCommit(4));
  const ours = exploreProduct(composition);
  const theirs = spin(toPromela(composition));
  expect(theirs).toMatchObject({ errors: 0, states: ours.states, transitions: ours.transitions + 1 });
});

testWithSpin('SPIN finds the violation in a hasty protocol, too', () => {
  const right = twoPhaseCommit(2);
  const rules = right.rules.map((rule) =>
    rule.label === 'commits' ? { ...rule, when: 'tm = tm', set: { commit: '1' } } : rule,
  );
  const composition = parseComposition({ ...right, rules });
  expect(exploreProduct(composition).violation?.property).toBe('consistent');
  expect(spin(toPromela(composition)).errors).toBe(1);
});

testWithSpin('SPIN judges steps, too', () => {
  const right = twoPhaseCommit(2);
  const properties = [
    ...right.properties,
    { id: 'in-order', requirement: null, says: 'Zero prepares before one.', kind: 'step' as const },
  ];
  const judged = right.rules.map((rule) =>
    rule.by === 'RM 1' && rule.label === 'prepares'
      ? { ...rule, judge: [{ property: 'in-order', premise: "prepared1' = 1", check: 'prepared0 = 1' }] }
      : rule,
  );
  const composition = parseComposition({ ...right, properties, rules: judged });
  expect(exploreProduct(composition).violation).toMatchObject({
    property: 'in-order',
    steps: [{ by: 'RM 1', what: 'prepares' }],
  });
  expect(spin(toPromela(composition)).errors).toBe(1);
});

testWithSpin(
  'SPIN finds as many states of the composed system, and no violation',
  () => {
    const composition = parseComposition(composedSystem());
    const theirs = spin(toPromela(composition));
    expect(theirs).toMatchObject({ errors: 0, states: exploreProduct(composition).states });
  },
  120_000,
);

testWithSpin.each(['STATE-5', 'STATE-12', 'fresh-token-per-try'])(
  'SPIN finds a violation without %s, too',
  (id) => {
    const composition = parseComposition(composedSystem({ machine: mutantMachine(id), crashes: 1, faults: 0 }));
    expect(exploreProduct(composition).violation).not.toBeNull();
    expect(spin(toPromela(composition)).errors).toBe(1);
  },
  120_000,
);
