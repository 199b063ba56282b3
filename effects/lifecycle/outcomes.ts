/** From a call's answer or failure to the outcome that the machine decides on. */
import type { Call, MicrovmDescription, Outcome } from '../../machines/index.ts';
import { isGone } from '../control-plane/classify.ts';
import { isDefinite } from '../control-plane/definite.ts';
import { toVmchartError } from '../errors.ts';
import type { VmchartError } from '../errors.ts';
import type { Clock } from '../ports.ts';

/** A call that the platform answered with success. */
export function succeeded(call: Call, clock: Clock, askedAt: number, description: MicrovmDescription | null): Outcome {
  return { op: call.op, at: clock.now(), askedAt, description, error: null, definite: false, gone: false };
}

/** A VM that the service no longer knows: the end that a terminate wants. */
export function alreadyGone(call: Call, clock: Clock, askedAt: number): Outcome {
  return { ...succeeded(call, clock, askedAt, null), gone: true };
}

/**
 * A call that failed.
 *
 * @param options - `definite` overrides the judgement of {@link isDefinite}; `explain` may put a better error in place
 */
export function failed(
  call: Call,
  clock: Clock,
  askedAt: number,
  thrown: unknown,
  options: { readonly definite?: boolean; readonly explain?: (error: VmchartError) => VmchartError } = {},
): Outcome {
  const error = toVmchartError(thrown);
  // A 404 or 410 about a VM that was once seen is the platform's word that it has ended (FC-041).
  const gone = call.microvmId !== null && isGone(error);
  return {
    op: call.op,
    at: clock.now(),
    askedAt,
    description: null,
    error: (options.explain?.(error) ?? error).toRecord(),
    definite: options.definite ?? isDefinite(error),
    gone,
  };
}
