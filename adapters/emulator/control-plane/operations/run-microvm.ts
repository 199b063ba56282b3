/** RunMicrovm (`control-plane-api.md` 8.1): checks in the live order, then a PENDING VM at once. */
import type { PlatformTerms } from '../../../../machines/index.ts';
import { enabledRuntimeHooks, hookTimeoutMs, versionToLaunch } from '../../service/image.ts';
import type { Image, ImageVersion } from '../../service/image.ts';
import { Microvm } from '../../service/microvm.ts';
import type { LaunchFacts } from '../../service/microvm.ts';
import type { Region } from '../../service/region.ts';
import type { Answer, Call } from '../call.ts';
import { useClientToken } from '../client-tokens.ts';
import { isObject, makeConstraints } from '../constraints.ts';
import { refuseForeignArn } from '../find-image.ts';
import { roleArnPattern } from '../image-request.ts';
import type { JsonObject } from '../constraints.ts';
import { checkConnectors } from '../connectors.ts';
import { conflict, invalid, notFound, ServiceError } from '../service-error.ts';
import { describeMicrovm } from '../views.ts';

/** The longest life of a VM, in seconds; also what a launch gets that names none. */
const longestSec = 28_800;

/** A launch request that keeps the model's constraints. */
interface Launch {
  readonly imageIdentifier: string;
  readonly imageVersion: string | undefined;
  readonly executionRoleArn: string | undefined;
  readonly idlePolicy: LaunchFacts['idlePolicy'];
  readonly logging: JsonObject | undefined;
  readonly maximumDurationInSeconds: number;
  readonly runHookPayload: string | undefined;
  readonly ingress: readonly string[];
  readonly egress: readonly string[];
}

function readLaunch(body: JsonObject): Launch {
  const constraints = makeConstraints();
  const imageIdentifier = constraints.string(body, 'imageIdentifier', { required: true, min: 1, max: 256 });
  const imageVersion = constraints.string(body, 'imageVersion', { min: 1, max: 2048 });
  const executionRoleArn = constraints.string(body, 'executionRoleArn', {
    min: 20,
    max: 2048,
    pattern: roleArnPattern,
  });
  const policy = constraints.object(body, 'idlePolicy');
  let idlePolicy: LaunchFacts['idlePolicy'] = null;
  if (policy !== undefined) {
    const at = (member: string) => ({ required: true, path: `idlePolicy.${member}` });
    idlePolicy = {
      maxIdleDurationSeconds:
        constraints.integer(policy, 'maxIdleDurationSeconds', {
          ...at('maxIdleDurationSeconds'),
          min: 60,
          max: longestSec,
        }) ?? 0,
      suspendedDurationSeconds:
        constraints.integer(policy, 'suspendedDurationSeconds', { ...at('suspendedDurationSeconds'), min: 0 }) ?? 0,
      autoResumeEnabled: constraints.boolean(policy, 'autoResumeEnabled', at('autoResumeEnabled')) ?? false,
    };
  }
  const logging = constraints.object(body, 'logging');
  const maximumDurationInSeconds =
    constraints.integer(body, 'maximumDurationInSeconds', { min: 1, max: longestSec }) ?? longestSec;
  const runHookPayload = constraints.string(body, 'runHookPayload', { max: 4096, sensitive: true });
  const ingress = constraints.list(body, 'ingressNetworkConnectors', { max: 10 }) ?? [];
  const egress = constraints.list(body, 'egressNetworkConnectors', { max: 10 }) ?? [];
  constraints.string(body, 'clientToken', { min: 1, max: 128 });
  constraints.check();
  return {
    imageIdentifier: imageIdentifier ?? '',
    imageVersion,
    executionRoleArn,
    idlePolicy,
    logging,
    maximumDurationInSeconds,
    runHookPayload,
    ingress: ingress.map(String),
    egress: egress.map(String),
  };
}

/** The service's own checks, one at a time, before it looks anything up. */
function checkProse(launch: Launch): void {
  if (!launch.imageIdentifier.startsWith('arn:')) throw invalid("Malformed ARN - doesn't start with 'arn:'");
  if (isObject(launch.logging?.['cloudWatch']) && launch.executionRoleArn === undefined) {
    throw invalid('Logging cannot be enabled without providing executionRoleArn');
  }
  checkConnectors(launch.ingress);
  checkConnectors(launch.egress);
  if (launch.egress.length > 1) throw invalid('Only one egress network connector can be provided');
}

function findVersion(region: Region, launch: Launch): { image: Image; version: ImageVersion } {
  const { imageIdentifier, imageVersion } = launch;
  refuseForeignArn(imageIdentifier, region.accountId, 'RunMicrovm');
  const image = region.images.get(imageIdentifier);
  const version = image === undefined ? undefined : versionToLaunch(image, imageVersion);
  if (image === undefined || version === undefined) {
    const pinned = imageVersion === undefined ? '' : ` and version ${imageVersion}`;
    throw notFound(`No active version found for MicroVM image ${imageIdentifier}${pinned}`);
  }
  return { image, version };
}

function memoryOf(version: ImageVersion): number {
  return version.configuration.resources[0]?.minimumMemoryInMiB ?? 2048;
}

/** A launch is refused once the sum is over the quota: the last one admitted may overshoot. */
function checkMemory(call: Call): void {
  const { memoryMiB } = call.context.options.limits;
  if (memoryMiB === null) return;
  let peak = 0;
  for (const microvm of call.region.microvms.values()) {
    if (microvm.state !== 'TERMINATED') peak += 4 * microvm.facts.memoryMiB;
  }
  if (peak > memoryMiB) {
    throw new ServiceError(
      'ServiceQuotaExceededException',
      'The base maximum allocated memory limit has been reached for this account.',
    );
  }
}

function termsOf(call: Call, launch: Launch, version: ImageVersion): PlatformTerms {
  const { delays, unverified } = call.context.options;
  const { idlePolicy } = launch;
  const timeout = (hook: 'run' | 'suspend' | 'resume' | 'terminate') => hookTimeoutMs(version.configuration, hook);
  return {
    idlePolicy:
      idlePolicy === null
        ? null
        : {
            maxIdleMs: idlePolicy.maxIdleDurationSeconds * 1000,
            suspendedWindowMs: idlePolicy.suspendedDurationSeconds * 1000,
            autoResume: idlePolicy.autoResumeEnabled,
          },
    maximumDurationMs: launch.maximumDurationInSeconds * 1000,
    hookTimeoutMs: {
      run: timeout('run'),
      suspend: timeout('suspend'),
      resume: timeout('resume'),
      terminate: timeout('terminate'),
    },
    delays,
    options: unverified,
  };
}

/** Launches. A dead launch is never an error of this call: it shows in the VM's state. */
export async function runMicrovm(call: Call): Promise<Answer> {
  const { context, region, body } = call;
  const launch = readLaunch(body);
  checkProse(launch);
  const token = useClientToken(region, 'RunMicrovm', '', body);
  const known = token.replayed === null ? undefined : region.microvms.get(token.replayed);
  if (known !== undefined) {
    await known.ready;
    return { body: describeMicrovm(known) };
  }
  if (token.replayed !== null) throw conflict('The client token names a MicroVM that is gone.');

  const { image, version } = findVersion(region, launch);
  const hooks = enabledRuntimeHooks(version.configuration);
  if (launch.runHookPayload !== undefined && launch.runHookPayload !== '' && !hooks.has('run')) {
    throw invalid('The run hook must be enabled in the MicroVM image to pass the run hook payload');
  }
  checkMemory(call);

  const microvmId = `microvm-${context.ids.uuid()}`;
  const guest = context.guests.create({
    microvmId,
    environment: {
      ...version.configuration.environmentVariables,
      AWS_LAMBDA_MICROVM_IMAGE_ARN: image.arn,
      AWS_LAMBDA_MICROVM_IMAGE_NAME: image.name,
      AWS_LAMBDA_MICROVM_IMAGE_VERSION: version.version,
      AWS_REGION: region.name,
    },
  });
  const microvm = new Microvm(
    {
      microvmId,
      endpointHost: `${context.ids.uuid()}.lambda-microvm.${region.name}.on.aws`,
      imageArn: image.arn,
      imageVersion: version.version,
      memoryMiB: memoryOf(version),
      maximumDurationInSeconds: launch.maximumDurationInSeconds,
      executionRoleArn: launch.executionRoleArn ?? null,
      idlePolicy: launch.idlePolicy,
      ingressNetworkConnectors: launch.ingress.length > 0 ? launch.ingress : [region.connectorArn('HTTP_INGRESS')],
      egressNetworkConnectors: launch.egress.length > 0 ? launch.egress : version.configuration.egressNetworkConnectors,
    },
    {
      clock: context.clock,
      work: context.work,
      guest,
      terms: termsOf(call, launch, version),
      enabledHooks: hooks,
      runHookPayload: launch.runHookPayload ?? '',
      onChange: (change) => {
        if (change.to === 'TERMINATED') context.endpoints.ended(microvmId);
        context.changes.publish(change);
      },
    },
  );
  token.remember(microvmId);
  region.microvms.set(microvmId, microvm);
  microvm.ready = openEndpoint(call, microvm);
  await microvm.ready;
  return { body: describeMicrovm(microvm) };
}

/** An endpoint that cannot listen ends the VM: the launch was accepted, its state tells the rest (FC-148). */
async function openEndpoint({ context }: Call, microvm: Microvm): Promise<void> {
  context.endpoints.register(microvm);
  if (context.options.endpointForm === 'bare-host') {
    microvm.endpoint = microvm.facts.endpointHost;
    return;
  }
  try {
    microvm.endpoint = await context.endpoints.open(context, microvm);
  } catch (error) {
    microvm.endpoint = microvm.facts.endpointHost;
    microvm.lose(`The endpoint could not be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
}
