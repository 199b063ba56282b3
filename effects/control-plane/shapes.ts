/** The string shapes that several operations share (`control-plane-api.md` section 7). Requests only, never answers. */
import { VmchartError } from '../errors.ts';
import { checkConnectorLists } from './connectors.ts';
import type { WireLogging } from './wire.ts';

/**
 * Refuses an argument before any call.
 *
 * @throws VmchartError `InvalidArg`
 */
export function refuseArgument(
  message: string,
  reason = 'invalid-request',
  suggestions: readonly string[] = [],
): never {
  throw new VmchartError('InvalidArg', message, { reason, suggestions });
}

/** A whole number within bounds; `note` says what to do instead. */
export function checkRange(name: string, value: number, least: number, most: number, note = ''): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  const bounds = most === Number.POSITIVE_INFINITY ? `at least ${least}` : `${least} to ${most}`;
  refuseArgument(`${name} is ${value}; it must be a whole number of ${bounds}.${note === '' ? '' : ` ${note}`}`);
}

/** `Version` and `NonBlankString`: 1 to 2,048 characters, no white space anywhere. */
export function checkNonBlank(name: string, value: string): void {
  if (/\s/.test(value)) refuseArgument(`${name} ${JSON.stringify(value.slice(0, 80))} contains whitespace.`);
  if (value.length === 0 || value.length > 2_048) {
    refuseArgument(`${name} has ${value.length} characters; it must have 1 to 2048.`);
  }
}

const roleArn = /^arn:aws[a-z-]*:iam::\d{12}:role\/?[a-zA-Z_0-9+=,.@\-_/]+$/;

/** `RoleArn`. A short value is most likely a role's name. */
export function checkRoleArn(name: string, value: string): void {
  if (value.length >= 20 && value.length <= 2_048 && roleArn.test(value)) return;
  const looksLikeName = !value.startsWith('arn:');
  refuseArgument(
    `${name} ${JSON.stringify(value.slice(0, 80))} is not the ARN of a role` +
      `${looksLikeName ? '; it looks like a role *name*' : ''}.`,
    'invalid-request',
    ['Pass the whole ARN: arn:aws:iam::<account>:role/<name>.'],
  );
}

/** Log group and stream shapes; a stream needs its group. */
export function checkLogging(logging: WireLogging, longestStream = 512): void {
  if (!('cloudWatch' in logging)) return;
  const { logGroup, logStream } = logging.cloudWatch;
  if (logGroup === undefined) {
    refuseArgument('logging needs a log group: name logGroup, or disable logging.');
  }
  if (!/^[a-zA-Z0-9_\-/.#]{1,512}$/.test(logGroup)) {
    refuseArgument(`logGroup must be 1 to 512 of the characters a-z A-Z 0-9 _ - / . #, not ${quote(logGroup)}.`);
  }
  if (logStream === undefined) return;
  if (logStream.length === 0 || logStream.length > longestStream || /[:*]/.test(logStream)) {
    refuseArgument(`logStream must be 1 to ${longestStream} characters without : and *, not ${quote(logStream)}.`);
  }
}

/** Shows the beginning of a value in a message. */
export function quote(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
}

/** The connector members of a request. */
export function checkConnectors(request: {
  readonly ingressNetworkConnectors?: readonly string[];
  readonly egressNetworkConnectors?: readonly string[];
}): void {
  checkConnectorLists(request.ingressNetworkConnectors ?? [], request.egressNetworkConnectors ?? []);
}
