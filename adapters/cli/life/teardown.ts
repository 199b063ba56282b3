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
  const unresolved = launched && !gone && microvmId === null;
  const doing = unresolved ? 'asking what became of the launch; a second signal ends the wait' : `ending ${microvmId}`;
  // Asking takes a while when there is no answer, and a log has no line that turns.
  if (unresolved && !terminal.live) terminal.progress(doing);
  const step = launched ? beginStep(terminal, doing) : null;
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

const intent = 'launch intent ';

/** The client token of a launch of which nobody knows whether it made a VM, or `null`. */
export function unresolvedToken({ undeleted }: TeardownReport): string | null {
  return undeleted.find((left) => left.startsWith(intent))?.slice(intent.length) ?? null;
}

/** What is true of such a launch when no record of it is kept. */
export function unresolvedSentence(token: string): string {
  return `Whether RunMicrovm made a VM is unknown, and one may be running; the launch's client token is ${token}.`;
}

/** How a VM is found whose id nobody learned. */
export function unresolvedSuggestions(region: string): string[] {
  return [
    `Look for a VM that was launched just now, with ListMicrovms or in the console: aws lambda-microvms list-microvms --region ${region}`,
    `End it by its id: aws lambda-microvms terminate-microvm --region ${region} --microvm-identifier ID`,
    'Only then run the command again: it would launch another VM.',
  ];
}
