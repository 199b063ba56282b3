/** The end of the demonstration, in a small table. */
import type { RunResult } from '../../../effects/index.ts';
import type { VmState } from '../../../machines/index.ts';
import type { RecordedRequest } from '../../emulator/index.ts';
import type { Paint } from '../output/paint.ts';
import { durationText } from '../output/progress.ts';
import { table } from '../output/table.ts';
import type { LifecycleLog } from './lifecycle-log.ts';

/** How often each operation was called; requests to the VM itself count as `daemon`. */
export type CallCounts = Readonly<Record<string, number>>;

/** Counts what the platform received. */
export function countCalls(requests: readonly RecordedRequest[]): CallCounts {
  const counts: Record<string, number> = {};
  for (const { operation } of requests) {
    const name = operation === 'Endpoint' ? 'daemon' : operation;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** What the demonstration ends with. */
export function demoSummary(
  shown: {
    readonly microvmId: string | null;
    readonly log: LifecycleLog;
    readonly line: string;
    readonly result: RunResult | null;
    readonly calls: CallCounts;
  },
  paint: Paint,
): string {
  const { log, line, result, calls } = shown;
  const path = log.visited.map(({ state, atMs, cause }, index) => {
    const next = log.visited[index + 1]?.atMs;
    return [
      paintState(state, paint),
      durationText(atMs),
      next === undefined ? '' : durationText(next - atMs),
      cause ?? '',
    ];
  });
  const parts = [
    '',
    `${paint.strong('The life of')} ${paint.accent(shown.microvmId ?? 'nothing')}`,
    table([['STATE', 'AFTER', 'FOR', 'CAUSE'], ...path], { indent: '  ', right: [1, 2], header: paint.quiet }),
  ];
  if (result !== null) {
    const output = `${result.stdout}${result.stderr}`.trimEnd();
    parts.push(
      '',
      `${paint.strong('The command')} ${paint.quiet(`(exit ${result.posixExitCode})`)}`,
      `  $ ${line}`,
      ...output.split('\n').map((text) => `  ${text}`),
    );
  }
  const { daemon = 0, ...operations } = calls;
  parts.push(
    '',
    paint.strong('Calls made'),
    table(
      [
        ...Object.entries(operations).map(([name, count]) => [name, String(count)]),
        ['to the VM itself', String(daemon)],
      ],
      { indent: '  ', right: [1] },
    ),
  );
  return parts.join('\n');
}

/** Awake is green, asleep yellow, over quiet. */
function paintState(state: VmState, paint: Paint): string {
  if (state === 'RUNNING') return paint.good(state);
  if (state === 'SUSPENDED' || state === 'SUSPENDING') return paint.warn(state);
  return state === 'TERMINATED' || state === 'TERMINATING' ? paint.quiet(state) : paint.accent(state);
}
