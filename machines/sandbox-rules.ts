/** The arithmetic of the lifecycle: what guards ask and what actions compute. Pure functions of context and event. */
import type {
  Cause,
  CommandType,
  ErrorKind,
  ErrorRecord,
  MicrovmDescription,
  RequirementId,
  VmState,
} from './records.ts';
import type { Call, LaunchIntent, Postponed, SandboxContext } from './sandbox-context.ts';
import type { CallKind, Outcome, Report, RunCommand, SandboxCommand, SandboxEvent } from './sandbox-events.ts';

/** Any event an action can see: ours, or XState's end of an invoked actor. */
export interface AnyEvent {
  readonly type: string;
  readonly output?: unknown;
  readonly error?: unknown;
}

/** The command in the event; only called where the machine knows that it is one. */
export function commandIn(event: AnyEvent): SandboxCommand {
  return event as unknown as SandboxCommand;
}

/** The outcome in the event of an invoked actor, or `null`. */
export function outcomeIn(event: AnyEvent): Outcome | null {
  return typeof event.output === 'object' && event.output !== null ? (event.output as Outcome) : null;
}

/** The report in the event: of an observation, or of an outcome that carries the platform's word. */
export function descriptionIn(event: AnyEvent): MicrovmDescription | null {
  const outcome = outcomeIn(event);
  return outcome === null ? ((event as unknown as Report).description ?? null) : outcome.description;
}

/** The monotonic reading that the event carries; the last known one when an actor threw without any. */
export function timeOf(context: SandboxContext, event: AnyEvent): number {
  const at = outcomeIn(event)?.at ?? (event as unknown as SandboxEvent).at;
  return Number.isFinite(at) ? at : (context.call?.at ?? context.changedAt ?? 0);
}

/** An event without a finite `at` cannot be judged: the core reads no clock. */
export function isUntimed(event: AnyEvent): boolean {
  return !Number.isFinite((event as unknown as SandboxEvent).at);
}

/** STATE-3: the token is installed at most once per VM lifetime, so one handle launches once. */
export function mayLaunch(context: SandboxContext): boolean {
  return context.launch === null && context.microvmId === null && context.bootstrapCount === 0;
}

/** STATE-12: how long the VM has been suspended, and how long it may be; `null` where either is unknown. */
export function suspendedFor(context: SandboxContext, at: number): { elapsedMs: number; windowMs: number } | null {
  const windowMs =
    context.suspendedWindowMs ?? (context.microvm?.idlePolicy ? context.microvm.idlePolicy.suspendedSec * 1000 : null);
  if (windowMs === null || context.suspendedAt === null) return null;
  return { elapsedMs: at - context.suspendedAt, windowMs };
}

/** STATE-12: the window is open up to and including its last instant; unknown counts as open. */
export function isWindowOpen(context: SandboxContext, at: number): boolean {
  if (context.policy.pastWindow === 'ask') return true;
  const suspended = suspendedFor(context, at);
  return suspended === null || suspended.elapsedMs <= suspended.windowMs;
}

/** The same intent: same token and same body. Anything else could make a second VM. */
export function isSameIntent(context: SandboxContext, event: AnyEvent): boolean {
  const run = event as unknown as RunCommand;
  return (
    context.launch !== null &&
    context.launch.clientToken === run.clientToken &&
    canonical(context.launch.request) === canonical(run.request)
  );
}

/** JSON with sorted keys, so that equal data is equal text. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** A report counts when it speaks of our VM and was asked after the last call that the platform accepted. */
export function isFresh(context: SandboxContext, event: AnyEvent): boolean {
  const report = event as unknown as Report;
  if (context.microvmId === null || !Number.isFinite(report.at) || !Number.isFinite(report.askedAt)) return false;
  return context.acceptedAt === null || report.askedAt >= context.acceptedAt;
}

/** An outcome of an operation that is not the current one. A raw throw carries no number and counts as current. */
export function isStale(context: SandboxContext, event: AnyEvent): boolean {
  const op = outcomeIn(event)?.op ?? (event.error as { op?: unknown } | undefined)?.op;
  return op !== undefined && op !== context.call?.op;
}

/** A launch that may be repeated by its caller, or a VM that was adopted while it started (FC-001). */
export function isCallerKept(context: SandboxContext): boolean {
  return context.launch === null || context.launch.callerKept;
}

/** The state that the platform's word in an outcome names; TERMINATED for a VM it no longer knows. */
export function saw(event: AnyEvent): string | null {
  const outcome = outcomeIn(event);
  if (outcome === null) return null;
  return outcome.gone ? 'TERMINATED' : (outcome.description?.state ?? null);
}

/** Numbers the next call, so that its outcome can be told from any other. */
function numbered(context: SandboxContext, event: AnyEvent, kind: CallKind, details: Partial<Call>) {
  const op = context.op + 1;
  const call: Call = {
    op,
    kind,
    commandId: null,
    at: timeOf(context, event),
    microvmId: context.microvmId,
    clientToken: null,
    timeoutMs: null,
    resent: 0,
    ...details,
  };
  return { op, call };
}

/** A new launch: its intent is remembered whole, so that it can be sent again unchanged. */
export function callLaunch(context: SandboxContext, event: AnyEvent): Partial<SandboxContext> {
  const run = event as unknown as RunCommand;
  return {
    launch: launchIntent(run),
    revived: false,
    ...numbered(context, event, 'launch', { commandId: run.commandId, clientToken: run.clientToken, microvmId: null }),
  };
}

/** The same intent once more. */
export function callLaunchAgain(context: SandboxContext, event: AnyEvent): Partial<SandboxContext> {
  if (context.launch === null) return {};
  const launch = { ...context.launch, resent: context.launch.resent + 1 };
  return {
    launch,
    ...numbered(context, event, 'launch', {
      commandId: (event as unknown as Partial<SandboxCommand>).commandId ?? context.latched?.commandId ?? null,
      clientToken: launch.clientToken,
      resent: launch.resent,
    }),
  };
}

/** A call for the command in the event, or the next step of the command under way. */
export function call(context: SandboxContext, event: AnyEvent, kind: CallKind): Partial<SandboxContext> {
  if ('commandId' in event) {
    const { commandId, timeoutMs } = commandIn(event);
    return numbered(context, event, kind, { commandId, timeoutMs });
  }
  return numbered(context, event, kind, {
    commandId: context.call?.commandId ?? null,
    timeoutMs: context.call?.timeoutMs ?? context.launch?.timeoutMs ?? null,
    resent: context.call?.resent ?? 0,
  });
}

/** The next step of a second attempt. */
export function callAgain(context: SandboxContext, event: AnyEvent, kind: CallKind): Partial<SandboxContext> {
  return numbered(context, event, kind, {
    commandId: context.call?.commandId ?? null,
    timeoutMs: context.call?.timeoutMs ?? null,
    resent: (context.call?.resent ?? 0) + 1,
  });
}

/** The call of a command that waited for its moment. */
export function callPostponed(
  context: SandboxContext,
  event: AnyEvent,
  kind: CallKind,
  command: Postponed | null,
): Partial<SandboxContext> {
  return numbered(context, event, kind, {
    commandId: command?.commandId ?? null,
    timeoutMs: command?.timeoutMs ?? null,
  });
}

/** Postpones the command in the event; one that already waits stays the first, with the longer wait. */
export function postponed(earlier: Postponed | null, event: AnyEvent): Postponed {
  const { commandId, timeoutMs } = commandIn(event);
  if (earlier === null) return { commandId, timeoutMs };
  return { commandId: earlier.commandId, timeoutMs: longer(earlier.timeoutMs, timeoutMs) };
}

/** A TERMINATE that wants to see the end makes the one under way wait for it. */
export function joinWait(context: SandboxContext, event: AnyEvent): Partial<SandboxContext> {
  if (context.call === null) return {};
  return { call: { ...context.call, timeoutMs: longer(context.call.timeoutMs, commandIn(event).timeoutMs) } };
}

function longer(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}

/** An accepted launch: the VM exists and bills, its payload waits to be counted, its window is known. */
export function acceptLaunch(context: SandboxContext, event: AnyEvent): Partial<SandboxContext> {
  return {
    ...learn({ ...context, microvmId: null }, descriptionIn(event)),
    imageExists: true,
    delivering: true,
    suspendedWindowMs: context.launch === null ? null : context.launch.request.suspendedSec * 1000,
    acceptedAt: timeOf(context, event),
  };
}

/** The state's name, when it was entered, and why; for people and for messages. */
export function enter(context: SandboxContext, event: AnyEvent, state: VmState): Partial<SandboxContext> {
  if (event.type === 'xstate.init') return { lifecycle: state };
  const changed = context.lifecycle !== state;
  return {
    lifecycle: state,
    ...(changed ? { changedAt: timeOf(context, event), cause: causeOfChange(context, event, state) } : {}),
  };
}

/** What an accepted RUN remembers. */
export function launchIntent(run: RunCommand): LaunchIntent {
  return {
    clientToken: run.clientToken,
    callerKept: run.callerKept,
    request: run.request,
    wait: run.wait,
    timeoutMs: run.timeoutMs,
    resent: 0,
  };
}

/** The service's description becomes what we know of the VM; a 404 leaves what was known. */
export function learn(context: SandboxContext, description: MicrovmDescription | null): Partial<SandboxContext> {
  if (description === null) return { reported: null };
  return {
    microvmId: context.microvmId ?? description.microvmId,
    endpoint: description.endpoint === '' ? context.endpoint : description.endpoint,
    microvm: description,
    stateReason: description.stateReason,
    reported: null,
  };
}

/** What our own call in flight is meant to bring about: a change into it is the caller's doing. */
const wantedBy: Partial<Record<CallKind, readonly string[]>> = {
  awaitRunning: ['RUNNING'],
  suspend: ['SUSPENDING', 'SUSPENDED'],
  read: ['SUSPENDING', 'SUSPENDED', 'RUNNING'],
  awaitSuspended: ['SUSPENDING', 'SUSPENDED'],
  resume: ['RUNNING'],
  awaitResumed: ['RUNNING'],
  terminate: ['TERMINATING', 'TERMINATED'],
  awaitTerminated: ['TERMINATED'],
};

/** Why the state changes: the caller's command, or what the platform did by itself. */
export function causeOfChange(context: SandboxContext, event: AnyEvent, to: VmState): Cause {
  const byCommand = 'commandId' in event;
  const wanted = context.call === null ? [] : (wantedBy[context.call.kind] ?? []);
  if (byCommand || wanted.includes(to)) return 'user';
  if (outcomeIn(event) !== null && descriptionIn(event) === null)
    return outcomeIn(event)?.gone === true ? 'unknown' : 'user';
  return causeOf(context, event);
}

/** Why the platform did it, read from `stateReason` (`platform-behaviour.md` 5.3) and from what we know. */
function causeOf(context: SandboxContext, event: AnyEvent): Cause {
  const description = descriptionIn(event);
  const reason = description?.stateReason ?? '';
  if (reason.includes('lifecycle hook')) return 'hook';
  if (reason.includes('maximum lifetime')) {
    // One text for two limits: past the window of a suspended VM it is the window that ended it.
    const suspended = suspendedFor(context, timeOf(context, event));
    const closed = context.lifecycle === 'SUSPENDED' && suspended !== null && suspended.elapsedMs >= suspended.windowMs;
    return closed ? 'window' : 'lifetime';
  }
  if (reason.startsWith('Success')) return 'user';
  if (description !== null && (description.state === 'SUSPENDING' || description.state === 'SUSPENDED'))
    return 'platform';
  if (description !== null && description.state === 'RUNNING')
    return context.lifecycle === 'SUSPENDED' ? 'platform' : 'user';
  return 'unknown';
}

const codes: Partial<Record<ErrorKind, string>> = {
  InvalidArg: 'ERR_INVALID_ARG',
  Precondition: 'ERR_PRECONDITION',
  WindowClosed: 'ERR_WINDOW_CLOSED',
  LaunchDied: 'ERR_LAUNCH_DIED',
  Interrupted: 'ERR_INTERRUPTED',
  Platform: 'ERR_PLATFORM',
};

/** An error record made by the machine itself. */
export function machineError(
  kind: ErrorKind,
  message: string,
  details: { requirement?: RequirementId; reason?: string } = {},
): ErrorRecord {
  return {
    kind,
    code: codes[kind] ?? 'ERR_UNEXPECTED',
    message,
    retryable: false,
    wireKind: null,
    reason: details.reason ?? null,
    requirement: details.requirement ?? null,
    status: null,
  };
}

/** The error of an outcome; a raw throw of an actor is a bug in the host and is said so. */
export function errorIn(event: AnyEvent): ErrorRecord {
  const outcome = outcomeIn(event);
  if (outcome?.error) return outcome.error;
  return machineError('Unexpected', 'the actor of this call ended without an outcome', { reason: 'actor-threw' });
}

/** A launch or a resume that met a state it cannot come back from. */
export function died(context: SandboxContext, event: AnyEvent): ErrorRecord {
  const description = descriptionIn(event);
  const state = description?.state ?? 'gone';
  const reason = description?.stateReason ?? 'no stateReason';
  return machineError(
    'LaunchDied',
    `${context.microvmId ?? 'the VM'} is ${state} where RUNNING was wanted (${reason}); ` +
      'most likely a lifecycle hook failed, and this text is the only evidence left',
    { reason: 'launch-died' },
  );
}

/** A terminate that could not learn the id it must end. */
export function unresolved(context: SandboxContext): ErrorRecord {
  return machineError(
    'Platform',
    `whether RunMicrovm made a VM is still unknown; the intent ${context.launch?.clientToken ?? ''} is kept: terminate again`,
    { reason: 'launch-unresolved' },
  );
}

/** A command that a terminate cut short. */
export function interrupted(command: CommandType): ErrorRecord {
  return machineError('Interrupted', `${command} was interrupted: the VM was asked to terminate`, {
    reason: 'terminated',
  });
}
