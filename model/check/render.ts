/** A report for people: a table of what was done, and a scenario for whatever went wrong. */
import { scenarioText } from '../counterexample.ts';
import type { PropertyResult } from '../property.ts';
import { pasteableTest, type ModuleSource } from './pasteable.ts';
import type { CheckReport, LevelReport } from './report.ts';

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function perSecond(value: number, ms: number): string {
  if (ms <= 0 || value === 0) return '';
  const rate = (value / ms) * 1000;
  return rate >= 1_000_000 ? `${(rate / 1_000_000).toFixed(1)} M/s` : `${count(Math.round(rate / 1000))} k/s`;
}

/** Lays rows out; `right` names the columns whose cells stand at the right. */
function columns(rows: readonly (readonly string[])[], right: readonly number[]): string {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function good({ holds, witnesses }: PropertyResult): boolean {
  return holds && witnesses > 0;
}

function levelRow(report: CheckReport, level: LevelReport): string[] {
  const own = report.properties.filter((property) => property.level === level.level);
  const held = `${own.filter(good).length}/${own.length}`;
  const name = `${level.level}  ${level.name}`;
  if (level.skipped !== null) return [name, '', '', '', 'left out', '', ''];
  return [
    name,
    count(level.states),
    count(level.transitions),
    count(level.depth),
    held,
    seconds(level.durationMs),
    perSecond(level.transitions, level.durationMs),
  ];
}

/** The table: a row for each level, then the mutants, then how it all ended. */
export function renderTable(report: CheckReport): string {
  const rows = [
    ['level', 'states', 'successors', 'depth', 'properties', 'time', 'rate'],
    ...report.levels.map((level) => levelRow(report, level)),
  ];
  const lines = [columns(rows, [1, 2, 3, 4, 5, 6])];
  if (report.table.length > 0) {
    lines.push(
      '',
      `tables  ${report.table.filter(({ holds }) => holds).length} of ${report.table.length} cells as written`,
    );
  }
  if (report.mutants.length > 0) {
    const killed = report.mutants.filter((mutant) => mutant.killed);
    lines.push('', `mutants  ${killed.length} of ${report.mutants.length} found`);
    lines.push(
      columns(
        report.mutants.map(({ id, level, property, path }) =>
          level === null
            ? [`  ${id}`, 'survived', '', '']
            : [`  ${id}`, property ?? '', `level ${level}`, `${path.length} ${path.length === 1 ? 'step' : 'steps'}`],
        ),
        [3],
      ),
    );
  }
  for (const { level, skipped } of report.levels)
    if (skipped !== null) lines.push('', `level ${level} was left out: ${skipped}`);
  lines.push(
    '',
    report.ok
      ? `All is well (${seconds(report.durationMs)}).`
      : `${report.failures.length} wrong (${seconds(report.durationMs)}):`,
  );
  return [...lines, ...report.failures.map((failure) => `  ${failure}`)].join('\n');
}

/** Every counterexample as a scenario, each followed by a test to paste. */
export function renderCounterexamples(report: CheckReport, module: ModuleSource | null = null): string {
  return report.properties
    .flatMap(({ counterexample }) => {
      if (counterexample === null) return [];
      const test = pasteableTest(counterexample, module);
      return [scenarioText(counterexample), ...(test === null ? [] : ['A test to paste:', test.trimEnd()])];
    })
    .join('\n\n');
}

/** The paths of all mutants that were found. */
export function renderMutants(report: CheckReport): string {
  return report.mutants
    .flatMap(({ id, counterexample }) => (counterexample === null ? [] : [`${id}: ${scenarioText(counterexample)}`]))
    .join('\n\n');
}

/** The report as plain JSON: `data` of `vmchart check --json`. */
export function renderJson(report: CheckReport, module: ModuleSource | null = null): Readonly<Record<string, unknown>> {
  return {
    ok: report.ok,
    durationMs: report.durationMs,
    failures: report.failures,
    levels: report.levels,
    properties: report.properties.map((property) => ({
      ...property,
      counterexample:
        property.counterexample === null
          ? null
          : {
              ...property.counterexample,
              scenario: scenarioText(property.counterexample),
              test: pasteableTest(property.counterexample, module),
            },
    })),
    mutants: report.mutants,
    table: report.table,
  };
}
