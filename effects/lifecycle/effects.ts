/**
 * The side effects of the lifecycle: one plain async function per call of the machine, over ports.
 *
 * An effect never touches the machine. It returns what happened and the machine decides; it never
 * rejects but for an abort, which means that nobody waits for it any more.
 */
import type { CallKind, EffectInput, MicrovmDescription, Outcome } from '../../machines/index.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { assembleLaunch } from '../control-plane/launch-request.ts';
import type { LaunchRequest } from '../control-plane/launch-request.ts';
import { waitForState } from '../control-plane/wait.ts';
import { VmchartError } from '../errors.ts';
import type { Ports } from '../ports.ts';
import { alreadyGone, failed, succeeded } from './outcomes.ts';
import { adaptiveSchedules } from './schedules.ts';
import type { Schedules } from './schedules.ts';
import { unsealSecrets } from './sealed-secrets.ts';
import { invisibleAtFirstMs, untilVisible } from './visibility.ts';

/** Carries out one call. */
export type Effect = (input: EffectInput, signal: AbortSignal) => Promise<Outcome>;

/** States from which a launch does not come to life. A caller-kept launch can be brought back from the last two. */
const dead = ['TERMINATED', 'TERMINATING'] as const;
const terminal = [...dead, 'SUSPENDED', 'SUSPENDING'] as const;

/** What a wait of the machine looks for, and what ends it early (`client-behaviour.md` 3.3). */
function goalOf(input: EffectInput): { wanted: readonly string[]; failOn: readonly string[] } {
  const { call, launch, context } = input;
  switch (call.kind) {
    case 'awaitRunning': {
      const callerKept = launch === null || launch.callerKept;
      if (!callerKept) return { wanted: ['RUNNING'], failOn: terminal };
      return { wanted: context.revived ? ['RUNNING'] : ['RUNNING', 'SUSPENDED'], failOn: dead };
    }
    case 'awaitSuspended':
      return { wanted: ['SUSPENDED', 'TERMINATED'], failOn: [] };
    case 'awaitResumed':
      return { wanted: ['RUNNING'], failOn: dead };
    default:
      return { wanted: ['TERMINATED'], failOn: [] };
  }
}

/** The effects of the lifecycle machine, ready for any host to wrap. */
export function sandboxEffects(
  plane: ControlPlane,
  ports: Ports,
  schedules: Schedules = adaptiveSchedules,
): Readonly<Record<CallKind, Effect>> {
  const { clock } = ports;

  const launch: Effect = async (input, signal) => {
    const { call } = input;
    const askedAt = clock.now();
    try {
      if (input.launch === null) throw new VmchartError('Unexpected', 'a launch without an intent');
      const { request, clientToken, callerKept } = input.launch;
      const { request: body } = assembleLaunch(
        request.options as LaunchRequest,
        {
          region: plane.region,
          secrets: await unsealSecrets(ports.secrets, request),
          clientToken,
          imageArn: request.imageIdentifier,
        },
        { keptClientToken: callerKept },
      );
      const description = await plane.runMicrovm(body, { clientToken, signal });
      return succeeded(call, clock, askedAt, description);
    } catch (error) {
      signal.throwIfAborted();
      // Sent again, only a refusal of the body itself proves that the first try made nothing either. A throttle may
      // come as a 400 too, and proves nothing.
      const sentBefore = (input.launch?.resent ?? 0) > 0;
      const provesNothingMade = VmchartError.is(error) && error.status === 400 && error.reason !== 'throttled';
      return failed(call, clock, askedAt, error, sentBefore && !provesNothingMade ? { definite: false } : {});
    }
  };

  const visible = <T>(
    { context }: EffectInput,
    signal: AbortSignal,
    send: () => Promise<T>,
    isMissing: (result: T) => boolean = () => false,
  ): Promise<T> => untilVisible(send, { context, clock, schedule: schedules.state, signal, isMissing });

  /** A call about a VM that is known by its id. */
  const callById =
    (send: (microvmId: string, signal: AbortSignal) => Promise<MicrovmDescription | null>): Effect =>
    async (input, signal) => {
      const { call } = input;
      let askedAt = clock.now();
      try {
        const description = await visible(input, signal, () => {
          askedAt = clock.now();
          return send(idOf(input), signal);
        });
        return succeeded(call, clock, askedAt, description);
      } catch (error) {
        signal.throwIfAborted();
        if (call.kind !== 'resume') return failed(call, clock, askedAt, error);
        const outcome = failed(call, clock, askedAt, error, {
          explain: (known) => expiredWhileSuspended(known, input, clock.now()),
        });
        return outcome.gone ? outcome : lookWhetherEnded(input, signal, outcome, error);
      }
    };

  /**
   * A resume that was answered 400 may be about a VM that somebody else has ended: one look says so. The refusal
   * stands whatever the look shows, and whether there is one.
   */
  const lookWhetherEnded = async (
    input: EffectInput,
    signal: AbortSignal,
    outcome: Outcome,
    refused: unknown,
  ): Promise<Outcome> => {
    if (!VmchartError.is(refused) || refused.status !== 400 || refused.reason === 'throttled') return outcome;
    try {
      const askedAt = clock.now();
      const description = await plane.getMicrovm(idOf(input), { signal });
      return description.state === 'TERMINATED' ? { ...outcome, at: clock.now(), askedAt, gone: true } : outcome;
    } catch {
      signal.throwIfAborted();
      return outcome;
    }
  };

  const terminate: Effect = async (input, signal) => {
    const { call } = input;
    const askedAt = clock.now();
    try {
      const end = () => plane.terminateMicrovm(idOf(input), { signal });
      const outcome = await visible(input, signal, end, (ended) => ended === 'already-gone');
      return outcome === 'already-gone' ? alreadyGone(call, clock, askedAt) : succeeded(call, clock, askedAt, null);
    } catch (error) {
      signal.throwIfAborted();
      return failed(call, clock, askedAt, error);
    }
  };

  const awaitState: Effect = async (input, signal) => {
    const { call } = input;
    const { wanted, failOn } = goalOf(input);
    let askedAt = clock.now();
    try {
      const microvmId = idOf(input);
      const description = await waitForState({
        get: (options) => {
          askedAt = clock.now();
          return plane.getMicrovm(microvmId, options);
        },
        wanted: [...wanted, ...failOn],
        failOn: [],
        timeoutMs: call.timeoutMs ?? 0,
        schedule: schedules.state,
        clock,
        entropy: ports.entropy,
        signal,
        microvmId,
        notFoundGraceMs: call.kind === 'awaitRunning' ? invisibleAtFirstMs : 0,
      });
      return succeeded(call, clock, askedAt, description);
    } catch (error) {
      signal.throwIfAborted();
      return failed(call, clock, askedAt, error);
    }
  };

  return {
    launch,
    suspend: callById(async (id, signal) => (await plane.suspendMicrovm(id, { signal }), null)),
    resume: callById(async (id, signal) => (await plane.resumeMicrovm(id, { signal }), null)),
    read: callById((id, signal) => plane.getMicrovm(id, { signal })),
    terminate,
    awaitRunning: awaitState,
    awaitSuspended: awaitState,
    awaitResumed: awaitState,
    awaitTerminated: awaitState,
  };
}

function idOf({ call, context }: EffectInput): string {
  const microvmId = call.microvmId ?? context.microvmId;
  if (microvmId === null) throw new VmchartError('Unexpected', `${call.kind} was started without a VM`);
  return microvmId;
}

/** A VM that is gone when it is woken past its window ended because nobody came in time (FC-022). */
function expiredWhileSuspended(error: VmchartError, { context }: EffectInput, now: number): VmchartError {
  const { suspendedAt, suspendedWindowMs, microvmId } = context;
  if (error.status !== 404 && error.status !== 410) return error;
  const expired = suspendedAt !== null && suspendedWindowMs !== null && now - suspendedAt > suspendedWindowMs;
  return new VmchartError('Platform', error.message, {
    reason: expired ? 'expired-while-suspended' : 'gone',
    status: error.status,
    microvmId,
    cause: error,
  });
}
