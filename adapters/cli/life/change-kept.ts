/** One change of a kept VM's state: taken up, changed, written down. */
import { toCliError } from '../cli-error.ts';
import type { CommandContext, Outcome } from '../command.ts';
import { beginStep } from '../output/progress.ts';
import type { KeptVm } from '../registry/kept-vm.ts';
import { openKept } from '../registry/kept-vm.ts';
import { LifecycleLog, pathData } from './lifecycle-log.ts';
import { withAdvice } from './state-advice.ts';

/**
 * Carries it out. The record is written whatever comes of it, so that the next command knows what this one knew;
 * an interrupt ends the wait, not what the service has accepted.
 */
export async function changeKept(
  name: string,
  doing: string,
  context: CommandContext,
  region: string | undefined,
  change: (kept: KeptVm, signal: AbortSignal) => Promise<void>,
): Promise<Outcome> {
  const { terminal, interrupts } = context;
  await using kept = await openKept(name, context, { region });
  const { sandbox } = kept;
  const log = new LifecycleLog(sandbox, () => performance.now());
  const step = beginStep(terminal, `${doing} ${name}`);
  let changed = true;
  let failure: unknown = null;
  try {
    const before = sandbox.lifecycle;
    await change(kept, interrupts.signal);
    changed = sandbox.lifecycle !== before;
    step.done(`${name} is ${sandbox.lifecycle.toLowerCase()}${changed ? '' : ' already'}`);
  } catch (error) {
    step.failed(`${name} is ${sandbox.lifecycle.toLowerCase()}`);
    failure = withAdvice(error, name);
  }
  await log.close();
  try {
    await kept.save();
  } catch (unwritten) {
    if (failure === null) throw unwritten;
    terminal.note(toCliError(unwritten).message);
  }
  if (failure !== null) throw failure;
  const data = {
    name,
    microvmId: sandbox.microvmId,
    region: kept.entry.region,
    state: sandbox.lifecycle,
    changed,
    stateReason: sandbox.stateReason,
    lifecycle: log.states,
    path: pathData(log),
  };
  return { data };
}
