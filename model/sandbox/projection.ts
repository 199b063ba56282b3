/** The finite classes of the lifecycle machine's states. `projection.test.ts` tests that they form a bisimulation. */
import { substateOf, type LaunchIntent, type SandboxSnapshot } from '../../machines/index.ts';
import type { Projection } from '../transition-system.ts';
import { windowOf } from './times.ts';

function launchClass({ callerKept, wait, resent }: LaunchIntent): string {
  return [callerKept ? 'kept' : 'ours', wait ? 'waits' : 'does not wait', resent > 0 ? 'resent' : 'sent'].join(', ');
}

/** What of a snapshot decides its future, each value in one of finitely many classes. */
export function projectSandbox(snapshot: SandboxSnapshot): Projection {
  const { context } = snapshot;
  const { launch, call } = context;
  const substate = substateOf(snapshot);
  const waits = (command: string): boolean => context.waiting.some((waiting) => waiting.command === command);
  return {
    substate,
    tokenInstalled: context.tokenInstalled,
    imageExists: context.imageExists,
    wasTerminated: context.wasTerminated,
    // Saturated, so that a faulty machine which counts on ends in a finite space too.
    bootstrapCount: Math.min(context.bootstrapCount, 2),
    known: context.microvmId !== null,
    // How the VM was launched matters to nothing but the launch.
    launch: launch !== null && substate.startsWith('PENDING') ? launchClass(launch) : 'over',
    revived: context.revived && substate.startsWith('PENDING'),
    delivering: context.delivering,
    window: windowOf(context) !== null,
    stamped: context.suspendedAt !== null && !substate.startsWith('TERMINAT'),
    accepted: context.acceptedAt !== null,
    call: call === null ? 'none' : call.kind,
    callResent: call !== null && call.resent > 0,
    callWaits: call !== null && call.timeoutMs !== null,
    latched: context.latched === null ? 'no' : context.latched.timeoutMs === null ? 'yes' : 'and waits',
    deferred: context.deferred !== null,
    waits: ['RUN', 'SUSPEND', 'RESUME', 'TERMINATE'].filter(waits).join(),
  };
}
