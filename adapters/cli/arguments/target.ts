/** Where a command works: the options, and what they come to. */
import { isListedRegion, listedRegions, regionFromEnvironment } from '../../../effects/control-plane/regions.ts';
import { usageError } from '../cli-error.ts';
import { didYouMean } from '../did-you-mean.ts';
import { flag, text } from './argument.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The variable that points the AWS tools, and this one, at another address of the service. */
export const endpointVariable = 'AWS_ENDPOINT_URL_LAMBDA_MICROVMS';

/** The options that say where a command works. */
export const targetOptions = {
  region: text({ summary: 'Work on AWS in this region, or in this region of an emulator.', placeholder: 'REGION' }),
  endpointUrl: text(
    {
      summary: `Work on the service at this address, such as a running emulator (also: ${endpointVariable}).`,
      placeholder: 'URL',
    },
    checkUrl,
  ),
  unlistedRegion: flag({ summary: 'Allow a region that is not on the list of regions with MicroVMs.' }),
};

/** Where a command works. */
export type Target =
  | { readonly kind: 'embedded' }
  | { readonly kind: 'emulator'; readonly region: string; readonly endpointUrl: string }
  | { readonly kind: 'aws'; readonly region: string; readonly endpointUrl: string | null };

/** The values of {@link targetOptions}. */
export interface TargetValues {
  readonly region: string | undefined;
  readonly endpointUrl: string | undefined;
  readonly unlistedRegion: boolean;
}

/**
 * The embedded platform, unless a region or an address says otherwise. `AWS_REGION` alone does not: a shell that
 * is set up for AWS must not make a first try bill anything.
 *
 * @throws CliError of kind `InvalidArg` for a region that is not on the list, or an address that is none
 */
export function targetOf(values: TargetValues, environment: Environment): Target {
  if (values.region !== undefined) checkRegionName(values.region, values.unlistedRegion);
  const configured = environment[endpointVariable];
  const endpointUrl = values.endpointUrl ?? (configured ? checkUrl(configured, endpointVariable) : null);
  if (values.region === undefined && endpointUrl === null) return { kind: 'embedded' };
  const region = values.region ?? regionFromEnvironment(environment);
  if (endpointUrl === null) return { kind: 'aws', region, endpointUrl };
  return { kind: isAwsHost(endpointUrl) ? 'aws' : 'emulator', region, endpointUrl };
}

/**
 * Refuses a region that is not on the list, unless any well-formed name is allowed.
 *
 * @param unlisted - whether it is; `null` where the command has no such option
 */
export function checkRegionName(region: string, unlisted: boolean | null): string {
  const wellFormed = /^[a-z]{2,}(-[a-z0-9]+)+$/.test(region);
  if (isListedRegion(region) || (unlisted === true && wellFormed)) return region;
  throw usageError(`MicroVMs are not known to be offered in a region called ${JSON.stringify(region)}.`, [
    ...didYouMean(region, listedRegions),
    `Known are ${listedRegions.join(', ')}.`,
    ...(wellFormed && unlisted !== null ? ['If the service has opened there since, add --unlisted-region.'] : []),
  ]);
}

/** Refuses what is no address of a service. */
export function checkUrl(value: string, label: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  const fits =
    url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '' && url.username === '';
  if (fits) return value;
  throw usageError(`${label} takes an http or https address without user and query.`, [
    'Use an address such as http://127.0.0.1:9100; vmchart emulator prints its own.',
  ]);
}

function isAwsHost(endpointUrl: string): boolean {
  return /\.(amazonaws\.com(\.cn)?|amazonaws\.eu|api\.aws)$/.test(new URL(endpointUrl).hostname);
}
