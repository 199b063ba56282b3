/** A report as JUnit XML, which build servers show as tests. */
import { scenarioText } from '../counterexample.ts';
import { verdictsOf, type CheckReport } from './report.ts';

function escape(text: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}

/** Why a property has neither held nor failed. */
const notReached = 'The search stopped at the first violation, before this was put to the test.';

interface Case {
  readonly name: string;
  readonly failure: string | null;
  readonly details: string;
  readonly skipped?: boolean;
}

function suite(name: string, durationMs: number, cases: readonly Case[]): string {
  const failures = cases.filter(({ failure }) => failure !== null).length;
  const time = (durationMs / 1000).toFixed(3);
  return [
    `  <testsuite name="${escape(name)}" tests="${cases.length}" failures="${failures}" time="${time}">`,
    ...cases.map((one) => {
      const opening = `    <testcase classname="${escape(name)}" name="${escape(one.name)}"`;
      if (one.skipped === true) return `${opening}>\n      <skipped message="${notReached}"/>\n    </testcase>`;
      if (one.failure === null) return `${opening}/>`;
      return `${opening}>\n      <failure message="${escape(one.failure)}">${escape(one.details)}</failure>\n    </testcase>`;
    }),
    `  </testsuite>`,
  ].join('\n');
}

/** One suite a level, one test a property; the mutants and the tables are suites of their own. */
export function renderJunit(report: CheckReport): string {
  const levels = report.levels.map(({ level, name, durationMs }) =>
    suite(
      `level ${level}: ${name}`,
      durationMs,
      [...verdictsOf(report.properties)]
        .filter(([property]) => property.level === level)
        .map(([{ id, says, counterexample }, verdict]) => ({
          name: `${id}: ${says}`,
          failure: verdict === 'violated' || verdict === 'untested' ? verdict : null,
          details: counterexample === null ? says : scenarioText(counterexample),
          skipped: verdict === 'not reached',
        })),
    ),
  );
  const mutants = suite(
    'mutants',
    report.mutants.reduce((sum, { durationMs }) => sum + durationMs, 0),
    report.mutants.map(({ id, says, killed }) => ({ name: id, failure: killed ? null : 'survived', details: says })),
  );
  const cells = suite(
    'tables of the lifecycle',
    0,
    report.table.map(({ table, state, event, condition, expected, found, holds }) => ({
      name: `${table}: ${state} × ${event}${condition === null ? '' : `, ${condition}`}`,
      failure: holds ? null : `${expected} expected, ${found ?? 'nothing'} found`,
      details: '',
    })),
  );
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites name="vmchart check">`,
    ...levels,
    ...(report.table.length > 0 ? [cells] : []),
    ...(report.mutants.length > 0 ? [mutants] : []),
    `</testsuites>`,
    ``,
  ].join('\n');
}
