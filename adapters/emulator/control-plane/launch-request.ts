/** A launch as a request has it (`control-plane-api.md` 8.1). */
import type { LaunchFacts } from '../service/microvm.ts';
import { checkConnectors } from './connectors.ts';
import { isObject, makeConstraints } from './constraints.ts';
import type { JsonObject } from './constraints.ts';
import { roleArnPattern } from './image-request.ts';
import { invalid } from './service-error.ts';

/** The longest life of a VM, in seconds; also what a launch gets that names none. */
const longestSec = 28_800;

/** A launch request that keeps the model's constraints. */
export interface LaunchRequest {
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

/** The largest payload of the run hook. */
const longestPayload = 4096;

/** Reads a launch; all violations of the model are one refusal. */
export function readLaunch(body: JsonObject, payloadUnit: 'utf16-units' | 'bytes'): LaunchRequest {
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
  const runHookPayload = constraints.string(body, 'runHookPayload', { sensitive: true });
  const size = payloadUnit === 'bytes' ? Buffer.byteLength(runHookPayload ?? '') : (runHookPayload ?? '').length;
  if (size > longestPayload) {
    constraints.violated(null, 'runHookPayload', `Member must have length less than or equal to ${longestPayload}`);
  }
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
export function checkLaunch(launch: LaunchRequest): void {
  if (!launch.imageIdentifier.startsWith('arn:')) throw invalid("Malformed ARN - doesn't start with 'arn:'");
  if (isObject(launch.logging?.['cloudWatch']) && launch.executionRoleArn === undefined) {
    throw invalid('Logging cannot be enabled without providing executionRoleArn');
  }
  checkConnectors(launch.ingress);
  checkConnectors(launch.egress);
  if (launch.egress.length > 1) throw invalid('Only one egress network connector can be provided');
}
