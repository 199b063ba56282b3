/** From what a caller asks for to the body of `CreateMicrovmImage` (`client-behaviour.md` 3.5). Pure but for a nonce. */
import type { Entropy } from '../ports.ts';
import { randomHex } from './client-token.ts';
import { managedConnectorArn } from './connectors.ts';
import { checkCreateImage, longestStreamPrefix } from './image-guards.ts';
import { partitionOf } from './regions.ts';
import { checkLogging, checkRange, refuseArgument } from './shapes.ts';
import { defaultBaselineMiB } from './size-classes.ts';
import type { CreateMicrovmImageRequest } from './wire.ts';

/** An image as a caller describes it. */
export interface ImageRequest {
  /** 1 to 64 letters, digits, `-` and `_`. */
  readonly name: string;
  /** Where the artifact was uploaded: `s3://<bucket>/<key>`. */
  readonly codeArtifactUri: string;
  readonly buildRoleArn: string;
  /** Name of a managed base image; `al2023-1` by default. */
  readonly baseImageName?: string;
  readonly baseImageVersion?: string;
  readonly description?: string;
  /** The baseline of a size class; 2,048 by default. */
  readonly baselineMiB?: number;
  /** The port on which the daemon answers hooks; 9000 by default. */
  readonly hookPort?: number;
  /** Limit of each run, resume, suspend and terminate hook: 1 to 60 s, 30 by default. */
  readonly runHookTimeoutSec?: number;
  /** Limit of the ready and validate hooks: 1 to 3,600 s, 30 by default. */
  readonly buildHookTimeoutSec?: number;
  /** Grants the guest what repairing its identity after a snapshot needs. */
  readonly repairGuestIdentity?: boolean;
  /** Let the build reach the internet through the managed connector. */
  readonly egress?: boolean;
  readonly logGroup?: string;
  /** A prefix: each create writes to `<prefix>/<16 hex digits>` of its own. */
  readonly logStream?: string;
  /** Values are secret. */
  readonly environmentVariables?: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, string>>;
}

/** The base image of a build that names none. */
export const defaultBaseImage = 'al2023-1';

/** The ARN of a managed base image: the account part is `aws`. */
export function managedImageArn(name: string, region: string): string {
  return `arn:${partitionOf(region)}:lambda:${region}:aws:microvm-image:${name}`;
}

/**
 * Assembles the body of an image create and refuses what the service would refuse, with zero calls: the create
 * comes after the artifact's upload, so every refusal here saves one.
 *
 * @returns the body, and the exact log stream: nothing else will ever tell it
 * @throws VmchartError `InvalidArg`
 */
export function assembleImage(
  image: ImageRequest,
  context: { readonly region: string; readonly entropy: Entropy },
): { readonly request: CreateMicrovmImageRequest; readonly logStream: string | null } {
  const { region, entropy } = context;
  const { logGroup, hookPort = 9_000, runHookTimeoutSec = 30, buildHookTimeoutSec = 30 } = image;
  checkRange('hookPort', hookPort, 1, 65_535);
  if (image.logStream !== undefined) {
    if (logGroup === undefined) refuseArgument('logStream needs a logGroup.');
    checkLogging({ cloudWatch: { logGroup, logStream: image.logStream } }, longestStreamPrefix);
  }
  const logStream = image.logStream === undefined ? null : `${image.logStream}/${randomHex(entropy, 8)}`;
  const request: CreateMicrovmImageRequest = {
    name: image.name,
    baseImageArn: managedImageArn(image.baseImageName ?? defaultBaseImage, region),
    ...(image.baseImageVersion === undefined ? {} : { baseImageVersion: image.baseImageVersion }),
    buildRoleArn: image.buildRoleArn,
    codeArtifact: { uri: image.codeArtifactUri },
    ...(image.description === undefined ? {} : { description: image.description }),
    ...(logGroup === undefined
      ? {}
      : { logging: { cloudWatch: { logGroup, ...(logStream === null ? {} : { logStream }) } } }),
    ...(image.egress === true ? { egressNetworkConnectors: [managedConnectorArn('INTERNET_EGRESS', region)] } : {}),
    cpuConfigurations: [{ architecture: 'ARM_64' }],
    resources: [{ minimumMemoryInMiB: image.baselineMiB ?? defaultBaselineMiB }],
    ...(image.repairGuestIdentity === true ? { additionalOsCapabilities: ['ALL'] } : {}),
    hooks: {
      port: hookPort,
      microvmHooks: {
        run: 'ENABLED',
        resume: 'ENABLED',
        suspend: 'ENABLED',
        terminate: 'ENABLED',
        runTimeoutInSeconds: runHookTimeoutSec,
        resumeTimeoutInSeconds: runHookTimeoutSec,
        suspendTimeoutInSeconds: runHookTimeoutSec,
        terminateTimeoutInSeconds: runHookTimeoutSec,
      },
      microvmImageHooks: {
        ready: 'ENABLED',
        validate: 'ENABLED',
        readyTimeoutInSeconds: buildHookTimeoutSec,
        validateTimeoutInSeconds: buildHookTimeoutSec,
      },
    },
    ...(image.environmentVariables === undefined ? {} : { environmentVariables: image.environmentVariables }),
    ...(image.tags === undefined ? {} : { tags: image.tags }),
  };
  checkCreateImage(request);
  return { request, logStream };
}
