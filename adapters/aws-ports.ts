/** All ports for the real service, or for a double of it at another address. */
import type {
  Clock,
  Credentials,
  CredentialsProvider,
  Entropy,
  Http,
  Journal,
  Ports,
  Secrets,
  Signer,
} from '../effects/index.ts';
import { VmchartError, checkRegion, controlPlaneUrl, regionFromEnvironment } from '../effects/index.ts';
import { systemClock } from './clock.ts';
import { cachedCredentials, defaultCredentials, staticCredentials } from './credentials.ts';
import { systemEntropy } from './entropy.ts';
import { gotHttp } from './http.ts';
import { memoryJournal } from './journal.ts';
import { localFiles } from './local-files/index.ts';
import { memorySecrets } from './secrets.ts';
import { sigV4Signer } from './signing.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of {@link awsPorts}; everything has a default. */
export interface AwsPortsOptions {
  /** The region; else `AWS_REGION`, `AWS_DEFAULT_REGION`, `us-east-1`. */
  readonly region?: string;
  /** Allows a region that is not on the list. */
  readonly unlistedRegion?: boolean;
  /** Where the control plane is; else `AWS_ENDPOINT_URL_LAMBDA_MICROVMS`, `AWS_ENDPOINT_URL`, the region's host. */
  readonly endpointUrl?: string;
  /** A key pair, or where to get one; else environment, shared files, default chain. */
  readonly credentials?: Credentials | CredentialsProvider;
  /** The profile to take credentials from. */
  readonly profile?: string;
  readonly http?: Http;
  readonly signer?: Signer;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  readonly secrets?: Secrets;
  readonly journal?: Journal;
  /** Read instead of the process's environment. */
  readonly environment?: Environment;
  readonly warn?: (text: string) => void;
}

/** A custom address from the options or the environment; `undefined` when there is none. */
function customEndpoint(options: AwsPortsOptions, environment: Environment): string | undefined {
  if (options.endpointUrl !== undefined) return checkEndpoint(options.endpointUrl);
  if (environment['AWS_IGNORE_CONFIGURED_ENDPOINT_URLS']?.toLowerCase() === 'true') return undefined;
  const configured = environment['AWS_ENDPOINT_URL_LAMBDA_MICROVMS'] || environment['AWS_ENDPOINT_URL'];
  return configured ? checkEndpoint(configured) : undefined;
}

function checkEndpoint(endpointUrl: string): string {
  const url = URL.canParse(endpointUrl) ? new URL(endpointUrl) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '' && url.username === '') {
    return endpointUrl;
  }
  throw new VmchartError('InvalidArg', 'The endpoint is not an http or https address without query and user.', {
    reason: 'invalid-endpoint',
    suggestions: ['Use an address such as http://127.0.0.1:9100.'],
  });
}

/**
 * The real ports. Nothing is loaded or asked until the first call: HTTP, signing and the credential chain come then.
 *
 * @example
 * const plane = new ControlPlane(awsPorts({ region: 'eu-west-1' }));
 *
 * @throws VmchartError `InvalidArg` for a region that is not on the list (`unsupported-region`), unless
 *   `unlistedRegion` or a custom endpoint is given, and for an address that is none
 */
export function awsPorts(options: AwsPortsOptions = {}): Ports {
  const environment = options.environment ?? process.env;
  const region = options.region ?? regionFromEnvironment(environment);
  const custom = customEndpoint(options, environment);
  checkRegion(region, { unlisted: options.unlistedRegion === true || custom !== undefined });
  const fips = environment['AWS_USE_FIPS_ENDPOINT'] === 'true';
  const dualStack = environment['AWS_USE_DUALSTACK_ENDPOINT'] === 'true';
  const clock = options.clock ?? systemClock();
  return {
    http: options.http ?? gotHttp({ environment }),
    signer: options.signer ?? sigV4Signer(),
    credentials: credentialsFrom(options, environment, clock),
    clock,
    entropy: options.entropy ?? systemEntropy(),
    secrets: options.secrets ?? memorySecrets(),
    journal: options.journal ?? memoryJournal(),
    localFiles: localFiles(),
    region,
    // Spelled out, because whoever gets these ports must not have to judge the region again.
    endpointUrl: custom ?? controlPlaneUrl(region, { fips, dualStack }),
    ...(options.warn === undefined ? {} : { warn: options.warn }),
  };
}

function credentialsFrom(options: AwsPortsOptions, environment: Environment, clock: Clock): CredentialsProvider {
  const given = options.credentials;
  if (given !== undefined && !('resolve' in given)) return staticCredentials(given);
  const source =
    given ??
    defaultCredentials({ environment, ...(options.profile === undefined ? {} : { profile: options.profile }) });
  return cachedCredentials(source, { wallNow: () => clock.wallNow() });
}
