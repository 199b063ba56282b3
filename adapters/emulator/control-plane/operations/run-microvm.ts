/** RunMicrovm (`control-plane-api.md` 8.1): checks in the live order, then a PENDING VM at once. */
import type { PlatformTerms } from '../../../../machines/index.ts';
import { enabledRuntimeHooks, hookTimeoutMs, versionToLaunch } from '../../service/image.ts';
import type { Image, ImageVersion } from '../../service/image.ts';
import { Microvm } from '../../service/microvm.ts';
import type { Region } from '../../service/region.ts';
import type { Answer, Call } from '../call.ts';
import { useClientToken } from '../client-tokens.ts';
import { refuseForeignArn } from '../find-image.ts';
import { checkLaunch, readLaunch } from '../launch-request.ts';
import type { LaunchRequest } from '../launch-request.ts';
import { conflict, invalid, notFound, ServiceError } from '../service-error.ts';
import { describeMicrovm } from '../views.ts';

function findVersion(region: Region, launch: LaunchRequest): { image: Image; version: ImageVersion } {
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

function termsOf(call: Call, launch: LaunchRequest, version: ImageVersion): PlatformTerms {
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

/** What the run hook gets in the place of a payload; an absent member is `undefined`. */
const payloadOf = { 'empty-text': '', null: null, absent: undefined } as const;

/** Launches. A dead launch is never an error of this call: it shows in the VM's state. */
export async function runMicrovm(call: Call): Promise<Answer> {
  const { context, region, body } = call;
  const { unverified } = context.options;
  const launch = readLaunch(body, unverified.payloadUnit);
  checkLaunch(launch);
  const token = useClientToken(region, 'RunMicrovm', '', body);
  const known = token.replayed === null ? undefined : region.microvms.get(token.replayed);
  if (known !== undefined) {
    await known.ready;
    return { body: describeMicrovm(known, unverified.unseenTexts) };
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
      runHookPayload: launch.runHookPayload ?? payloadOf[unverified.omittedPayload],
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
  return { body: describeMicrovm(microvm, unverified.unseenTexts) };
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
