/** Opens the platform that a command works on. Everything heavy comes in here. */
import { awsPorts } from '../../aws-ports.ts';
import { gotHttp } from '../../http.ts';
import { startEmulator } from '../../emulator/index.ts';
import { defaultCredentials } from '../../emulator/options.ts';
import type { Emulator, EmulatorOptions } from '../../emulator/index.ts';
import type { Journal, Ports, Secrets } from '../../../effects/index.ts';
import type { Target } from '../arguments/target.ts';
import { isLoopback, withoutWaitingFor } from './loopback.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A platform, and what it takes to work on it. */
export interface Platform extends AsyncDisposable {
  readonly target: Target;
  readonly ports: Ports;
  /** The emulator, when it lives in this process. */
  readonly emulator: Emulator | null;
}

/** What a command may bring along. */
export interface PlatformOptions {
  readonly emulator?: EmulatorOptions;
  readonly secrets?: Secrets;
  readonly journal?: Journal;
  readonly warn?: (text: string) => void;
}

/** Opens it. The embedded one is started, and ends with whoever opened it. */
export async function openPlatform(
  target: Target,
  environment: Environment,
  options: PlatformOptions = {},
): Promise<Platform> {
  const { emulator: emulatorOptions, ...brought } = options;
  if (target.kind !== 'embedded') return remotePlatform(target, environment, brought);
  const emulator = await startEmulator(emulatorOptions);
  const { region, credentials, endpoint: endpointUrl } = emulator;
  const ports = awsPorts({ ...brought, region, credentials, endpointUrl, environment: {} });
  return {
    target,
    ports,
    emulator,
    async [Symbol.asyncDispose]() {
      ports.http.close?.();
      await emulator.close();
    },
  };
}

function remotePlatform(
  target: Exclude<Target, { kind: 'embedded' }>,
  environment: Environment,
  brought: Omit<PlatformOptions, 'emulator'>,
): Platform {
  const { region, endpointUrl } = target;
  const ports = awsPorts({
    ...brought,
    region,
    // Judged where the options were read.
    unlistedRegion: true,
    // What was read from the options or a record counts; no other address may slip in.
    environment: { ...environment, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
    ...(endpointUrl === null ? {} : { endpointUrl, http: withoutWaitingFor(gotHttp({ environment }), endpointUrl) }),
    ...(wantsExampleCredentials(target, environment) ? { credentials: defaultCredentials } : {}),
  });
  return {
    target,
    ports,
    emulator: null,
    async [Symbol.asyncDispose]() {
      ports.http.close?.();
    },
  };
}

/** An emulator on this machine knows the published example pair; a key pair in the environment still wins. */
function wantsExampleCredentials(target: Target, environment: Environment): boolean {
  if (target.kind !== 'emulator' || environment['AWS_ACCESS_KEY_ID'] || environment['AWS_PROFILE']) return false;
  return isLoopback(target.endpointUrl);
}
