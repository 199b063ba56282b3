/**
 * What of the explored world a real client and the emulator can be made to do: for each step, what the platform has to
 * be brought to first, which faults bring the ending about, and where the platform is afterwards.
 */
import type { FaultKind } from '../../../adapters/emulator/index.ts';
import {
  vmStates,
  type CallKind,
  type Outcome,
  type Report,
  type SandboxSnapshot,
  type VmState,
} from '../../../machines/index.ts';
import { restartLabel, type SandboxAction } from '../../../model/index.ts';

/** Where the platform's VM is; `none` as long as there is none. */
export type PlatformState = VmState | 'none';

/** How a step is caused. */
export interface Plan {
  /** The state that the platform is brought to first; `null` leaves it. */
  readonly bring: VmState | null;
  /** A fault on every send of the call. */
  readonly fault: FaultKind | null;
  /** The first answer to a launch is lost, and meanwhile the VM gets into this state. */
  readonly meanwhile: VmState | null;
  /** Time passes until the wait gives up. */
  readonly untilTimeout: boolean;
  /** Where the platform is afterwards. */
  readonly after: PlatformState;
}

/** What the platform can go to from each state, by itself or because another client asks for it. */
export const hops: Readonly<Record<VmState, readonly VmState[]>> = {
  PENDING: ['RUNNING', 'TERMINATING'],
  RUNNING: ['SUSPENDING', 'TERMINATING'],
  SUSPENDING: ['SUSPENDED'],
  SUSPENDED: ['RUNNING', 'TERMINATING'],
  TERMINATING: ['TERMINATED'],
  TERMINATED: [],
};

/** The shortest way from one state to another, without the first; `null` where there is none. */
export function route(from: VmState, to: VmState): readonly VmState[] | null {
  const ways: VmState[][] = [[]];
  const seen = new Set<VmState>([from]);
  for (const way of ways) {
    const last = way.at(-1) ?? from;
    if (last === to) return way;
    for (const next of hops[last]) {
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return null;
}

const nothing = { bring: null, fault: null, meanwhile: null, untilTimeout: false } as const;

/** The platform is brought to a state, and stays there. */
function at(platform: PlatformState, state: VmState, more: Partial<Plan> = {}): Plan | null {
  if (platform === 'none' || route(platform, state) === null) return null;
  return { ...nothing, bring: state, after: state, ...more };
}

/** Faults that make a definite refusal of the class that the model names. The wire knows more of them than the model. */
const refusals: Readonly<Record<string, FaultKind>> = {
  refused: 'quota',
  'in conflict': 'conflict',
  throttled: 'throttle',
  'not permitted': 'access-denied',
};

function launchPlan(
  { context }: SandboxSnapshot,
  platform: PlatformState,
  { description, error }: Outcome,
): Plan | null {
  const existing = platform === 'none' ? 'PENDING' : platform;
  if (error === null) {
    const says = description?.state as VmState;
    if (platform !== 'none') return at(platform, says);
    if (says === 'PENDING') return { ...nothing, after: 'PENDING' };
    return route('PENDING', says) === null ? null : { ...nothing, meanwhile: says, after: says };
  }
  if (error.message === 'not understood') return { ...nothing, fault: 'garbage', after: existing };
  if (error.message === 'lost') return { ...nothing, fault: 'lost-request', after: platform };
  // Of a repeated launch, a refusal proves nothing, and the real client says so.
  const fault = context.launch?.resent === 0 ? refusals[error.message] : undefined;
  return fault === undefined ? null : { ...nothing, fault, after: platform };
}

/** What an accepted call does to the platform, from the state in which it is accepted. */
function accepted(kind: CallKind, platform: PlatformState): { readonly from: VmState; readonly to: VmState } | null {
  if (kind === 'suspend') return { from: 'RUNNING', to: 'SUSPENDING' };
  if (kind === 'resume') return { from: 'SUSPENDED', to: 'SUSPENDED' };
  if (platform === 'none') return null;
  return { from: platform, to: platform === 'TERMINATED' ? 'TERMINATED' : 'TERMINATING' };
}

function callPlan(kind: CallKind, platform: PlatformState, { description, error }: Outcome): Plan | null {
  // The real calls answer with success alone.
  if (description !== null) return null;
  if (error?.message === 'gone') return at(platform, 'TERMINATED', { fault: 'not-found' });
  const refusal = refusals[error?.message ?? ''];
  if (refusal !== undefined) return platform === 'none' ? null : { ...nothing, fault: refusal, after: platform };
  const lost = error?.message === 'lost' || error?.message === 'not understood';
  if (error !== null && !lost) return null;
  const effect = accepted(kind, platform);
  if (effect === null) return null;
  return at(platform, effect.from, { after: effect.to, fault: lost ? 'lost-answer' : null });
}

/** Which states end a wait, and in which it goes on. */
function waitOf(
  kind: CallKind,
  { context }: SandboxSnapshot,
): { ends: readonly VmState[]; goesOn: readonly VmState[] } {
  const dead: readonly VmState[] = ['TERMINATING', 'TERMINATED'];
  if (kind === 'awaitSuspended') return { ends: ['SUSPENDED', 'TERMINATED'], goesOn: ['SUSPENDING'] };
  if (kind === 'awaitResumed') return { ends: ['RUNNING', ...dead], goesOn: ['SUSPENDED'] };
  if (kind === 'awaitTerminated') return { ends: ['TERMINATED'], goesOn: ['TERMINATING'] };
  const callerKept = context.launch === null || context.launch.callerKept;
  if (!callerKept) return { ends: ['RUNNING', 'SUSPENDING', 'SUSPENDED', ...dead], goesOn: ['PENDING'] };
  if (context.revived) return { ends: ['RUNNING', ...dead], goesOn: ['PENDING', 'SUSPENDED'] };
  return { ends: ['RUNNING', 'SUSPENDED', ...dead], goesOn: ['PENDING'] };
}

function waitPlan(kind: CallKind, state: SandboxSnapshot, platform: PlatformState, outcome: Outcome): Plan | null {
  const { description, error } = outcome;
  const { ends, goesOn } = waitOf(kind, state);
  if (error === null) {
    const says = description?.state as VmState;
    return ends.includes(says) ? at(platform, says) : null;
  }
  if (description !== null) return null;
  if (error.message === 'gone') return at(platform, 'TERMINATED', { fault: 'not-found' });
  if (error.message === 'not permitted' && platform !== 'none') {
    return { ...nothing, fault: 'access-denied', after: platform };
  }
  if (error.message !== 'timed out') return null;
  const here = goesOn.find((waiting) => waiting === platform) ?? goesOn[0];
  return here === undefined ? null : at(platform, here, { untilTimeout: true });
}

function readPlan(platform: PlatformState, { description, error }: Outcome): Plan | null {
  if (error === null) {
    const says = description?.state ?? '';
    return (vmStates as readonly string[]).includes(says) ? at(platform, says as VmState) : null;
  }
  if (error.message === 'gone') return at(platform, 'TERMINATED', { fault: 'not-found' });
  if (platform === 'none') return null;
  if (error.message === 'lost') return { ...nothing, fault: 'lost-request', after: platform };
  if (error.message === 'not understood') return { ...nothing, fault: 'garbage', after: platform };
  const fault = refusals[error.message];
  return fault === undefined ? null : { ...nothing, fault, after: platform };
}

function reportPlan(state: SandboxSnapshot, platform: PlatformState, report: Report): Plan | null {
  const { acceptedAt, microvmId } = state.context;
  // Nobody can ask about a VM whose id is not known, and an old answer cannot be had again.
  if (microvmId === null || (acceptedAt !== null && report.askedAt < acceptedAt)) return null;
  if (report.description === null) return at(platform, 'TERMINATED', { fault: 'not-found' });
  const says = report.description.state;
  return (vmStates as readonly string[]).includes(says) ? at(platform, says as VmState) : null;
}

/** The call in flight whose end an event is; `null` for any other event, and for the end of one that is over. */
export function endedCall(
  state: SandboxSnapshot,
  { event }: SandboxAction,
): { kind: CallKind; outcome: Outcome } | null {
  const { type, output } = event as { readonly type: string; readonly output?: Outcome };
  const { call } = state.context;
  if (call === null || output?.op !== call.op || type !== `xstate.done.actor.${call.kind}`) return null;
  return { kind: call.kind, outcome: output };
}

/** How a step is caused from here, or `null` where neither a caller nor the emulator can. */
export function planOf(state: SandboxSnapshot, platform: PlatformState, action: SandboxAction): Plan | null {
  // Only the moment at which the suspended window is open, or none runs.
  if (/, (at the last instant|too late)$/.test(action.label)) return null;
  if (action.by === 'caller' || action.label === restartLabel) return { ...nothing, after: platform };
  if (action.event.type.startsWith('OBSERVED.')) return reportPlan(state, platform, action.event as Report);
  const ended = endedCall(state, action);
  if (ended === null) return null;
  const { kind, outcome } = ended;
  if (kind === 'launch') return launchPlan(state, platform, outcome);
  if (kind === 'read') return readPlan(platform, outcome);
  if (kind.startsWith('await')) return waitPlan(kind, state, platform, outcome);
  return callPlan(kind, platform, outcome);
}
