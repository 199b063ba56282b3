/** How resources look on the wire: every optional member without a value is null (`control-plane-api.md` 7). */
import type { VmState } from '../../../machines/index.ts';
import type { Microvm } from '../service/microvm.ts';
import { timestamp } from './call.ts';

/** Sentences whose wording nobody has seen, among those of `machines/platform-reasons.ts` and the emulator's own. */
const unseenReason = /lifecycle hook (timed out|could not be reached)|^MicroVM (could not be started|was lost)/;

function reasonOf({ stateReason }: Microvm, unseenTexts: 'plausible' | 'absent'): string | null {
  return unseenTexts === 'absent' && unseenReason.test(stateReason ?? '') ? null : stateReason;
}

/** What Run and Get answer. */
export function describeMicrovm(
  microvm: Microvm,
  unseenTexts: 'plausible' | 'absent',
  state: VmState = microvm.state,
): object {
  const { facts, terminatedWall } = microvm;
  const ended = state === 'TERMINATED' && terminatedWall !== null;
  const ending = state === 'TERMINATING' || state === 'TERMINATED';
  return {
    microvmId: facts.microvmId,
    state,
    endpoint: microvm.endpoint,
    imageArn: facts.imageArn,
    imageVersion: facts.imageVersion,
    maximumDurationInSeconds: facts.maximumDurationInSeconds,
    startedAt: timestamp(microvm.startedWall),
    executionRoleArn: facts.executionRoleArn,
    idlePolicy: facts.idlePolicy,
    terminatedAt: ended ? timestamp(terminatedWall) : null,
    stateReason: ending ? reasonOf(microvm, unseenTexts) : null,
    terminationReasonCode: null,
    ingressNetworkConnectors: facts.ingressNetworkConnectors,
    egressNetworkConnectors: facts.egressNetworkConnectors,
  };
}

/** What an item of ListMicrovms holds: exactly these five. */
export function summarizeMicrovm(microvm: Microvm): object {
  const { facts } = microvm;
  return {
    microvmId: facts.microvmId,
    state: microvm.state,
    imageArn: facts.imageArn,
    imageVersion: facts.imageVersion,
    startedAt: timestamp(microvm.startedWall),
  };
}
