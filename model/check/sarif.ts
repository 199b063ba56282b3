/** A report as SARIF 2.1.0, which code hosts show as findings. */
import { scenarioText } from '../counterexample.ts';
import { verdictsOf, type CheckReport } from './report.ts';

/** Options of {@link renderSarif}. */
export interface SarifOptions {
  readonly version: string;
  /** The file that findings point to, relative to the repository; the lifecycle machine when left out. */
  readonly file?: string;
}

interface Finding {
  readonly ruleId: string;
  readonly text: string;
}

function findings(report: CheckReport): Finding[] {
  const properties = [...verdictsOf(report.properties)]
    .filter(([, verdict]) => verdict === 'violated' || verdict === 'untested')
    .map(([{ id, says, counterexample }]) => ({
      ruleId: id,
      text: counterexample === null ? `${says} It was never put to the test.` : scenarioText(counterexample),
    }));
  const cells = report.table
    .filter(({ holds }) => !holds)
    .map(({ state, event, expected, found }) => ({
      ruleId: 'lifecycle-tables',
      text: `${state} × ${event}: '${expected}' expected, '${found ?? 'nothing'}' found.`,
    }));
  const mutants = report.mutants
    .filter(({ killed }) => !killed)
    .map(({ id, says }) => ({ ruleId: 'surviving-mutant', text: `${id} survived: ${says}` }));
  return [...properties, ...cells, ...mutants];
}

/** A relative reference as code hosts compare it: with slashes, without a dot before the first. */
function uriOf(file: string): string {
  return encodeURI(file.replaceAll('\\', '/').replace(/^(?:\.\/+)+/, ''));
}

/** Every property as a rule, the tables and the mutants where they were part of the check, everything that is wrong as a result. */
export function renderSarif(report: CheckReport, { version, file = 'machines/sandbox.ts' }: SarifOptions): string {
  const rules = [
    ...new Map(report.properties.map(({ id, says }) => [id, says])),
    ...(report.table.length > 0
      ? [['lifecycle-tables', 'Every cell of the two tables of the lifecycle is as written.'] as const]
      : []),
    ...(report.mutants.length > 0
      ? [['surviving-mutant', 'The checker finds every fault that is seeded on purpose.'] as const]
      : []),
  ];
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'vmchart check',
            version,
            rules: rules.map(([id, text]) => ({ id, shortDescription: { text } })),
          },
        },
        results: findings(report).map(({ ruleId, text }) => ({
          ruleId,
          ruleIndex: rules.findIndex(([id]) => id === ruleId),
          level: 'error',
          message: { text },
          locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, region: { startLine: 1 } } }],
        })),
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}
