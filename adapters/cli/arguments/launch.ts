/** What a VM is launched with. */
import { launchDefaults } from '../../../effects/control-plane/launch-request.ts';
import { longestDurationSec, shortestIdleSec } from '../../../effects/control-plane/launch-guards.ts';
import type { RunRequest } from '../../../effects/index.ts';
import { usageError } from '../cli-error.ts';
import { flag, text, wholeNumber } from './argument.ts';
import { environmentOptions } from './environment.ts';
import type { Target } from './target.ts';

const whole = Number.MAX_SAFE_INTEGER;

/** The options of a launch. */
export const launchOptions = {
  image: text({
    summary: 'The image to launch; a name is enough on an emulator.',
    placeholder: 'ARN|NAME',
    defaultText: "the emulator's own",
  }),
  imageVersion: text({ summary: 'A version of the image.', placeholder: 'VERSION', defaultText: 'the newest' }),
  suspendedSec: wholeNumber(
    {
      summary: 'How long a suspended VM can still be resumed; after that it ends.',
      placeholder: 'SECONDS',
      defaultText: String(launchDefaults.suspendedSec),
    },
    { min: 0, max: whole },
  ),
  maxIdleSec: wholeNumber(
    {
      summary: 'The platform suspends the VM after this time without traffic.',
      placeholder: 'SECONDS',
      defaultText: String(launchDefaults.maxIdleSec),
    },
    { min: shortestIdleSec, max: whole },
  ),
  maxDurationSec: wholeNumber(
    {
      summary: 'The platform ends the VM after this time at the latest.',
      placeholder: 'SECONDS',
      defaultText: String(launchDefaults.maxDurationSec),
    },
    { min: 1, max: longestDurationSec },
  ),
  autoResume: flag({ summary: 'Let traffic resume the VM when it is suspended.' }),
  ...environmentOptions,
  egress: flag({ summary: 'Let the VM reach the internet, by the managed connector.' }),
  denyEgress: flag({
    summary: 'Set the usual proxy variables to a closed port. Programs may ignore them: this is no firewall.',
  }),
  identity: flag({ summary: 'Give the VM a tunnel identity, which vmchart forward --verified needs.' }),
  executionRole: text({ summary: 'The role that the VM runs under.', placeholder: 'ARN' }),
};

const imageArn = /^arn:aws[a-z-]*:lambda:([a-z0-9-]+):(?:\d{12}|aws):microvm-image:[A-Za-z0-9_-]+$/;

/** The name of the image that an emulator always has. */
const ownImage = 'agentd';

/**
 * The image to launch on a target.
 *
 * @throws CliError of kind `InvalidArg` when the service would not know what is meant
 */
export function imageFor(image: string | undefined, target: Target): string {
  if (target.kind !== 'aws') return image ?? ownImage;
  const region = image === undefined ? undefined : imageArn.exec(image)?.[1];
  if (image === undefined || region === undefined) {
    throw usageError(
      image === undefined
        ? 'On AWS the image has to be named.'
        : `--image on AWS takes the ARN of a MicroVM image; ${JSON.stringify(image)} is none.`,
      [
        `Use --image arn:aws:lambda:${target.region}:<account>:microvm-image:<name>.`,
        'Leave out --region and --endpoint-url to try it on the embedded platform.',
      ],
    );
  }
  if (region !== target.region) {
    throw usageError(`The image is of region ${region}, and the launch would be in ${target.region}.`, [
      `Use --region ${region}, or an image of ${target.region}.`,
    ]);
  }
  return image;
}

/** The values of {@link launchOptions}, but for the image and the environment. */
export interface LaunchValues {
  readonly imageVersion: string | undefined;
  readonly suspendedSec: number | undefined;
  readonly maxIdleSec: number | undefined;
  readonly maxDurationSec: number | undefined;
  readonly autoResume: boolean;
  readonly egress: boolean;
  readonly denyEgress: boolean;
  readonly identity: boolean;
  readonly executionRole: string | undefined;
}

/** The values as a launch takes them. */
export function launchFrom(
  values: LaunchValues,
  image: string,
  launchEnv: Readonly<Record<string, string>>,
): RunRequest {
  if (values.egress && values.denyEgress) {
    throw usageError('--egress and --deny-egress ask for opposite things.', ['Leave one out.']);
  }
  const { imageVersion, suspendedSec, maxIdleSec, maxDurationSec, executionRole } = values;
  return {
    imageIdentifier: image,
    launchEnv,
    autoResume: values.autoResume,
    egress: values.egress,
    denyEgress: values.denyEgress,
    identity: values.identity,
    ...(imageVersion === undefined ? {} : { imageVersion }),
    ...(suspendedSec === undefined ? {} : { suspendedSec }),
    ...(maxIdleSec === undefined ? {} : { maxIdleSec }),
    ...(maxDurationSec === undefined ? {} : { maxDurationSec }),
    ...(executionRole === undefined ? {} : { executionRoleArn: executionRole }),
  };
}
