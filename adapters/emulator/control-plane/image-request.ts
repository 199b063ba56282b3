/** The configuration of an image as a request has it: read, checked, completed (`control-plane-api.md` 8.9). */
import type { HooksConfig, ImageConfiguration } from '../service/image.ts';
import { memorySizesMiB } from '../service/region.ts';
import type { Region } from '../service/region.ts';
import { checkConnectors } from './connectors.ts';
import { isObject } from './constraints.ts';
import type { Constraints, JsonObject } from './constraints.ts';
import { invalid } from './service-error.ts';

/** The pattern of a role's ARN. */
export const roleArnPattern = {
  regex: /^arn:aws[a-z-]*:iam::[0-9]{12}:role\/?[a-zA-Z_0-9+=,.@\-_/]+$/,
  shown: 'arn:aws[a-z\\-]*:iam::[0-9]{12}:role/?[a-zA-Z_0-9+=,.@\\-_/]+',
};

const notBlank = { regex: /^[^\s]+$/, shown: '[^\\s]+' };

/** The versions of the managed base image, newest first, as requests write them. */
export const managedVersions: readonly string[] = ['1', '0'];

/** Variables that the platform sets itself. */
const reservedVariables = new Set([
  'AWS_REGION',
  'AWS_LAMBDA_MICROVM_IMAGE_ARN',
  'AWS_LAMBDA_MICROVM_IMAGE_NAME',
  'AWS_LAMBDA_MICROVM_IMAGE_VERSION',
]);

const runtimeHooks = ['run', 'resume', 'suspend', 'terminate'];

function readHookGroup(
  constraints: Constraints,
  hooks: JsonObject,
  group: string,
  names: readonly string[],
  maxSec: number,
): Readonly<Record<string, string | number>> | undefined {
  const owner = constraints.object(hooks, group, { path: `hooks.${group}` });
  if (owner === undefined) return undefined;
  const read: Record<string, string | number> = {};
  for (const name of names) {
    const path = (member: string) => `hooks.${group}.${member}`;
    const state = constraints.string(owner, name, { oneOf: ['DISABLED', 'ENABLED'], path: path(name) });
    const timeoutMember = `${name}TimeoutInSeconds`;
    const timeout = constraints.integer(owner, timeoutMember, { min: 1, max: maxSec, path: path(timeoutMember) });
    if (state !== undefined) read[name] = state;
    if (timeout !== undefined) read[timeoutMember] = timeout;
  }
  return read;
}

function readHooks(constraints: Constraints, body: JsonObject): HooksConfig | null {
  const hooks = constraints.object(body, 'hooks');
  if (hooks === undefined) return null;
  const port = constraints.integer(hooks, 'port', { min: 1, max: 65_535, path: 'hooks.port' });
  const microvmHooks = readHookGroup(constraints, hooks, 'microvmHooks', runtimeHooks, 60);
  const microvmImageHooks = readHookGroup(constraints, hooks, 'microvmImageHooks', ['ready', 'validate'], 3600);
  return {
    ...(port === undefined ? {} : { port }),
    ...(microvmHooks === undefined ? {} : { microvmHooks }),
    ...(microvmImageHooks === undefined ? {} : { microvmImageHooks }),
  };
}

function readVariables(constraints: Constraints, body: JsonObject): Record<string, string> | null {
  const variables = constraints.object(body, 'environmentVariables');
  if (variables === undefined) return null;
  const entries = Object.entries(variables);
  if (entries.length > 50) {
    constraints.violated(null, 'environmentVariables', 'Member must have length less than or equal to 50');
  }
  for (const [name] of entries) {
    const path = `environmentVariables.${name}`;
    constraints.string({ name }, 'name', { min: 1, max: 256, pattern: notBlank, path });
    constraints.string(variables, name, { max: 4096, sensitive: true, path });
  }
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** What a create or update asks for, before it is checked against the service's own rules. */
export interface ImageRequest {
  readonly configuration: Omit<ImageConfiguration, 'baseImageVersion'>;
  readonly baseImageVersion: string | undefined;
}

/** Reads the block and notes violations of the model; the order of the required members is that of live answers. */
export function readImageRequest(constraints: Constraints, body: JsonObject, region: Region): ImageRequest {
  const baseImageArn = constraints.string(body, 'baseImageArn', { required: true, min: 20, max: 2048 });
  const codeArtifact = constraints.object(body, 'codeArtifact', { required: true });
  const uri =
    codeArtifact === undefined
      ? undefined
      : constraints.string(codeArtifact, 'uri', {
          required: true,
          min: 1,
          max: 2048,
          pattern: notBlank,
          path: 'codeArtifact.uri',
        });
  const buildRoleArn = constraints.string(body, 'buildRoleArn', {
    required: true,
    min: 20,
    max: 2048,
    pattern: roleArnPattern,
  });
  const baseImageVersion = constraints.string(body, 'baseImageVersion', { min: 1, max: 2048 });
  const description = constraints.string(body, 'description') ?? null;
  const logging = constraints.object(body, 'logging') ?? null;
  const egress = constraints.list(body, 'egressNetworkConnectors', { max: 1 }) ?? [];
  const cpu = constraints.list(body, 'cpuConfigurations') ?? [{ architecture: 'ARM_64' }];
  const resources = constraints.list(body, 'resources', { max: 1 }) ?? [];
  const capabilities = constraints.list(body, 'additionalOsCapabilities') ?? null;
  const hooks = readHooks(constraints, body);
  const environmentVariables = readVariables(constraints, body);
  constraints.string(body, 'clientToken', { min: 1, max: 128 });
  const [resource] = resources;
  const minimumMemoryInMiB = isObject(resource)
    ? constraints.integer(resource, 'minimumMemoryInMiB', {
        required: true,
        path: 'resources.1.member.minimumMemoryInMiB',
      })
    : undefined;
  return {
    baseImageVersion,
    configuration: {
      baseImageArn: baseImageArn ?? '',
      buildRoleArn: buildRoleArn ?? '',
      description,
      codeArtifact: { uri: uri ?? '' },
      logging,
      egressNetworkConnectors: egress.length > 0 ? egress.map(String) : [region.connectorArn('INTERNET_EGRESS')],
      cpuConfigurations: cpu,
      resources: [{ minimumMemoryInMiB: minimumMemoryInMiB ?? 2048 }],
      additionalOsCapabilities: capabilities?.map(String) ?? null,
      hooks,
      environmentVariables,
    },
  };
}

function checkHooks(hooks: HooksConfig | null): void {
  const anyRuntimeHook = runtimeHooks.some((name) => hooks?.microvmHooks?.[name] === 'ENABLED');
  if (anyRuntimeHook && hooks?.microvmImageHooks?.['ready'] !== 'ENABLED') {
    throw invalid(
      'The ready (/ready) MicroVM image hook must be enabled when any MicroVM lifecycle hook (run, resume, suspend, or terminate) is enabled.',
    );
  }
}

/** The service's own checks, one at a time; returns the configuration as answers show it. */
export function checkImageRequest(
  { configuration, baseImageVersion }: ImageRequest,
  region: Region,
): ImageConfiguration {
  const { baseImageArn, resources, codeArtifact, hooks, environmentVariables } = configuration;
  if (!baseImageArn.startsWith('arn:')) throw invalid(`Invalid ARN format: ${baseImageArn}`);
  if (!/^s3:\/\/[^/]+\/.+$/.test(codeArtifact.uri)) {
    throw invalid('CodeArtifact URI must be a valid S3 URI in the format: s3://<bucket>/<key>');
  }
  checkHooks(hooks);
  for (const name of Object.keys(environmentVariables ?? {})) {
    if (reservedVariables.has(name)) throw invalid(`Environment variable key '${name}' is reserved`);
  }
  checkConnectors(configuration.egressNetworkConnectors);
  const version = baseImageVersion ?? managedVersions[0] ?? '1';
  if (baseImageArn !== region.managedImageArn || !managedVersions.includes(version)) {
    throw invalid(`No managed MicroVM Image with arn ${baseImageArn} and version ${version} is available`);
  }
  const memoryMiB = resources[0]?.minimumMemoryInMiB ?? 2048;
  if (!memorySizesMiB.includes(memoryMiB)) {
    throw invalid(
      `The requested memory size of ${memoryMiB} MiB is not supported by base MicroVM image ${baseImageArn}. Supported memory sizes in MiB are: [${memorySizesMiB.join(', ')}].`,
    );
  }
  return { ...configuration, baseImageVersion: `${version}.0` };
}
