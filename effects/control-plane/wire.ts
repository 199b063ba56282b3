/** The bodies of requests, member for member as the service spells them (`control-plane-api.md` section 8). */

/** All three members are required together. */
export interface WireIdlePolicy {
  readonly maxIdleDurationSeconds: number;
  readonly suspendedDurationSeconds: number;
  readonly autoResumeEnabled: boolean;
}

/** Exactly one of the two. */
export type WireLogging =
  | { readonly disabled: Record<string, never> }
  | { readonly cloudWatch: { readonly logGroup?: string; readonly logStream?: string } };

/** The body of `RunMicrovm`. */
export interface RunMicrovmRequest {
  /** An image ARN; a bare name is resolved beforehand. */
  readonly imageIdentifier: string;
  readonly imageVersion?: string;
  readonly executionRoleArn?: string;
  readonly idlePolicy?: WireIdlePolicy;
  readonly logging?: WireLogging;
  /** 1 to 28,800 seconds. */
  readonly maximumDurationInSeconds?: number;
  /** Secret. At most 4,096 UTF-8 bytes. */
  readonly runHookPayload?: string;
  readonly ingressNetworkConnectors?: readonly string[];
  readonly egressNetworkConnectors?: readonly string[];
  readonly clientToken?: string;
}

/** One port, a range, or all of them. */
export type PortSpecification =
  | { readonly port: number }
  | { readonly range: { readonly startPort: number; readonly endPort: number } }
  | { readonly allPorts: Record<string, never> };

type HookState = 'ENABLED' | 'DISABLED';

/** Which hooks an image answers, on which port, and how long each may take. */
export interface WireHooks {
  readonly port?: number;
  readonly microvmHooks?: {
    readonly run?: HookState;
    readonly resume?: HookState;
    readonly suspend?: HookState;
    readonly terminate?: HookState;
    readonly runTimeoutInSeconds?: number;
    readonly resumeTimeoutInSeconds?: number;
    readonly suspendTimeoutInSeconds?: number;
    readonly terminateTimeoutInSeconds?: number;
  };
  readonly microvmImageHooks?: {
    readonly ready?: HookState;
    readonly validate?: HookState;
    readonly readyTimeoutInSeconds?: number;
    readonly validateTimeoutInSeconds?: number;
  };
}

/** The body of `CreateMicrovmImage`. It has no `clientToken`: one is minted for each create (TRAP-1). */
export interface CreateMicrovmImageRequest {
  readonly name: string;
  readonly baseImageArn: string;
  readonly baseImageVersion?: string;
  readonly buildRoleArn: string;
  readonly codeArtifact: { readonly uri: string };
  readonly description?: string;
  readonly logging?: WireLogging;
  readonly egressNetworkConnectors?: readonly string[];
  readonly cpuConfigurations?: readonly { readonly architecture: 'ARM_64' }[];
  readonly resources?: readonly { readonly minimumMemoryInMiB: number }[];
  readonly additionalOsCapabilities?: readonly 'ALL'[];
  readonly hooks?: WireHooks;
  /** Values are secret. */
  readonly environmentVariables?: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, string>>;
}

/** What `ListMicrovms` says of one VM. */
export interface MicrovmSummary {
  readonly microvmId: string;
  /** As the service wrote it. */
  readonly state: string;
  readonly imageArn: string;
  readonly imageVersion: string;
  /** Unix milliseconds. */
  readonly startedAtMs: number | null;
}

/** What the service says of one image. */
export interface MicrovmImage {
  readonly imageArn: string;
  readonly name: string;
  /** As the service wrote it, such as `CREATING` or `CREATE_FAILED`. */
  readonly state: string;
  /** The version that a create answers with. */
  readonly imageVersion: string | null;
  readonly latestActiveImageVersion: string | null;
  readonly latestFailedImageVersion: string | null;
  /** Unix milliseconds. */
  readonly createdAtMs: number | null;
  /** Unix milliseconds. */
  readonly updatedAtMs: number | null;
}

/** What the service says of one version of an image. */
export interface MicrovmImageVersion {
  readonly imageArn: string;
  readonly imageVersion: string;
  readonly state: string;
  /** `ACTIVE` versions can be launched, `INACTIVE` ones cannot. */
  readonly status: string | null;
  readonly stateReason: string | null;
  /** The size class, in MiB. */
  readonly minimumMemoryMiB: number | null;
  /** The port on which the image answers hooks. */
  readonly hookPort: number | null;
  /** Unix milliseconds. */
  readonly createdAtMs: number | null;
}

/** What the service says of one build: a version has one for each chipset generation. */
export interface MicrovmImageBuild {
  readonly buildId: string;
  readonly buildState: string;
  readonly stateReason: string | null;
  readonly architecture: string | null;
  readonly chipsetGeneration: string | null;
  /** Snapshot sizes in bytes; only `GetMicrovmImageBuild` reports them. */
  readonly snapshot: {
    readonly memoryBytes: number | null;
    readonly codeInstallBytes: number | null;
    readonly diskBytes: number | null;
  } | null;
}
