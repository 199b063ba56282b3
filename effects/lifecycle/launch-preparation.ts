/** Everything between "run this" and the RUN command: local refusals first, then secrets, then the one listing. */
import type { SandboxEvents } from '../../machines/index.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { mintClientToken } from '../control-plane/client-token.ts';
import type { EgressPosture } from '../control-plane/connectors.ts';
import { assembleLaunch, effectiveLaunchEnv, launchDefaults } from '../control-plane/launch-request.ts';
import type { LaunchRequest } from '../control-plane/launch-request.ts';
import { checkedDurationMs } from '../durations.ts';
import { VmchartError } from '../errors.ts';
import { unknownOptions } from '../known-options.ts';
import type { Ports } from '../ports.ts';
import { mintIdentity } from './identity.ts';
import { mintAgentToken, sealSecrets, secretRefs } from './sealed-secrets.ts';
import type { LaunchIdentity } from './sealed-secrets.ts';

/** What a caller asks for: a {@link LaunchRequest} with its secrets and its waits. */
export interface RunRequest extends LaunchRequest {
  /** The bearer that the daemon will accept. 32 random bytes as hex when absent. Secret. */
  readonly agentToken?: string;
  /** The base environment of every exec. Secret; shares the 4096 bytes of the payload. */
  readonly launchEnv?: Readonly<Record<string, string>>;
  /** A kept idempotency key, to repeat one launch; needs an `agentToken` of one's own. */
  readonly clientToken?: string;
  /** How long to wait for RUNNING, in milliseconds. Default 300 s. */
  readonly readyTimeoutMs?: number;
  /** How long to wait for the daemon after RUNNING, in milliseconds. Default 120 s. */
  readonly daemonTimeoutMs?: number;
  /** `false` returns once the launch is accepted. Default `true`. */
  readonly wait?: boolean;
  /**
   * Who decides that the VM is idle. `host` asks the platform not to: it never suspends within the lifetime, and
   * traffic wakes nothing. An unexpected suspension then has the cause `platform` (FC-026).
   */
  readonly idleOwner?: 'platform' | 'host';
  /** A label inside the client token. Default: the image's ARN. */
  readonly tokenScope?: string;
}

/** How long to wait for RUNNING unless told otherwise, in milliseconds. */
export const defaultRunningTimeoutMs = 300_000;

/** A launch that is ready to be commanded. */
export interface PreparedLaunch {
  readonly command: Parameters<SandboxEvents['run']>[0];
  readonly egressPosture: EgressPosture;
  readonly imageArn: string;
}

/** A launch that passed every local check: nothing was sent and nothing was kept. */
interface CheckedLaunch {
  readonly options: LaunchRequest;
  readonly agentToken: string;
  readonly identity: LaunchIdentity | null;
  readonly launchEnv: Readonly<Record<string, string>>;
  readonly egressPosture: EgressPosture;
}

/** The names of {@link RunRequest}: a record of all of them, so that the compiler sees one that is missing. */
const runOptions: Readonly<Record<keyof RunRequest, true>> = {
  agentToken: true,
  autoResume: true,
  clientToken: true,
  daemonTimeoutMs: true,
  denyEgress: true,
  egress: true,
  egressNetworkConnectors: true,
  executionRoleArn: true,
  identity: true,
  idleOwner: true,
  imageIdentifier: true,
  imageVersion: true,
  launchEnv: true,
  logging: true,
  maxDurationSec: true,
  maxIdleSec: true,
  readyTimeoutMs: true,
  shell: true,
  suspendedSec: true,
  tokenScope: true,
  wait: true,
};

/** A misspelt option would be a launch with other limits than its caller believes. */
function refuseUnknown(request: RunRequest): void {
  const unknown = unknownOptions(request, Object.keys(runOptions));
  if (unknown.length === 0) return;
  throw new VmchartError('InvalidArg', `${unknown.join(' ')} Nothing was sent.`, {
    reason: 'unknown-option',
    suggestions: [`The options of a launch are ${Object.keys(runOptions).join(', ')}.`],
  });
}

/**
 * Checks a launch in the order of `client-behaviour.md` 2.6, without a call.
 *
 * @param builtImage the ARN of the image that this sandbox built, when the request names none
 */
async function checkRun(
  request: RunRequest,
  plane: ControlPlane,
  ports: Ports,
  builtImage: string | null,
): Promise<CheckedLaunch> {
  const {
    agentToken: givenToken,
    launchEnv: givenEnv = {},
    clientToken,
    readyTimeoutMs = 0,
    daemonTimeoutMs = 0,
    wait: _wait,
    tokenScope: _scope,
    idleOwner = 'platform',
    ...rest
  } = request;
  checkedDurationMs('readyTimeoutMs', readyTimeoutMs);
  checkedDurationMs('daemonTimeoutMs', daemonTimeoutMs);
  const hostOwned = { maxIdleSec: rest.maxDurationSec ?? launchDefaults.maxDurationSec, autoResume: false };
  const options: LaunchRequest = {
    ...(builtImage === null ? {} : { imageIdentifier: builtImage }),
    ...rest,
    ...(idleOwner === 'host' ? hostOwned : {}),
  };
  const assemble = (agentToken: string, identity: LaunchIdentity | null) =>
    assembleLaunch(
      options,
      {
        region: plane.region,
        secrets: {
          agentToken,
          launchEnv: givenEnv,
          identity: identity === null ? null : { seed: identity.vmSeed, hostPublicKey: identity.hostPublicKey },
        },
        ...(clientToken === undefined ? {} : { clientToken }),
      },
      { keptClientToken: clientToken !== undefined, mintedAgentToken: givenToken === undefined },
    );
  // Judged once with a stand-in of the minted token's length, so that a refused launch draws no entropy.
  if (givenToken === undefined) assemble('0'.repeat(64), null);
  const agentToken = givenToken ?? mintAgentToken(ports.entropy);
  const identity = options.identity === true ? await mintIdentity(ports.entropy) : null;
  const { egressPosture } = assemble(agentToken, identity);
  return {
    options,
    agentToken,
    identity,
    launchEnv: effectiveLaunchEnv(givenEnv, options.denyEgress === true),
    egressPosture,
  };
}

/** Checks, resolves the image, seals the secrets and mints the client token: all that precedes RUN. */
export async function prepareLaunch(
  request: RunRequest,
  context: {
    readonly plane: ControlPlane;
    readonly ports: Ports;
    readonly sandboxId: string;
    readonly builtImage: string | null;
    readonly signal: AbortSignal | undefined;
  },
): Promise<PreparedLaunch> {
  const { plane, ports, sandboxId, signal } = context;
  refuseUnknown(request);
  const checked = await checkRun(request, plane, ports, context.builtImage);
  const imageArn = await plane.resolveImageArn(checked.options.imageIdentifier ?? '', { signal });
  const clientToken = request.clientToken ?? mintClientToken('run', request.tokenScope ?? imageArn, ports.entropy);
  const refs = await sealSecrets(ports.secrets, secretRefs(sandboxId, clientToken), checked);
  return {
    egressPosture: checked.egressPosture,
    imageArn,
    command: {
      clientToken,
      callerKept: request.clientToken !== undefined,
      wait: request.wait ?? true,
      timeoutMs: request.readyTimeoutMs ?? defaultRunningTimeoutMs,
      request: {
        imageIdentifier: imageArn,
        suspendedSec: checked.options.suspendedSec ?? launchDefaults.suspendedSec,
        options: { ...checked.options },
        ...refs,
      },
    },
  };
}
