/**
 * A check cut into tasks that depend on nothing but themselves: plain data, so that a host may give them to threads.
 */
import { ModelError } from '../model-error.ts';
import { mutants, withoutGuard, type GuardName, type Mutant } from '../sandbox/mutants.ts';
import { checkLevel1 } from './level1.ts';
import { checkLevel2, composedVariants } from './level2.ts';
import { checkLevel3 } from './level3.ts';
import { checkLevel4 } from './level4.ts';
import { pathLines, type Level, type MutantReport } from './report.ts';
import type { LevelFindings } from './results.ts';

/** Bounds that all tasks of a check share. */
export interface CheckBounds {
  /** A guard to switch off in levels 1 and 2. */
  readonly without?: GuardName;
  readonly faults?: number;
  readonly crashes?: number;
  /** How many states an exploration may have at most. */
  readonly limit?: number;
}

/** One piece of a check. */
export type CheckTask =
  | { readonly kind: 'level'; readonly level: Level; readonly part: number; readonly bounds: CheckBounds }
  | { readonly kind: 'mutant'; readonly id: string; readonly bounds: CheckBounds };

/** What came of a task. */
export type TaskResult =
  | {
      readonly kind: 'level';
      readonly level: Level;
      readonly findings: LevelFindings | null;
      /** Why the level was left out. */
      readonly skipped: string | null;
      readonly durationMs: number;
    }
  | { readonly kind: 'mutant'; readonly report: MutantReport };

/** What a check consists of: the long pieces first, so that two hands are done at about the same time. */
export function planTasks(levels: readonly Level[], mutate: boolean, bounds: CheckBounds): readonly CheckTask[] {
  const level = (number: Level, part = 0): CheckTask => ({ kind: 'level', level: number, part, bounds });
  return [
    ...(levels.includes(1) ? [level(1)] : []),
    ...(levels.includes(2) ? composedVariants.map((_variant, part) => level(2, part)) : []),
    ...(levels.includes(4) ? [level(4)] : []),
    ...(mutate ? mutants.map(({ id }): CheckTask => ({ kind: 'mutant', id, bounds })) : []),
    ...(levels.includes(3) ? [level(3)] : []),
  ];
}

/** The bounds that the composed system knows. */
function composedBounds({ faults, crashes, limit }: CheckBounds) {
  return {
    ...(faults === undefined ? {} : { faults }),
    ...(crashes === undefined ? {} : { crashes }),
    ...(limit === undefined ? {} : { limit }),
  };
}

async function runLevel(level: Level, part: number, bounds: CheckBounds): Promise<LevelFindings> {
  const { without, limit } = bounds;
  const machine = without === undefined ? undefined : withoutGuard(without);
  const variant = machine === undefined ? {} : { machine, machineExpression: `withoutGuard('${without}')` };
  const limited = limit === undefined ? {} : { limit };
  switch (level) {
    case 1:
      return checkLevel1({ ...variant, ...limited });
    case 2: {
      const composed = composedVariants[part];
      if (composed === undefined) throw new ModelError('unknown-name', `level 2 has no part ${part}`);
      return checkLevel2(composed, { ...variant, ...composedBounds(bounds) });
    }
    case 3:
      return checkLevel3(limited);
    case 4:
      return await checkLevel4();
  }
}

/** Looks for a mutant on level 1, and on level 2 if it is not found there. */
function hunt({ id, says, machine, composed }: Mutant, bounds: CheckBounds): Omit<MutantReport, 'durationMs'> {
  const attempts: { level: Level; run: () => LevelFindings }[] = [];
  const variant = machine === undefined ? {} : { machine: machine(), machineExpression: `mutantMachine('${id}')` };
  const limited = bounds.limit === undefined ? {} : { limit: bounds.limit };
  if (machine !== undefined) attempts.push({ level: 1, run: () => checkLevel1({ ...variant, ...limited }) });
  attempts.push({
    level: 2,
    run: () => checkLevel2({ name: id, options: composed ?? {} }, { ...variant, ...composedBounds(bounds) }),
  });
  for (const { level, run } of attempts) {
    const broken = run().properties.find(({ counterexample }) => counterexample !== null);
    if (broken === undefined) continue;
    const { counterexample } = broken;
    return { id, says, killed: true, level, property: broken.id, path: pathLines(counterexample), counterexample };
  }
  return { id, says, killed: false, level: null, property: null, path: [], counterexample: null };
}

/**
 * Runs one task.
 *
 * @param now a monotonic reading in milliseconds; only durations are made of it
 * @throws ModelError for a limit that was met, or an id that nobody knows
 */
export async function runTask(task: CheckTask, now: () => number): Promise<TaskResult> {
  const startedAt = now();
  if (task.kind === 'mutant') {
    const mutant = mutants.find(({ id }) => id === task.id);
    if (mutant === undefined) throw new ModelError('unknown-name', `no mutant '${task.id}'`);
    return { kind: 'mutant', report: { ...hunt(mutant, task.bounds), durationMs: now() - startedAt } };
  }
  const { level, part, bounds } = task;
  try {
    const findings = await runLevel(level, part, bounds);
    return { kind: 'level', level, findings, skipped: null, durationMs: now() - startedAt };
  } catch (error) {
    // Without the solver the other levels are worth having.
    if (!(error instanceof ModelError) || error.reason !== 'missing-dependency') throw error;
    return { kind: 'level', level, findings: null, skipped: error.message, durationMs: now() - startedAt };
  }
}
