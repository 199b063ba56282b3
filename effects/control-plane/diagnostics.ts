/** Every send as it ended, on a diagnostics channel: costs nothing while nobody listens. */
import { channel } from 'node:diagnostics_channel';
import type { ErrorRecord } from '../../machines/index.ts';
import { toVmchartError } from '../errors.ts';
import type { Clock, HttpResponse } from '../ports.ts';
import type { Call } from './caller.ts';
import { requestIdOf } from './classify.ts';

/** The channel's name, for `diagnostics_channel.subscribe`. */
export const controlPlaneChannel = 'vmchart:control-plane:send';

/** What subscribers of {@link controlPlaneChannel} receive. Free of secrets: no headers, no bodies. */
export interface ControlPlaneSend {
  readonly operation: string;
  readonly method: string;
  /** Path and query as sent. */
  readonly path: string;
  readonly durationMs: number;
  /** `null` when there was no answer. */
  readonly status: number | null;
  readonly requestId: string | null;
  readonly error: ErrorRecord | null;
}

const sends = channel(controlPlaneChannel);

/** Runs one send and tells the channel about it. */
export async function observed(call: Call, clock: Clock, send: () => Promise<HttpResponse>): Promise<HttpResponse> {
  if (!sends.hasSubscribers) return send();
  const startedMs = clock.now();
  const publish = (end: Pick<ControlPlaneSend, 'status' | 'requestId' | 'error'>) => {
    const { operation, method, path } = call;
    sends.publish({ operation, method, path, durationMs: clock.now() - startedMs, ...end } satisfies ControlPlaneSend);
  };
  try {
    const response = await send();
    publish({ status: response.status, requestId: requestIdOf(response.headers), error: null });
    return response;
  } catch (thrown) {
    const error = toVmchartError(thrown);
    publish({ status: error.status, requestId: error.requestId, error: error.toRecord() });
    throw thrown;
  }
}
