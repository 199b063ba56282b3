/** Launches a VM with progress. */
import type { RunRequest, Sandbox, Session } from '../../../effects/index.ts';
import { beginStep } from '../output/progress.ts';
import type { Terminal } from '../output/terminal.ts';
import type { Interrupts } from '../signals.ts';
import type { LifecycleLog } from './lifecycle-log.ts';

/**
 * Launches and waits until the daemon takes commands. An interrupt ends the wait; the VM is then the teardown's.
 *
 * @throws VmchartError of the launch
 */
export async function launch(
  sandbox: Sandbox,
  request: RunRequest,
  log: LifecycleLog,
  around: { readonly terminal: Terminal; readonly interrupts: Interrupts },
): Promise<Session> {
  const step = beginStep(around.terminal, 'launching');
  log.onState(({ state }) => step.update(`launching ${sandbox.microvmId ?? ''} (${state})`));
  try {
    const session = await sandbox.run(request, { signal: around.interrupts.signal });
    step.done(`launched ${sandbox.microvmId}`);
    return session;
  } catch (error) {
    step.failed(around.interrupts.signal.aborted ? 'launch interrupted' : 'launch failed');
    throw error;
  } finally {
    log.onState(() => undefined);
  }
}
