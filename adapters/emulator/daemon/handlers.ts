/** The workload's own hook handlers (`agentd-protocol.md` 3.6). Their outcome changes no answer. */
import type { HookName } from '../guest.ts';
import type { VmFiles } from '../guest/vm-files.ts';
import { LaunchFailure } from '../guest/vm-processes.ts';
import type { VmProcess, VmProcesses } from '../guest/vm-processes.ts';
import { isExecutable } from '../guest/launch-check.ts';
import type { Alarms } from './alarms.ts';
import type { HandlerOutcome } from './hooks.ts';

/** Where handlers lie in a VM; not configurable. */
export const handlerDirectory = '/etc/agentd/hooks.d';

/** Runs the handler of a hook to its end or its budget; `null` when there is none. */
export async function runHandler(
  name: HookName,
  world: {
    readonly files: VmFiles;
    readonly processes: VmProcesses;
    readonly alarms: Alarms;
    readonly budgetMs: number;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<HandlerOutcome | null> {
  const { alarms } = world;
  const path = `${handlerDirectory}/${name}`;
  if (!world.files.begun || world.files.stat(path) === null) return null;
  const began = alarms.now();
  const failed = (error: string): HandlerOutcome => ({
    exit_code: null,
    signal: null,
    timed_out: false,
    duration_ms: Math.round(alarms.now() - began),
    error,
  });
  if (isExecutable(world.files, path) !== true) return failed('not an executable regular file');
  let child: VmProcess;
  try {
    child = await world.processes.launch({
      argv: [path],
      env: { ...world.env, AGENTD_HOOK: name },
      cwd: '/',
      uid: null,
      gid: null,
      stdin: false,
    });
  } catch (error) {
    return failed(error instanceof LaunchFailure ? error.message : 'the system refused');
  }
  // A handler that nobody listens to would stop at a full pipe.
  const ignore = (): void => undefined;
  for (const pipe of [child.stdout, child.stderr]) pipe.read(ignore, ignore);
  let timedOut = false;
  const cancel = alarms.set(world.budgetMs, () => {
    timedOut = true;
    child.signalGroup('SIGKILL');
  });
  const { exitCode, signal } = await child.exit;
  cancel();
  return { exit_code: exitCode, signal, timed_out: timedOut, duration_ms: Math.round(alarms.now() - began) };
}
