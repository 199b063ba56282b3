/** The whole check: plans the tasks, has them run, and puts the report together. */
import { ModelError } from '../model-error.ts';
import { failuresOf, type CheckReport, type Level, type LevelReport } from './report.ts';
import { mergeResults } from './results.ts';
import { planTasks, runTask, type CheckBounds, type CheckTask, type TaskResult } from './tasks.ts';

/** Options of {@link runCheck}. */
export interface CheckOptions extends CheckBounds {
  /** Which levels; all four unless said otherwise. */
  readonly levels?: readonly Level[];
  /** Hunt every mutant, too. */
  readonly mutate?: boolean;
}

/** What the check needs of whoever runs it. */
export interface CheckHost {
  /** A monotonic reading in milliseconds. */
  readonly now: () => number;
  /** Runs the tasks, in any order and on any thread; one after the other on this one when left out. */
  readonly run?: (tasks: readonly CheckTask[]) => Promise<readonly TaskResult[]>;
}

const levelNames: Readonly<Record<Level, string>> = {
  1: 'the client in any environment',
  2: 'the composed system',
  3: "the daemon's machines",
  4: 'the spec, for any number of steps',
};

type LevelTaskResult = Extract<TaskResult, { kind: 'level' }>;

/** One report for all pieces of a level. */
function levelReport(level: Level, pieces: readonly LevelTaskResult[]): LevelReport {
  const parts = pieces.flatMap(({ findings }) => findings?.parts ?? []);
  return {
    level,
    name: levelNames[level],
    states: parts.reduce((sum, { states }) => sum + states, 0),
    transitions: parts.reduce((sum, { transitions }) => sum + transitions, 0),
    depth: Math.max(0, ...pieces.map(({ findings }) => findings?.depth ?? 0)),
    durationMs: pieces.reduce((sum, { durationMs }) => sum + durationMs, 0),
    parts,
    skipped: pieces.find(({ skipped }) => skipped !== null)?.skipped ?? null,
  };
}

/** Puts the results of all tasks together. */
export function gather(levels: readonly Level[], results: readonly TaskResult[], durationMs: number): CheckReport {
  const pieces = results.filter((result) => result.kind === 'level');
  const ofLevel = (level: Level): readonly LevelTaskResult[] => pieces.filter((piece) => piece.level === level);
  const found = {
    properties: levels.flatMap((level) =>
      mergeResults(ofLevel(level).map(({ findings }) => findings?.properties ?? [])),
    ),
    mutants: results.flatMap((result) => (result.kind === 'mutant' ? [result.report] : [])),
    table: pieces.flatMap(({ findings }) => findings?.table ?? []),
  };
  const failures = failuresOf(found);
  return {
    ok: failures.length === 0,
    levels: levels.map((level) => levelReport(level, ofLevel(level))),
    ...found,
    durationMs,
    failures,
  };
}

/**
 * Checks the machines against the spec.
 *
 * @throws ModelError with reason `limit` when an exploration has more states than it may, and with
 *   `missing-dependency` when level 4 alone is asked for and its solver is not installed
 * @example
 * const report = await runCheck({ levels: [1], mutate: true }, { now: () => performance.now() });
 * if (!report.ok) throw new Error(report.failures.join('\n'));
 */
export async function runCheck(options: CheckOptions, host: CheckHost): Promise<CheckReport> {
  const { levels = [1, 2, 3, 4], mutate = false, ...bounds } = options;
  const startedAt = host.now();
  const tasks = planTasks(levels, mutate, bounds);
  const results = host.run === undefined ? await inOrder(tasks, host.now) : await host.run(tasks);
  const report = gather(levels, results, host.now() - startedAt);
  const [only, ...more] = report.levels;
  if (only?.skipped !== undefined && only.skipped !== null && more.length === 0) {
    throw new ModelError('missing-dependency', only.skipped);
  }
  return report;
}

async function inOrder(tasks: readonly CheckTask[], now: () => number): Promise<readonly TaskResult[]> {
  const results: TaskResult[] = [];
  for (const task of tasks) results.push(await runTask(task, now));
  return results;
}
