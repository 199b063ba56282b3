/** What a user can set on an emulator, and what holds otherwise. */
import type { Clock, Credentials, Entropy } from '../../effects/index.ts';
import type { PlatformDelays, PlatformOptions } from '../../machines/index.ts';
import type { ClockMode } from './clocks.ts';
import type { GuestFactory } from './guest.ts';

/** How long things take, in milliseconds on the emulator's clock. */
export interface EmulatorDelays extends PlatformDelays {
  /** How much later than RUNNING the daemon answers through the endpoint (FC-149). */
  readonly appReadyDelayMs: number;
  /** How long after a launch reads answer 404, as an eventually consistent service may. */
  readonly readableDelayMs: number;
  /** How long a build waits, and then how long it takes. */
  readonly buildDelayMs: number;
  readonly versionDeleteDelayMs: number;
  readonly imageDeleteDelayMs: number;
}

/** Small, so that a life takes a moment, yet long enough for every state to be seen. */
export const defaultDelays: EmulatorDelays = {
  launchDelayMs: 20,
  suspendDelayMs: 20,
  resumeDelayMs: 20,
  terminateDelayMs: 20,
  exitDelayMs: 200,
  appReadyDelayMs: 0,
  readableDelayMs: 0,
  buildDelayMs: 50,
  versionDeleteDelayMs: 20,
  imageDeleteDelayMs: 20,
};

/** *Unverified* behaviour of the service's front, beside that of the platform machine. */
export interface FrontOptions {
  /** Whether the first read after a terminate still answers the state before it. Seen live. */
  readonly staleFirstRead: boolean;
  /** Whether a listing may show a VM that changed its state on two pages. Seen live. */
  readonly listShowsMovedTwice: boolean;
  /** Whether `nameFilter` is applied after the page was cut, so that pages may be empty. Seen live. */
  readonly filterAfterPage: boolean;
  /** Whether a create with a used token, after the image was deleted, hangs in CREATING. Seen live, twice. */
  readonly replayedImageTokenWedges: boolean;
  /** Whether a version that a live VM uses can be deleted. */
  readonly deleteVersionInUse: boolean;
  /** What deleting an image or a version that is gone answers. */
  readonly deleteOfMissing: 'ok' | 'not-found';
  /** Whether a token can be minted for a terminated VM: 400 as for a suspend, or 200. */
  readonly mintOfTerminated: 'ok' | 'validation' | 'conflict';
  /** Whether a token can be minted while the VM is PENDING. */
  readonly mintOfPending: 'ok' | 'conflict';
  /** For how long an ended VM can be read and is listed, on the emulator's clock; null: for as long as it runs. */
  readonly endedReadableMs: number | null;
  /** Whether `ListMicrovms` begins with the newest VM or with the oldest. */
  readonly listOrder: 'newest-first' | 'oldest-first';
  /** Whether the filter `imageVersion` of `ListMicrovms` takes `1` for `1.0`. */
  readonly versionFilter: 'numeric' | 'exact';
  /** What the versions of an image that does not exist answer. */
  readonly versionsOfMissing: 'not-found' | 'empty';
  /** What the 4096 of the run hook's payload count. */
  readonly payloadUnit: 'utf16-units' | 'bytes';
  /** What the run hook gets of a launch without a payload. */
  readonly omittedPayload: 'empty-text' | 'null' | 'absent';
  /** Whether the proxy looks at the token before it looks at the port. */
  readonly tokenBeforePort: boolean;
  /** Whether texts, and a throttle's `Retry-After`, that nobody has seen are made up, or left out. */
  readonly unseenTexts: 'plausible' | 'absent';
}

/** The measured or documented value where there is one, otherwise the plainer of the two. */
export const defaultFrontOptions: FrontOptions = {
  staleFirstRead: false,
  listShowsMovedTwice: false,
  filterAfterPage: true,
  replayedImageTokenWedges: false,
  deleteVersionInUse: false,
  deleteOfMissing: 'not-found',
  mintOfTerminated: 'validation',
  mintOfPending: 'ok',
  endedReadableMs: null,
  listOrder: 'newest-first',
  versionFilter: 'numeric',
  versionsOfMissing: 'not-found',
  payloadUnit: 'utf16-units',
  omittedPayload: 'empty-text',
  tokenBeforePort: false,
  unseenTexts: 'plausible',
};

/** All that is *unverified*, in one record. */
export type UnverifiedOptions = PlatformOptions & FrontOptions;

/** Which limits are enforced, beside those of the model. */
export interface EmulatorLimits {
  /** Calls a second by operation; an operation without a number is not limited. */
  readonly ratePerSec: Readonly<Record<string, number>>;
  /** Over the rate: 429, or 400 with the same error name (FC-110). */
  readonly throttleStatus: 429 | 400;
  /** The account's memory in MiB, each VM counted at four times its size; null: unlimited. */
  readonly memoryMiB: number | null;
  readonly images: number | null;
  readonly versionsPerImage: number | null;
  readonly concurrentBuilds: number | null;
}

/** The quotas of a large account (`platform-behaviour.md` 16.1), for `limits`. */
export const serviceQuotas: EmulatorLimits = {
  ratePerSec: {
    RunMicrovm: 5,
    SuspendMicrovm: 2,
    ResumeMicrovm: 5,
    TerminateMicrovm: 10,
    CreateMicrovmAuthToken: 50,
    CreateMicrovmShellAuthToken: 5,
    GetMicrovm: 100,
    ListMicrovms: 115,
  },
  throttleStatus: 429,
  memoryMiB: 1024 * 1024,
  images: 100,
  versionsPerImage: 50,
  concurrentBuilds: 10,
};

/** What `startEmulator` takes. Everything has a default. */
export interface EmulatorOptions extends Partial<EmulatorDelays> {
  /** The port of the control plane on 127.0.0.1; 0, the default, takes a free one. */
  readonly port?: number;
  /** The region of the default image and of requests that name none. Default `us-east-1`. */
  readonly region?: string;
  /** `real` (default), `fast`, `manual`, or a clock of the caller's. */
  readonly clock?: ClockMode | Clock;
  /** How many seconds pass in one on the `fast` clock. Default 60. */
  readonly clockRate?: number;
  /** What stands inside a VM. Default: real local processes. */
  readonly guests?: GuestFactory;
  /** The one identity that is known. Default: a well-known pair for tests. */
  readonly credentials?: Credentials;
  /** Whether signatures are checked. Default true. */
  readonly verifySignatures?: boolean;
  /** The name of the image that is always there. Default `agentd`. */
  readonly imageName?: string;
  readonly accountId?: string;
  /** Regions in which the service is not offered: they answer 403 without a message. */
  readonly unsupportedRegions?: readonly string[];
  /** What nobody has measured for certain. */
  readonly unverified?: Partial<UnverifiedOptions>;
  /** Limits beyond the model's. Default: none. */
  readonly limits?: Partial<EmulatorLimits>;
  /** `url` (default): each VM has its own port. `bare-host`: as on AWS, routed by the `Host` header. */
  readonly endpointForm?: 'url' | 'bare-host';
  /** The largest request body on the control plane, in bytes. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** How many requests the recorder keeps. Default 10,000; counts go on. */
  readonly recordedRequests?: number;
  /** How many ended VMs keep their endpoint's port open, to answer 502. Default 64. */
  readonly endedEndpointsKept?: number;
  readonly entropy?: Entropy;
}

/** The credentials that the emulator knows by default: AWS's own example pair. */
export const defaultCredentials: Credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
