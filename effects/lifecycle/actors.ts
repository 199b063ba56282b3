/** The effects as actors of the lifecycle machine, for a host that runs XState in one process. */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import { recordAfter, recordOf } from '../../machines/sandbox-record.ts';
import type { CallKind, EffectInput, Outcome } from '../../machines/index.ts';
import { ControlPlane } from '../control-plane/control-plane.ts';
import type { ControlPlaneOptions } from '../control-plane/control-plane.ts';
import { VmchartError } from '../errors.ts';
import type { Ports } from '../ports.ts';
import { sandboxEffects } from './effects.ts';
import type { Effect } from './effects.ts';
import { failed } from './outcomes.ts';
import type { Schedules } from './schedules.ts';

/** Options of {@link controlPlaneActors}. */
export interface ControlPlaneActorsOptions extends ControlPlaneOptions {
  readonly schedules?: Schedules;
  /** A control-plane client that is there already. */
  readonly plane?: ControlPlane;
}

/** The actors that the lifecycle machine invokes. */
export type SandboxActors = Record<CallKind, PromiseActorLogic<Outcome, EffectInput>>;

/**
 * The actors of the lifecycle machine over the control plane. Each writes its intent to the journal
 * before its call, so that nothing that bills is ever forgotten; a call whose intent cannot be
 * written is not made, but for a terminate.
 *
 * @example
 * const machine = sandboxMachine.provide({ actors: controlPlaneActors(ports) });
 * const actor = createActor(machine, { input: { sandboxId: 'job-17', region: ports.region } }).start();
 */
export function controlPlaneActors(ports: Ports, options: ControlPlaneActorsOptions = {}): SandboxActors {
  const { schedules, plane = new ControlPlane(ports, options) } = options;
  const effects = sandboxEffects(plane, ports, schedules);
  const actors = {} as SandboxActors;
  for (const [kind, effect] of Object.entries(effects) as [CallKind, Effect][]) {
    actors[kind] = fromPromise<Outcome, EffectInput>(({ input, signal }) => journaled(ports, effect)(input, signal));
  }
  return actors;
}

/** Records the intent, carries it out, and records an end that is worth more than the intent. */
export function journaled(ports: Ports, effect: Effect): Effect {
  return async (input, signal) => {
    const { clock, journal } = ports;
    try {
      await journal.write(recordOf(input.context, clock.wallNow() - clock.now()));
    } catch (cause) {
      // The VM is on record by its id already, and ending it is what is wanted whatever becomes of the record.
      if (input.call.kind === 'terminate') {
        ports.warn?.(
          `the end of ${input.call.microvmId ?? 'a MicroVM'} could not be journaled; it is ended all the same`,
        );
        return await effect(input, signal);
      }
      const error = new VmchartError(
        'Unexpected',
        `${input.call.kind} was not sent: its intent could not be journaled`,
        {
          reason: 'journal',
          cause,
        },
      );
      // Not sent this time; but a launch that was sent before may have made a VM all the same.
      return failed(input.call, clock, clock.now(), error, { definite: input.call.resent === 0 });
    }
    const outcome = await effect(input, signal);
    const after = recordAfter(input.context, outcome, clock.wallNow() - clock.now());
    // The intent is on record already, so a life is found even when this write fails.
    if (after !== null) await journal.write(after).catch(() => {});
    return outcome;
  };
}
