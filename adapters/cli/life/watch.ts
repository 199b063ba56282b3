/** Watching a life that a command drives: into a file, or in an inspector, or both. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { RunResult, SandboxOptions } from '../../../effects/index.ts';
import type { ControlPlaneSend } from '../../../effects/control-plane/diagnostics.ts';
import type { TraceEntry } from '../../trace/entry.ts';
import type { recordTo, Recording } from '../../trace/file.ts';
import { text } from '../arguments/argument.ts';
import { CliError, usageError } from '../cli-error.ts';

/** The options of a command whose life can be watched. */
export const watchOptions = {
  record: text({
    summary: 'Write the history of the life to a file, for vmchart ui --replay and vmchart graph --replay.',
    placeholder: 'FILE',
  }),
  inspect: text(
    {
      summary: 'Show the life in an inspector: the address that vmchart ui printed, or a ws:// of Stately’s.',
      placeholder: 'ADDRESS',
    },
    (value, label) => {
      if (/^(wss?|http):\/\//.test(value) && URL.canParse(value)) return value;
      throw usageError(`${label} takes the address that vmchart ui prints, or one that begins with ws://.`);
    },
  ),
};

/** The values of {@link watchOptions}. */
export interface WatchPlan {
  readonly record: string | null;
  readonly inspect: string | null;
}

/** A life that is watched. */
export interface Watch {
  /** To be given to `Sandbox`. */
  readonly options: Pick<SandboxOptions, 'inspect'>;
  /** Tells how much a command printed. */
  printed(result: RunResult): void;
  /** Resolves when all is written and sent. */
  close(): Promise<void>;
}

const unwatched: Watch = { options: {}, printed: () => undefined, close: () => Promise.resolve() };

/** A file that cannot be written is refused before anything is launched. */
function recordingOf(path: string, begin: typeof recordTo): Recording {
  try {
    return begin(path, 'a run of vmchart');
  } catch (error) {
    const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code;
    throw new CliError('Config', `${path} cannot be written (${code ?? 'unknown reason'}).`, { cause: error });
  }
}

/** Begins to watch. Nothing is loaded when nothing is asked for. */
export async function watch(plan: WatchPlan | undefined): Promise<Watch> {
  const { record = null, inspect = null } = plan ?? {};
  if (record === null && inspect === null) return unwatched;
  const [{ inspectAll, inspectTo, statelyInspector }, { recordTo }, { inspectInto }, { controlPlaneChannel }] =
    await Promise.all([
      import('../../inspect.ts'),
      import('../../trace/file.ts'),
      import('../../trace/inspection.ts'),
      import('../../../effects/control-plane/diagnostics.ts'),
    ]);
  // One reading for all: a life is told in wall time.
  const wallOffsetMs = () => Date.now() - performance.now();
  const recording = record === null ? null : recordingOf(record, recordTo);
  const inspector =
    inspect === null ? null : /^wss?:/.test(inspect) ? statelyInspector(inspect) : inspectTo(inspect, { wallOffsetMs });
  let life: string | null = null;
  const tell = (entry: TraceEntry) => {
    life ??= entry.life;
    recording?.tell(entry);
  };
  const onSend = (message: unknown) => {
    if (life === null) return;
    const { operation, durationMs, status, error } = message as ControlPlaneSend;
    tell({
      kind: 'call',
      at: Date.now(),
      life,
      layer: 'wire',
      operation,
      durationMs: Math.round(durationMs),
      ok: error === null,
      status,
      note: error?.message ?? null,
    });
  };
  if (recording !== null) subscribe(controlPlaneChannel, onSend);
  const follow = recording === null ? null : inspectInto(tell, { source: 'run', wallOffsetMs });
  return {
    options: { inspect: inspectAll(...[follow, inspector].filter((each) => each !== null)) },
    printed({ stdout, stderr }) {
      if (life === null) return;
      for (const [stream, printed] of Object.entries({ stdout, stderr }) as ['stdout' | 'stderr', string][]) {
        if (printed !== '')
          tell({ kind: 'output', at: Date.now(), life, stream, bytes: Buffer.byteLength(printed), text: null });
      }
    },
    async close() {
      unsubscribe(controlPlaneChannel, onSend);
      await Promise.all([recording?.close(), inspector?.close()]);
    },
  };
}
