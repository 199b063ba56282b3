/** Ends what a command launched, whatever happened before, and says what is left. */
import type { Sandbox, TeardownReport } from '../../../effects/index.ts';
import { beginStep } from '../output/progress.ts';
import type { Terminal } from '../output/terminal.ts';
import type { Interrupts } from '../signals.ts';

/** How long a teardown waits for TERMINATED after the service has accepted, in milliseconds. */
const endWaitMs = 60_000;

/**
 * Terminates the VM and waits for its end. A further Ctrl-C ends the wait, never the intent.
 *
 * @returns the report; `undeleted` names what may still exist
 */
export async function tearDown(sandbox: Sandbox, terminal: Terminal, interrupts: Interrupts): Promise<TeardownReport> {
  const { microvmId } = sandbox;
  const launched = microvmId !== null || sandbox.substate !== 'PENDING.idle';
  const gone = sandbox.isTerminal;
  const step = launched ? beginStep(terminal, `ending ${microvmId ?? 'the launch'}`) : null;
  const report = await sandbox.terminate({ waitForTerminated: endWaitMs, signal: interrupts.hurry });
  const name = sandbox.microvmId ?? 'what was launched';
  if (report.undeleted.length > 0) step?.failed(`${name} may still be there`);
  else if (gone) step?.done(`${name} was gone already`);
  else if (report.lifecycle === 'TERMINATED') step?.done(`ended ${name}`);
  else step?.done(`${name} is ending (${report.lifecycle})`);
  return report;
}

/** One sentence on what a teardown left behind, or `null`. */
export function leftovers(report: TeardownReport): string | null {
  if (report.undeleted.length === 0) return null;
  return `Not deleted: ${report.undeleted.join(', ')} (${report.failures.join('; ') || 'no answer'}).`;
}

/** What to type to end what was left behind. */
export function cleanupSuggestions(report: TeardownReport, region: string): string[] {
  return report.undeleted
    .filter((id) => id.startsWith('microvm-'))
    .map((id) => `aws lambda-microvms terminate-microvm --region ${region} --microvm-identifier ${id}`);
}
