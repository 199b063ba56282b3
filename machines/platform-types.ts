/** What the service's view of one MicroVM is made of: its terms, its memory, what it hears and what it does. */
import type { Cause, VmState } from './records.ts';

/** The hooks that the platform calls in a running VM (`platform-behaviour.md` 8.1). */
export type RuntimeHook = 'run' | 'suspend' | 'resume' | 'terminate';

/** How the service answers a call: 200, 409 ConflictException, or 400 ValidationException. */
export type CallAnswer = 'ok' | 'conflict' | 'validation';

/**
 * What nobody has measured for certain, or what the sources disagree about, each as a switch with a name.
 *
 * A client has to be right under every value (FC-152).
 */
export interface PlatformOptions {
  /** Whether the suspended window also ends a VM that its caller suspended. Documented; one live sample says no. */
  readonly applyWindowToExplicitSuspend: boolean;
  /** Whether a read says PENDING while a VM resumes, instead of SUSPENDED. Both were seen. */
  readonly resumeShowsPending: boolean;
  /** Whether a request that the proxy denies resets the idle timer and wakes a suspended VM. */
  readonly badTokenWakes: boolean;
  /** Whether an open connection without bytes counts as traffic. */
  readonly silentStreamCounts: boolean;
  /** Whether requests reach the guest while the run hook still runs. The guide says no, one project saw it. */
  readonly leakTrafficBeforeRun: boolean;
  /** Whether a request that arrives in mid-suspend is held for the auto-resume; otherwise it is refused. */
  readonly holdTrafficWhileSuspending: boolean;
  /** What a resume hook that fails does to the VM. */
  readonly failedResume: 'terminate' | 'suspend-again';
  readonly suspendOfPending: CallAnswer;
  readonly suspendOfSuspending: CallAnswer;
  readonly suspendOfSuspended: CallAnswer;
  readonly suspendOfTerminating: CallAnswer;
  /** Measured: 400. */
  readonly suspendOfTerminated: CallAnswer;
  readonly resumeOfPending: CallAnswer;
  /** Measured: 200, without effect. */
  readonly resumeOfRunning: CallAnswer;
  readonly resumeOfSuspending: CallAnswer;
  readonly resumeOfTerminating: CallAnswer;
  /** By analogy with the suspend of a terminated VM. */
  readonly resumeOfTerminated: CallAnswer;
}

/** The measured or documented value where there is one, otherwise the plainer of the two. */
export const defaultPlatformOptions: PlatformOptions = {
  applyWindowToExplicitSuspend: true,
  resumeShowsPending: false,
  badTokenWakes: false,
  silentStreamCounts: false,
  leakTrafficBeforeRun: false,
  holdTrafficWhileSuspending: true,
  failedResume: 'terminate',
  suspendOfPending: 'conflict',
  suspendOfSuspending: 'ok',
  suspendOfSuspended: 'ok',
  suspendOfTerminating: 'conflict',
  suspendOfTerminated: 'validation',
  resumeOfPending: 'conflict',
  resumeOfRunning: 'ok',
  resumeOfSuspending: 'conflict',
  resumeOfTerminating: 'conflict',
  resumeOfTerminated: 'validation',
};

/** How long the platform's own steps take, in milliseconds. */
export interface PlatformDelays {
  /** From the accepted launch to the run hook. */
  readonly launchDelayMs: number;
  /** From the frozen guest to SUSPENDED. */
  readonly suspendDelayMs: number;
  /** From the accepted resume, or the request that wakes, to the running guest. */
  readonly resumeDelayMs: number;
  /** From the end of the guest to TERMINATED. */
  readonly terminateDelayMs: number;
  /** How long a VM whose main process ended still reads RUNNING. */
  readonly exitDelayMs: number;
}

/** What was agreed at launch and never changes. */
export interface PlatformTerms {
  /** Null: never suspended by the platform. */
  readonly idlePolicy: {
    readonly maxIdleMs: number;
    /** 0 ends an idle VM instead of suspending it. */
    readonly suspendedWindowMs: number;
    readonly autoResume: boolean;
  } | null;
  /** Counts from the launch, running and suspended alike. */
  readonly maximumDurationMs: number;
  /** How long each hook may take. */
  readonly hookTimeoutMs: Readonly<Record<RuntimeHook, number>>;
  readonly delays: PlatformDelays;
  readonly options: PlatformOptions;
}

/** The deadlines that count down, as monotonic readings in milliseconds; null when one does not. */
export interface PlatformDeadlines {
  readonly lifetime: number | null;
  readonly window: number | null;
  readonly idle: number | null;
  /** The step under way: a delay, or the time limit of a hook. */
  readonly step: number | null;
}

/** All that the platform remembers of one VM. Plain JSON, without secrets. */
export interface PlatformContext {
  readonly terms: PlatformTerms;
  readonly deadlines: PlatformDeadlines;
  /** Whether the present or last suspension was asked for by the caller. */
  readonly explicitSuspend: boolean;
  /** Whether requests wait for the VM to come back. */
  readonly requestsHeld: boolean;
  /** How many connections run through the endpoint. Only `silentStreamCounts` looks at it. */
  readonly openConnections: number;
  /** The exit code of the main process, once it ended by itself. */
  readonly exitCode: number | null;
  /** Why the VM last changed its state. */
  readonly cause: Cause;
  /** The service's sentence; null while the VM is healthy. */
  readonly stateReason: string | null;
}

/** What a launch brings. */
export interface PlatformInput {
  readonly terms: PlatformTerms;
  /** Monotonic milliseconds of the accepted launch. */
  readonly at: number;
}

/** What the platform hears. Every event carries `at`, a monotonic reading in milliseconds. */
export type PlatformEvent = { readonly at: number } & (
  | { readonly type: 'SUSPEND' | 'RESUME' | 'TERMINATE' }
  /** A request with a good token came to the endpoint. */
  | { readonly type: 'TRAFFIC.REQUEST' }
  /** A request came that the proxy denies. */
  | { readonly type: 'TRAFFIC.DENIED' }
  /** Bytes crossed the endpoint on a connection that was open already. */
  | { readonly type: 'TRAFFIC.BYTES' }
  /** The number of open connections changed. */
  | { readonly type: 'TRAFFIC.CONNECTIONS'; readonly open: number }
  /** A hook that is not enabled in the image counts as answered with 200. Null: no answer could be had. */
  | { readonly type: 'GUEST.HOOK_ANSWERED'; readonly hook: RuntimeHook; readonly status: number | null }
  | { readonly type: 'GUEST.FROZEN' | 'GUEST.THAWED' | 'GUEST.DESTROYED' }
  /** The main process ended by itself. */
  | { readonly type: 'GUEST.EXITED'; readonly exitCode: number }
  /** The inside of the VM could not be made, or was lost. */
  | { readonly type: 'GUEST.LOST'; readonly reason: string }
  /** Time passed: whatever `nextDeadline` named is due. */
  | { readonly type: 'TICK' }
);

/** What the platform does, emitted for its host to carry out. */
export type PlatformEffect =
  | { readonly type: 'ANSWER'; readonly answer: CallAnswer }
  /** The verdict on the request that just came. */
  | { readonly type: 'ADMIT'; readonly verdict: 'forward' | 'hold' | 'refuse' }
  /** The verdict on all requests that were held. */
  | { readonly type: 'RELEASE'; readonly verdict: 'forward' | 'refuse' }
  | { readonly type: 'BREAK_CONNECTIONS' }
  | { readonly type: 'CALL_HOOK'; readonly hook: RuntimeHook }
  | { readonly type: 'FREEZE' | 'THAW' | 'DESTROY' };

/** The six states, as keys of the chart. */
export type PlatformState = VmState;
