/** Taking over a VM that somebody else launched: one read, and nothing is taken on trust (`client-behaviour.md` 2.12). */
import { parseVmState } from '../../machines/records.ts';
import { adopt } from '../../machines/sandbox-record.ts';
import type { MicrovmDescription, SandboxInput } from '../../machines/index.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { VmchartError } from '../errors.ts';

/** What is needed to take over a VM that somebody else launched. */
export interface AdoptRequest {
  readonly microvmId: string;
  /** The bearer that its launch delivered. Secret. */
  readonly agentToken: string;
  readonly endpoint?: string;
  readonly signal?: AbortSignal;
}

/**
 * Reads the VM and makes the input of its life.
 *
 * @throws VmchartError `InvalidArg` for an empty token or another endpoint, `Platform` for a state nobody knows
 */
export async function adoptionInput(
  plane: ControlPlane,
  request: AdoptRequest,
  sandboxId: string,
): Promise<SandboxInput> {
  const { agentToken, microvmId, signal } = request;
  if (agentToken === '') {
    throw new VmchartError('InvalidArg', 'an empty agent token opens nothing', { reason: 'empty-token', microvmId });
  }
  const description = await plane.getMicrovm(microvmId, { signal });
  const endpoint = sameEndpoint(description, request.endpoint ?? '');
  const state = parseVmState(description.state);
  if (state === null) {
    throw new VmchartError('Platform', `${microvmId} is in a state that nobody knows: ${description.state}`, {
      reason: 'unknown-state',
      microvmId,
    });
  }
  return adopt({ sandboxId, region: plane.region, microvmId, endpoint, state, description });
}

/** Both endpoints, when there are two, must be the same VM's. */
function sameEndpoint(description: MicrovmDescription, given: string): string {
  const bare = (text: string) => text.replace(/^https?:\/\//, '').replace(/\/+$/, '');
  if (description.endpoint !== '' && given !== '' && bare(description.endpoint) !== bare(given)) {
    throw new VmchartError('InvalidArg', `${description.microvmId} has another endpoint than the one given`, {
      reason: 'endpoint-mismatch',
      microvmId: description.microvmId,
    });
  }
  return description.endpoint === '' ? given : description.endpoint;
}
