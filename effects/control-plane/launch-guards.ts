/** What a launch is refused for before any call (`client-behaviour.md` 3.6). Pure. */
import { checkLabel } from './encode.ts';
import { checkPayloadSize } from './payload.ts';
import { checkConnectors, checkLogging, checkNonBlank, checkRange, checkRoleArn, refuseArgument } from './shapes.ts';
import type { RunMicrovmRequest } from './wire.ts';

/** The longest a VM may live: eight hours. */
export const longestDurationSec = 28_800;

/** The shortest idle time after which the platform may suspend a VM. */
export const shortestIdleSec = 60;

/**
 * Refuses a client token that the service would not take. The message does not repeat it.
 *
 * @throws VmchartError `InvalidArg` with reason `invalid-client-token`
 */
export function checkClientToken(token: string): void {
  if (/^[\x21-\x7e]{1,128}$/.test(token)) return;
  refuseArgument(
    'clientToken must be 1 to 128 printable ASCII characters without white space.',
    'invalid-client-token',
    ['Leave it out and a fresh one is minted.'],
  );
}

/**
 * Every local refusal of a launch, on the body as it would be sent.
 *
 * @param options - `bareName: true` accepts an image that is still to be resolved to its ARN
 * @throws VmchartError `InvalidArg`; `reason` is one of `invalid-request`, `invalid-client-token`,
 *   `invalid-identifier`, `invalid-image-identifier`, `invalid-connectors`, `payload-too-large`
 */
export function checkLaunch(request: RunMicrovmRequest, options: { readonly bareName?: boolean } = {}): void {
  if (request.clientToken !== undefined) checkClientToken(request.clientToken);
  checkLabel('imageIdentifier', request.imageIdentifier);
  if (options.bareName !== true && !request.imageIdentifier.startsWith('arn:')) {
    refuseArgument('imageIdentifier is not an ARN, and the service takes nothing else.', 'invalid-image-identifier', [
      'Resolve the name to its ARN first.',
    ]);
  }
  if (request.maximumDurationInSeconds !== undefined) {
    checkRange(
      'maximumDurationInSeconds',
      request.maximumDurationInSeconds,
      1,
      longestDurationSec,
      'A longer session needs a second VM.',
    );
  }
  if (request.idlePolicy !== undefined) {
    const { maxIdleDurationSeconds, suspendedDurationSeconds } = request.idlePolicy;
    checkRange('maxIdleDurationSeconds', maxIdleDurationSeconds, shortestIdleSec, Number.POSITIVE_INFINITY);
    checkRange('suspendedDurationSeconds', suspendedDurationSeconds, 0, Number.POSITIVE_INFINITY);
  }
  if (request.imageVersion !== undefined) checkNonBlank('imageVersion', request.imageVersion);
  if (request.executionRoleArn !== undefined) checkRoleArn('executionRoleArn', request.executionRoleArn);
  if (request.logging !== undefined) {
    checkLogging(request.logging);
    if ('cloudWatch' in request.logging && request.executionRoleArn === undefined) {
      refuseArgument('logging needs an executionRoleArn, because the VM itself writes the log.');
    }
  }
  checkConnectors(request);
  if (request.runHookPayload !== undefined) checkPayloadSize(request.runHookPayload);
}
