/** What all parts of one emulator share. */
import type { Clock, Credentials } from '../../effects/index.ts';
import { defaultPlatformOptions } from '../../machines/index.ts';
import type { BuildFailures } from './build-failure-queue.ts';
import type { ChangeSource } from './change-feed.ts';
import type { FaultSource } from './faults.ts';
import type { GuestFactory } from './guest.ts';
import type { Ids } from './ids.ts';
import { defaultCredentials, defaultDelays, defaultFrontOptions } from './options.ts';
import type { EmulatorDelays, EmulatorLimits, EmulatorOptions, UnverifiedOptions } from './options.ts';
import type { EndpointServers } from './proxy/endpoint-servers.ts';
import type { ProxyTokens } from './proxy/proxy-tokens.ts';
import type { RecordKeeper } from './recorder.ts';
import type { Work } from './work.ts';

/** The options with every default filled in. */
export interface ResolvedOptions {
  readonly region: string;
  readonly credentials: Credentials;
  readonly verifySignatures: boolean;
  readonly imageName: string;
  readonly accountId: string;
  readonly unsupportedRegions: ReadonlySet<string>;
  readonly unverified: UnverifiedOptions;
  readonly limits: EmulatorLimits;
  readonly delays: EmulatorDelays;
  readonly endpointForm: 'url' | 'bare-host';
  readonly maxBodyBytes: number;
  readonly endedEndpointsKept: number;
}

/** The shared parts. */
export interface EmulatorContext {
  readonly options: ResolvedOptions;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly work: Work;
  readonly guests: GuestFactory;
  readonly changes: ChangeSource;
  readonly tokens: ProxyTokens;
  readonly endpoints: EndpointServers;
  readonly buildFailures: BuildFailures;
  readonly faults: FaultSource;
  readonly recorder: RecordKeeper;
  /** Aborted when the emulator closes. */
  readonly closing: AbortSignal;
}

/** Fills in the defaults. */
export function resolveOptions(options: EmulatorOptions): ResolvedOptions {
  const delays = Object.fromEntries(
    Object.entries(defaultDelays).map(([name, ms]) => [name, options[name as keyof EmulatorDelays] ?? ms]),
  ) as unknown as EmulatorDelays;
  return {
    region: options.region ?? 'us-east-1',
    credentials: options.credentials ?? defaultCredentials,
    verifySignatures: options.verifySignatures ?? true,
    imageName: options.imageName ?? 'agentd',
    accountId: options.accountId ?? '123456789012',
    unsupportedRegions: new Set(options.unsupportedRegions),
    unverified: {
      ...defaultPlatformOptions,
      ...defaultFrontOptions,
      ...options.unverified,
    },
    limits: {
      ratePerSec: {},
      throttleStatus: 429,
      memoryMiB: null,
      images: null,
      versionsPerImage: null,
      concurrentBuilds: null,
      ...options.limits,
    },
    delays,
    endpointForm: options.endpointForm ?? 'url',
    maxBodyBytes: options.maxBodyBytes ?? 1024 * 1024,
    endedEndpointsKept: options.endedEndpointsKept ?? 64,
  };
}
