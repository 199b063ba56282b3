/** From what a caller asks for to the body of `RunMicrovm` (`client-behaviour.md` 2.4 to 2.6). Pure. */
import { printed } from '../printed.ts';
import { VmchartError } from '../errors.ts';
import { egressPostureFor, managedConnectorArn } from './connectors.ts';
import type { EgressPosture } from './connectors.ts';
import { utf8Length } from './encode.ts';
import { checkLaunch } from './launch-guards.ts';
import type { PayloadSecrets } from './payload.ts';
import { runHookPayload } from './payload.ts';
import { refuseArgument } from './shapes.ts';
import type { RunMicrovmRequest, WireLogging } from './wire.ts';

/** Where a VM's log goes: nowhere, or to a CloudWatch group (and exact stream). */
export type LaunchLogging = 'disabled' | { readonly group: string; readonly stream?: string };

/**
 * A launch as a caller describes it: plain, free of secrets, safe to store. Durations are in seconds, because
 * they go to the service as they are. Managed connectors are asked for by intent.
 */
export interface LaunchRequest {
  /** ARN or bare name of the image. */
  readonly imageIdentifier?: string;
  /** Pins a version; the newest active one otherwise. */
  readonly imageVersion?: string;
  readonly executionRoleArn?: string;
  /** Generate and deliver a tunnel identity. */
  readonly identity?: boolean;
  /** Add the managed connector to the internet. */
  readonly egress?: boolean;
  /** ARNs of connectors of your own; excludes `egress`. */
  readonly egressNetworkConnectors?: readonly string[];
  /** Point the usual proxy variables at a closed port. Advisory; excludes `egress`. */
  readonly denyEgress?: boolean;
  /** Ask for a shell beside HTTP, instead of everything. */
  readonly shell?: boolean;
  /** Idle time after which the platform suspends; 600 by default, at least 60. */
  readonly maxIdleSec?: number;
  /** How long it stays resumable; 600 by default. */
  readonly suspendedSec?: number;
  /** Whether traffic wakes it; `false` by default. */
  readonly autoResume?: boolean;
  /** Lifetime, suspended time included; 3,600 by default, at most 28,800. */
  readonly maxDurationSec?: number;
  readonly logging?: LaunchLogging;
}

/** The durations of a launch that asks for none, in seconds. */
export const launchDefaults = {
  maxIdleSec: 600,
  suspendedSec: 600,
  maxDurationSec: 3_600,
} as const;

/** What the body needs beside the request. */
export interface LaunchParts {
  readonly region: string;
  readonly secrets: PayloadSecrets;
  readonly clientToken?: string;
  /** The image's ARN, once a bare name was resolved. */
  readonly imageArn?: string;
}

/** A body, and what its options mean for outbound traffic. */
export interface AssembledLaunch {
  readonly request: RunMicrovmRequest;
  readonly egressPosture: EgressPosture;
}

const proxyVariables = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];

/** The environment that is delivered: with `denyEgress` the proxy variables point nowhere, unless the caller set them. */
export function effectiveLaunchEnv(
  launchEnv: Readonly<Record<string, string>>,
  denyEgress: boolean,
): Readonly<Record<string, string>> {
  if (!denyEgress) return launchEnv;
  return { ...Object.fromEntries(proxyVariables.map((name) => [name, 'http://127.0.0.1:1'])), ...launchEnv };
}

function wireLogging(logging: LaunchLogging): WireLogging {
  if (logging === 'disabled') return { disabled: {} };
  return {
    cloudWatch: { logGroup: logging.group, ...(logging.stream === undefined ? {} : { logStream: logging.stream }) },
  };
}

/** Hides the payload from `util.inspect`; the body itself has to carry it. */
function guarded(request: RunMicrovmRequest): RunMicrovmRequest {
  return Object.defineProperty(request, printed, {
    value: () => ({ ...request, runHookPayload: `[${utf8Length(request.runHookPayload ?? '')} bytes]` }),
  });
}

/**
 * Assembles the body of a launch and refuses what the service would refuse, with zero calls.
 * Equal inputs give equal bodies, now and after a restart.
 *
 * Refused in this order: contradicting network options, no image, a kept client token without a kept agent
 * token or with an identity, a payload over its ceiling, and then everything of {@link checkLaunch}.
 *
 * @param options - `keptClientToken` when the token is the caller's own, kept to replay this very launch
 * @throws VmchartError `InvalidArg`, or `Precondition` when no image is named
 */
export function assembleLaunch(
  launch: LaunchRequest,
  parts: LaunchParts,
  options: { readonly keptClientToken?: boolean; readonly mintedAgentToken?: boolean } = {},
): AssembledLaunch {
  const egressPosture = egressPostureFor(
    launch.egress === true,
    launch.egressNetworkConnectors ?? [],
    launch.denyEgress === true,
    parts.region,
  );
  const image = parts.imageArn ?? launch.imageIdentifier;
  if (image === undefined) {
    throw new VmchartError(
      'Precondition',
      // The name of the step, `build_image first`, is fixed (`client-behaviour.md` 2.6).
      'No image to launch: the request names none, and this sandbox has built none (build_image first).',
      {
        reason: 'no-image',
        suggestions: ['Name one with imageIdentifier, or build one: await sandbox.buildImage(…).'],
      },
    );
  }
  if (options.keptClientToken === true && options.mintedAgentToken === true) {
    refuseArgument(
      'clientToken needs an agentToken of your own: a replay must carry the same payload.',
      'invalid-client-token',
    );
  }
  if (options.keptClientToken === true && launch.identity === true) {
    refuseArgument(
      'clientToken cannot be combined with identity: its seeds are fresh in every launch.',
      'invalid-client-token',
    );
  }
  const managed = (name: Parameters<typeof managedConnectorArn>[0]) => managedConnectorArn(name, parts.region);
  const egress = launch.egress === true ? [managed('INTERNET_EGRESS')] : (launch.egressNetworkConnectors ?? []);
  const launchEnv = effectiveLaunchEnv(parts.secrets.launchEnv ?? {}, launch.denyEgress === true);
  const request: RunMicrovmRequest = {
    imageIdentifier: image,
    ...(launch.imageVersion === undefined ? {} : { imageVersion: launch.imageVersion }),
    ...(launch.executionRoleArn === undefined ? {} : { executionRoleArn: launch.executionRoleArn }),
    idlePolicy: {
      maxIdleDurationSeconds: launch.maxIdleSec ?? launchDefaults.maxIdleSec,
      suspendedDurationSeconds: launch.suspendedSec ?? launchDefaults.suspendedSec,
      autoResumeEnabled: launch.autoResume ?? false,
    },
    ...(launch.logging === undefined ? {} : { logging: wireLogging(launch.logging) }),
    maximumDurationInSeconds: launch.maxDurationSec ?? launchDefaults.maxDurationSec,
    runHookPayload: runHookPayload({ ...parts.secrets, launchEnv }),
    ingressNetworkConnectors:
      launch.shell === true ? [managed('HTTP_INGRESS'), managed('SHELL_INGRESS')] : [managed('ALL_INGRESS')],
    ...(egress.length === 0 ? {} : { egressNetworkConnectors: [...egress] }),
    ...(parts.clientToken === undefined ? {} : { clientToken: parts.clientToken }),
  };
  checkLaunch(request, { bareName: true });
  return { request: guarded(request), egressPosture };
}
