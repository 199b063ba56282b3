/** Images, their versions and builds, as the service keeps them (`platform-behaviour.md` 4). */
import type { RuntimeHook } from '../../../machines/index.ts';

/** The states of an image. */
export type ImageState =
  'CREATING' | 'CREATED' | 'CREATE_FAILED' | 'UPDATING' | 'UPDATED' | 'UPDATE_FAILED' | 'DELETING' | 'DELETE_FAILED';

/** The states of a version. */
export type VersionState = 'PENDING' | 'IN_PROGRESS' | 'SUCCESSFUL' | 'FAILED' | 'DELETING' | 'DELETE_FAILED';

/** The states of a build. */
export type BuildState = 'PENDING' | 'IN_PROGRESS' | 'SUCCESSFUL' | 'FAILED';

/** Which hooks an image enabled, and how long each may take. */
export interface HooksConfig {
  readonly port?: number;
  readonly microvmHooks?: Readonly<Record<string, string | number>>;
  readonly microvmImageHooks?: Readonly<Record<string, string | number>>;
}

/** The configuration block that create, update and version answers share (`control-plane-api.md` 7.2). */
export interface ImageConfiguration {
  readonly baseImageArn: string;
  readonly baseImageVersion: string;
  readonly buildRoleArn: string;
  readonly description: string | null;
  readonly codeArtifact: { readonly uri: string };
  readonly logging: unknown;
  readonly egressNetworkConnectors: readonly string[];
  readonly cpuConfigurations: readonly unknown[];
  readonly resources: readonly { readonly minimumMemoryInMiB: number }[];
  readonly additionalOsCapabilities: readonly string[] | null;
  readonly hooks: HooksConfig | null;
  readonly environmentVariables: Readonly<Record<string, string>> | null;
}

/** What a finished build left behind; members are missing for what it did not reach. */
export interface SnapshotBuild {
  readonly memorySnapshotSizeInBytes?: number;
  readonly codeInstallSizeInBytes?: number;
  readonly diskSnapshotSizeInBytes?: number;
}

/** One build of a version, for one chipset generation. */
export interface Build {
  readonly buildId: string;
  readonly chipsetGeneration: string;
  readonly createdWall: number;
  state: BuildState;
  stateReason: string | null;
  snapshotBuild: SnapshotBuild | null;
}

/** One version of an image. */
export interface ImageVersion {
  readonly version: string;
  readonly configuration: ImageConfiguration;
  readonly builds: readonly Build[];
  readonly createdWall: number;
  updatedWall: number;
  state: VersionState;
  status: 'ACTIVE' | 'INACTIVE';
  stateReason: string | null;
}

/** One image. Versions in the order of their creation. */
export interface Image {
  readonly id: string;
  readonly arn: string;
  readonly name: string;
  readonly createdWall: number;
  updatedWall: number;
  state: ImageState;
  tags: Record<string, string>;
  versions: ImageVersion[];
  /** How many versions were ever made; a number is never used again. */
  versionsMade: number;
}

/** A version that can be launched now. */
export function isLaunchable(version: ImageVersion): boolean {
  return version.state === 'SUCCESSFUL' && version.status === 'ACTIVE';
}

/** `1` and `1.0` name the same version. */
export function sameVersion(left: string, right: string): boolean {
  const number = (text: string) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : text);
  return number(left) === number(right);
}

/** The version that a launch uses: the pinned one, otherwise the newest that is active. */
export function versionToLaunch(image: Image, pinned: string | undefined): ImageVersion | undefined {
  const launchable = image.versions.filter(isLaunchable);
  return pinned === undefined ? launchable.at(-1) : launchable.find((version) => sameVersion(version.version, pinned));
}

/** The hooks that an image calls in its running VMs. */
export function enabledRuntimeHooks(configuration: ImageConfiguration): Set<RuntimeHook> {
  const names: readonly RuntimeHook[] = ['run', 'suspend', 'resume', 'terminate'];
  return new Set(names.filter((name) => configuration.hooks?.microvmHooks?.[name] === 'ENABLED'));
}

/** The time limit of a runtime hook in milliseconds: 1 s when the image does not say (`platform-behaviour.md` 8.3). */
export function hookTimeoutMs(configuration: ImageConfiguration, hook: RuntimeHook): number {
  const seconds = configuration.hooks?.microvmHooks?.[`${hook}TimeoutInSeconds`];
  return (typeof seconds === 'number' ? seconds : 1) * 1000;
}
