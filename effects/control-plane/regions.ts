/** Where the service is offered, as data, and the guard in front of it (`client-behaviour.md` 3.12). */
import { VmchartError } from '../errors.ts';

/**
 * Regions where MicroVMs were seen to be offered (`platform-behaviour.md` section 2).
 * The list grows faster than releases do; `unlisted` in {@link checkRegion} is the way past it.
 */
export const listedRegions = [
  'us-east-1',
  'us-east-2',
  'us-west-2',
  'eu-west-1',
  'ap-northeast-1',
  'ap-south-1',
  'ap-southeast-1',
  'ap-southeast-2',
  'eu-central-1',
  'eu-north-1',
] as const;

/** Whether the name is on the list: exact and case-sensitive, nothing trimmed. */
export function isListedRegion(region: string): boolean {
  return (listedRegions as readonly string[]).includes(region);
}

/** What a region name may look like at all, since it becomes part of a host name. */
const wellFormed = /^[a-z]{2,}(-[a-z0-9]+)+$/;

/**
 * Refuses a region that is not on the list, before any call.
 *
 * @param options - `unlisted: true` lets any well-formed name pass
 * @throws VmchartError `InvalidArg` with reason `unsupported-region`
 */
export function checkRegion(region: string, options: { readonly unlisted?: boolean } = {}): void {
  if (options.unlisted === true ? wellFormed.test(region) : isListedRegion(region)) return;
  throw new VmchartError(
    'InvalidArg',
    `MicroVMs are not known to be offered in region ${JSON.stringify(region)}. ` +
      'There the service answers AccessDeniedException with the message null, which reads like a missing permission.',
    {
      reason: 'unsupported-region',
      suggestions: [
        `Use one of ${listedRegions.join(', ')}.`,
        'If the service has opened there since, allow the name with unlistedRegion: true.',
      ],
    },
  );
}

interface Partition {
  readonly name: string;
  readonly suffix: string;
  readonly dualStackSuffix: string;
}

/** The AWS partition of a region: its name in ARNs and its host name suffixes (`control-plane-api.md` 1.1). */
function partitionFor(region: string): Partition {
  if (region.startsWith('cn-')) {
    return { name: 'aws-cn', suffix: 'amazonaws.com.cn', dualStackSuffix: 'api.amazonwebservices.com.cn' };
  }
  if (region.startsWith('eusc-')) {
    return { name: 'aws-eusc', suffix: 'amazonaws.eu', dualStackSuffix: 'api.amazonwebservices.eu' };
  }
  const name = region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws';
  return { name, suffix: 'amazonaws.com', dualStackSuffix: 'api.aws' };
}

/** The partition's name as ARNs spell it, such as `aws` or `aws-cn`. */
export function partitionOf(region: string): string {
  return partitionFor(region).name;
}

/** The control plane's address: a host that MicroVMs share with classic Lambda. */
export function controlPlaneUrl(
  region: string,
  options: { readonly fips?: boolean; readonly dualStack?: boolean } = {},
): string {
  const { suffix, dualStackSuffix } = partitionFor(region);
  const service = options.fips === true ? 'lambda-fips' : 'lambda';
  return `https://${service}.${region}.${options.dualStack === true ? dualStackSuffix : suffix}`;
}

/**
 * The region that an environment names: `AWS_REGION`, then `AWS_DEFAULT_REGION`, then `us-east-1`.
 * An empty value counts as unset.
 */
export function regionFromEnvironment(environment: Readonly<Record<string, string | undefined>>): string {
  return environment['AWS_REGION'] || environment['AWS_DEFAULT_REGION'] || 'us-east-1';
}
