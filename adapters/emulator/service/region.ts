/** What the emulated service holds in one region: images, VMs and the client tokens it remembers. */
import type { EmulatorContext } from '../context.ts';
import { snapshotOf } from './build-failures.ts';
import type { Image, ImageConfiguration } from './image.ts';
import type { Microvm } from './microvm.ts';

/** What an earlier request with a client token was, and what it made. */
export interface RememberedToken {
  readonly operation: string;
  /** The parameters in a fixed order, without the token. */
  readonly parameters: string;
  readonly resourceId: string;
}

/** The memory sizes that the managed base image supports, in MiB (`platform-behaviour.md` 3). */
export const memorySizesMiB: readonly number[] = [512, 1024, 2048, 4096, 8192];

/** One region of the emulated service. */
export class Region {
  readonly name: string;
  readonly accountId: string;
  /** By ARN, in the order of creation. */
  readonly images = new Map<string, Image>();
  /** By id, in the order of launch. Ended ones stay. */
  readonly microvms = new Map<string, Microvm>();
  readonly clientTokens = new Map<string, RememberedToken>();

  constructor(name: string, context: EmulatorContext) {
    this.name = name;
    this.accountId = context.options.accountId;
    const image = defaultImage(this, context);
    this.images.set(image.arn, image);
  }

  imageArn(name: string): string {
    return `arn:aws:lambda:${this.name}:${this.accountId}:microvm-image:${name}`;
  }

  get managedImageArn(): string {
    return `arn:aws:lambda:${this.name}:aws:microvm-image:al2023-1`;
  }

  connectorArn(name: string): string {
    return `arn:aws:lambda:${this.name}:aws:network-connector:aws-network-connector:${name}`;
  }
}

/** The image that is always there, so that nothing need be built first. Its run hook is enabled, with 30 s. */
function defaultImage(region: Region, context: EmulatorContext): Image {
  const createdWall = context.clock.wallNow();
  const configuration: ImageConfiguration = {
    baseImageArn: region.managedImageArn,
    baseImageVersion: '1.0',
    buildRoleArn: `arn:aws:iam::${region.accountId}:role/emulated-build`,
    description: 'The image that the emulator brings along: agentd on port 9000.',
    codeArtifact: { uri: 's3://emulated/agentd.zip' },
    logging: null,
    egressNetworkConnectors: [region.connectorArn('INTERNET_EGRESS')],
    cpuConfigurations: [{ architecture: 'ARM_64' }],
    resources: [{ minimumMemoryInMiB: 2048 }],
    additionalOsCapabilities: null,
    hooks: {
      port: 9000,
      microvmHooks: {
        run: 'ENABLED',
        runTimeoutInSeconds: 30,
        suspend: 'ENABLED',
        suspendTimeoutInSeconds: 30,
        resume: 'ENABLED',
        resumeTimeoutInSeconds: 30,
        terminate: 'ENABLED',
        terminateTimeoutInSeconds: 30,
      },
      microvmImageHooks: { ready: 'ENABLED', readyTimeoutInSeconds: 300 },
    },
    environmentVariables: null,
  };
  return {
    id: context.ids.uuid(),
    arn: region.imageArn(context.options.imageName),
    name: context.options.imageName,
    createdWall,
    updatedWall: createdWall,
    state: 'CREATED',
    tags: {},
    versionsMade: 1,
    versions: [
      {
        version: '1.0',
        configuration,
        createdWall,
        updatedWall: createdWall,
        state: 'SUCCESSFUL',
        status: 'ACTIVE',
        stateReason: null,
        builds: ['4', '3'].map((chipsetGeneration) => ({
          buildId: context.ids.uuid(),
          chipsetGeneration,
          createdWall,
          state: 'SUCCESSFUL',
          stateReason: null,
          snapshotBuild: snapshotOf(null, 2048),
        })),
      },
    ],
  };
}
