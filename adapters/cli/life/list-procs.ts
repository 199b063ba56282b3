/** The commands of a kept VM, as its daemon knows them. */
import type { ProcGroup } from '../../../effects/index.ts';
import type { CommandContext } from '../command.ts';
import { openKept, sessionOf } from '../registry/kept-vm.ts';

/** Asks the daemon of a kept VM, which stays as it is. */
export async function listProcs(
  name: string,
  context: CommandContext,
  values: Parameters<typeof openKept>[2],
): Promise<{ readonly microvmId: string | null; readonly procs: readonly ProcGroup[] }> {
  await using kept = await openKept(name, context, values);
  const session = await sessionOf(kept, context);
  return { microvmId: kept.sandbox.microvmId, procs: await session.procs(context.interrupts.signal) };
}
