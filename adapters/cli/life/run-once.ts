/** A whole short life: launch, run one command, end. */
import { Sandbox } from '../../../effects/index.ts';
import type { RunRequest, RunResult } from '../../../effects/index.ts';
import type { Target } from '../arguments/target.ts';
import type { CommandContext, Outcome } from '../command.ts';
import { openPlatform } from '../platform/open-platform.ts';
import { failureOf } from './conclude.ts';
import { launch } from './launch.ts';
import { LifecycleLog, pathData } from './lifecycle-log.ts';
import type { LineOptions } from './run-line.ts';
import { PartialExec, execData, execFailure, runLine } from './run-line.ts';
import { tearDown } from './teardown.ts';
import { watch } from './watch.ts';
import type { WatchPlan } from './watch.ts';

/** What is to be done. */
export interface RunPlan {
  readonly target: Target;
  readonly request: RunRequest;
  /** The command; without one the VM is only launched and ended. */
  readonly line: string | null;
  readonly lineOptions: LineOptions;
  /** Exit with the command's own status. */
  readonly execStatus: boolean;
  /** Whether the life is recorded or shown elsewhere. */
  readonly watch?: WatchPlan;
}

/** Does it. Whatever happens after the launch was sent, the VM is ended before this returns or throws. */
export async function runOnce(plan: RunPlan, context: CommandContext): Promise<Outcome> {
  const { terminal, interrupts, environment } = context;
  await using platform = await openPlatform(plan.target, environment, { warn: (text) => terminal.note(text) });
  const watched = await watch(plan.watch);
  const sandbox = new Sandbox(platform.ports, watched.options);
  const log = new LifecycleLog(sandbox, () => platform.ports.clock.now());
  let result: RunResult | null = null;
  const partial = new PartialExec();
  let failure: unknown = null;
  try {
    const session = await launch(sandbox, plan.request, log, context);
    if (plan.line !== null) {
      result = await runLine(session, plan.line, terminal, { ...plan.lineOptions, signal: interrupts.signal, partial });
      for (const note of result.notes) terminal.note(`note: ${note}`);
    }
  } catch (error) {
    failure = error;
  }
  const teardown = await tearDown(sandbox, terminal, interrupts);
  // Not disposed of: that would terminate once more, after the teardown has said what may be left, and wait unseen.
  sandbox.actor.stop();
  await log.close();
  if (result !== null) watched.printed(result);
  await watched.close();
  const data = {
    platform: plan.target.kind,
    region: platform.ports.region,
    microvmId: sandbox.microvmId,
    image: sandbox.launchImageArn,
    lifecycle: log.states,
    path: pathData(log),
    exec: result === null ? partial.data() : execData(result),
    teardown: { ...teardown },
  };
  const failed = failureOf({
    failure,
    execFailure: result === null ? null : execFailure(result, plan.execStatus, data),
    teardown,
    data,
    region: platform.ports.region,
    interrupts,
    unnamed: true,
  });
  if (failed !== null) throw failed;
  return plan.line === null ? { data, text: log.states.join(' → ') } : { data };
}
