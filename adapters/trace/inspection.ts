/** From XState's inspection events to entries. */
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { Answered, SandboxContext, Settled } from '../../machines/index.ts';
import type { LifeFacts, Tell, TraceEntry } from './entry.ts';

/** What the watched system runs on. */
export interface InspectionOptions {
  /** Who tells, for {@link TraceEntry}. */
  readonly source?: string;
  readonly wallNow?: () => number;
  /**
   * Unix milliseconds minus the monotonic reading of the clock that the machines' events carry; it turns moments of a
   * lifecycle's context into wall time.
   */
  readonly wallOffsetMs?: () => number;
  /** The name of a life; the VM's id, or else the actor's, unless said otherwise. */
  readonly nameOf?: (actor: AnyActorRef) => string | null;
  readonly takesCommands?: boolean;
  readonly takesLines?: boolean;
}

/** The service's operation behind each call of the lifecycle. */
const operations: Readonly<Record<string, string>> = {
  launch: 'RunMicrovm',
  suspend: 'SuspendMicrovm',
  resume: 'ResumeMicrovm',
  terminate: 'TerminateMicrovm',
  read: 'GetMicrovm',
  awaitRunning: 'GetMicrovm until RUNNING',
  awaitResumed: 'GetMicrovm until RUNNING',
  awaitSuspended: 'GetMicrovm until SUSPENDED',
  awaitTerminated: 'GetMicrovm until TERMINATED',
};

interface Watched {
  readonly life: string;
  state: string;
  /** The microsteps since the last snapshot: what an event did on its way. */
  moved: boolean;
  readonly calls: Map<string, number>;
}

interface Snapshot {
  readonly value?: unknown;
  readonly context?: unknown;
}

/** The dotted path of a state value; regions of a parallel state are joined by `|`. */
export function pathOfValue(value: unknown): string {
  if (typeof value === 'string') return value;
  return Object.entries((value ?? {}) as Record<string, unknown>)
    .map(([name, inner]) => {
      const below = pathOfValue(inner);
      return below === '' ? name : `${name}.${below}`;
    })
    .join('|');
}

/**
 * Makes an `inspect` function that tells what the statecharts of an actor system do. Promises and callbacks that they
 * invoke are told as calls of theirs.
 *
 * @example
 * createActor(machine, { inspect: inspectInto((entry) => console.log(entry)) }).start();
 */
export function inspectInto(tell: Tell, options: InspectionOptions = {}): (event: InspectionEvent) => void {
  const { wallNow = Date.now, nameOf, source = 'inspect', takesCommands = false, takesLines = false } = options;
  const watched = new WeakMap<AnyActorRef, Watched>();
  let count = 0;

  function begin(actor: AnyActorRef): void {
    const machine = machineOf(actor);
    if (machine === null) return;
    count += 1;
    const life = nameOf?.(actor) ?? nameFromInput(actor) ?? `${actor.id}${count === 1 ? '' : `-${count}`}`;
    watched.set(actor, { life, state: '', moved: false, calls: new Map() });
    tell({ kind: 'life', at: wallNow(), life, machine, title: life, source, takesCommands, takesLines });
  }

  function settle(seen: Watched, event: string, snapshot: Snapshot): void {
    // An actor that is let go has not changed.
    if (snapshot.value === undefined || event === 'xstate.stop') return;
    const state = pathOfValue(snapshot.value);
    const from = seen.state === '' ? null : seen.state;
    const at = wallNow();
    const { life } = seen;
    if (from === state && !seen.moved) {
      tell({ kind: 'event', at, life, event, state });
    } else {
      const facts = factsOf(snapshot.context, options.wallOffsetMs?.() ?? null);
      const { cause = null, stateReason: reason = null } = (
        facts === null ? {} : snapshot.context
      ) as Partial<SandboxContext>;
      tell({ kind: 'state', at, life, from, state, event, cause, reason, ...(facts === null ? {} : { facts }) });
    }
    seen.state = state;
    seen.moved = false;
  }

  function act(seen: Watched, type: string, params: unknown): void {
    const { life } = seen;
    if (type === 'xstate.emit') {
      const entry = entryOfEmitted((params as { event: unknown }).event, wallNow(), life);
      if (entry !== null) tell(entry);
    } else if (type === 'xstate.spawnChild') {
      const { id } = params as { id?: string };
      if (id !== undefined) seen.calls.set(id, wallNow());
    }
  }

  function end(seen: Watched, type: string, event: unknown): void {
    const ended = /^xstate\.(done|error)\.actor\.(.*)$/.exec(type);
    const id = ended?.[2] ?? '';
    const startedAt = seen.calls.get(id);
    if (ended === null || startedAt === undefined) return;
    seen.calls.delete(id);
    const { error = null } = ((event as { output?: unknown }).output ?? {}) as {
      error?: { message?: string; status?: number | null } | null;
    };
    const at = wallNow();
    const ok = ended[1] === 'done' && error === null;
    tell({
      kind: 'call',
      at,
      life: seen.life,
      layer: 'machine',
      operation: operations[id] ?? id,
      durationMs: at - startedAt,
      ok,
      status: error?.status ?? null,
      note: ok ? null : (error?.message ?? 'it threw'),
    });
  }

  return (inspected) => {
    const actor = inspected.actorRef as AnyActorRef;
    if (inspected.type === '@xstate.actor') return begin(actor);
    const seen = watched.get(actor);
    if (seen === undefined) return;
    if (inspected.type === '@xstate.action') return act(seen, inspected.action.type, inspected.action.params);
    if (inspected.type === '@xstate.event') return end(seen, inspected.event.type, inspected.event);
    if (inspected.type === '@xstate.microstep') {
      seen.moved ||= inspected._transitions.some(({ target, reenter }) => target !== undefined || reenter);
      return;
    }
    if (inspected.type === '@xstate.snapshot') settle(seen, inspected.event.type, inspected.snapshot as Snapshot);
  };
}

/** The id of a statechart, `null` for any other logic. */
function machineOf(actor: AnyActorRef): string | null {
  const { logic } = actor as unknown as { logic?: { id?: string; root?: unknown } };
  return logic?.root === undefined ? null : (logic.id ?? actor.id);
}

/** A lifecycle is named after the VM that it adopts, or by its own id. */
function nameFromInput(actor: AnyActorRef): string | null {
  const { options } = actor as unknown as { options?: { input?: { sandboxId?: unknown } } };
  const name = options?.input?.sandboxId;
  return typeof name === 'string' ? name : null;
}

/** What an emitted event says; `null` for one that is not for people. */
export function entryOfEmitted(event: unknown, at: number, life: string): TraceEntry | null {
  const { type } = event as { type?: unknown };
  if (type === 'ANSWERED') {
    const { command, verdict, refusal } = event as Answered;
    return {
      kind: 'answer',
      at,
      life,
      command,
      verdict,
      requirement: refusal?.requirement ?? null,
      message: refusal?.message ?? null,
    };
  }
  if (type === 'SETTLED') {
    const { command, error } = event as Settled;
    return { kind: 'settled', at, life, command, error: error?.message ?? null };
  }
  return null;
}

/** What a lifecycle's context tells; `null` for the context of any other machine, which is nobody's business. */
export function factsOf(context: unknown, wallOffsetMs: number | null): LifeFacts | null {
  if (typeof context !== 'object' || context === null || !('bootstrapCount' in context)) return null;
  const { microvmId, microvm, suspendedAt, suspendedWindowMs } = context as SandboxContext;
  const startedAt = microvm?.startedAtMs ?? null;
  const duration = microvm?.maximumDurationSec ?? null;
  const windowMs = suspendedWindowMs ?? (microvm?.idlePolicy ? microvm.idlePolicy.suspendedSec * 1000 : null);
  return {
    microvmId,
    startedAt,
    lifetimeEndsAt: startedAt === null || duration === null ? null : startedAt + duration * 1000,
    windowEndsAt:
      suspendedAt === null || windowMs === null || wallOffsetMs === null ? null : suspendedAt + windowMs + wallOffsetMs,
    image: microvm?.imageArn ?? null,
  };
}
