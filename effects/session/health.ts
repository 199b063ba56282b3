/** What the daemon says of itself (`agentd-protocol.md` 5), and the wait until it is bootstrapped. */
import { VmchartError } from '../errors.ts';
import { checkedDurationMs } from './deadline.ts';
import { isArray, isBoolean, isNumber, isObject, isString, objectIn, optional, required } from './decode.ts';
import type { JsonObject } from './decode.ts';
import type { Schedule } from '../schedule.ts';
import { adaptiveSchedule } from '../schedule.ts';
import type { Transport } from './transport.ts';

/** How a workload's hook handler ended. */
export interface HandlerOutcome {
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  /** Why it could not run at all. */
  readonly error: string | null;
}

/** One hook call that the daemon saw. */
export interface HookObservation {
  readonly hook: string;
  /** Unix seconds on the daemon's clock. */
  readonly firedAtSec: number;
  readonly handler: HandlerOutcome | null;
}

/** One step of the identity repair. */
export interface IdentityStep {
  readonly name: string;
  readonly outcome: string;
  readonly error: string | null;
}

/** The daemon's answer on its health. Members that old daemons do not send have their documented default. */
export interface Health {
  readonly version: string;
  /** The run hook has delivered the agent token: the daemon takes commands. */
  readonly bootstrapped: boolean;
  /** `null`: could not be measured, which is not the same as full. */
  readonly disk: {
    readonly availableBytes: number;
    readonly reserveBytes: number;
    readonly underPressure: boolean;
  } | null;
  readonly identityDegraded: boolean;
  readonly identityRepaired: boolean;
  /** Some command has not published its result. */
  readonly busy: boolean;
  readonly execs: number;
  readonly hooks: readonly HookObservation[];
  readonly hooksDropped: number;
  readonly identitySteps: readonly IdentityStep[];
  /** `null`: this daemon ignores `inheritImageEnv`. */
  readonly imageEnvKeys: number | null;
  /** This daemon knows `poweroffOnExit` and has the privilege for it. */
  readonly poweroffOnExit: boolean;
  /** The image configures a default user; without it commands run as root. */
  readonly defaultUserConfigured: boolean;
}

/** The header that says a daemon can power its VM off. Only the exact value `1` does. */
export const poweroffHeader = 'microvm-poweroff-on-exit';

/** The header that says an image has a default user. Only the exact value `1` does. */
export const defaultUserHeader = 'microvms-default-user-configured';

/** The one request that carries no bearer. */
export const healthRequest = { method: 'GET', path: '/v1/health', bearer: 'none' } as const;

/** Asks the daemon for its health. */
export async function readHealth(transport: Transport, signal?: AbortSignal): Promise<Health> {
  return await transport.sendJson({ ...healthRequest, signal }, decodeHealth);
}

/** Options of a wait for the daemon. */
export interface ReadyOptions {
  /** Default 120 s. */
  readonly timeoutMs?: number;
  readonly poll?: Schedule;
  readonly signal?: AbortSignal | undefined;
}

/** How long to wait for the daemon by default, in milliseconds. */
export const defaultReadyTimeoutMs = 120_000;

/**
 * Polls health until the daemon is bootstrapped.
 *
 * A VM that has just reached RUNNING commonly refuses a connection or two, so retryable errors are waited
 * through; any other error ends the wait at once (`client-behaviour.md` 4.7).
 *
 * @throws VmchartError `Timeout`, naming the last retryable error.
 */
export async function waitUntilReady(transport: Transport, options: ReadyOptions = {}): Promise<Health> {
  const timeoutMs = checkedDurationMs('timeoutMs', options.timeoutMs ?? defaultReadyTimeoutMs);
  const poll = options.poll ?? adaptiveSchedule;
  const { clock } = transport;
  const startedAt = clock.now();
  let lastError: VmchartError | null = null;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const health = await readHealth(transport, options.signal);
      if (health.bootstrapped) return health;
    } catch (error) {
      if (!VmchartError.is(error) || !error.retryable) throw error;
      lastError = error;
    }
    const elapsedMs = clock.now() - startedAt;
    const leftMs = timeoutMs - elapsedMs;
    if (leftMs <= 0) {
      const last = lastError === null ? '' : ` (last error: ${lastError.message})`;
      throw new VmchartError('Timeout', `The daemon was not bootstrapped within ${timeoutMs / 1000} s${last}.`, {
        cause: lastError ?? undefined,
        reason: 'not-bootstrapped',
        suggestions: ['The VM is still running and billing: wait again, or terminate it.'],
      });
    }
    await transport.sleep(Math.min(poll(attempt, elapsedMs), leftMs), options.signal);
  }
}

/** Reads the body and the two marker headers. @throws TypeError naming the member. */
export function decodeHealth(body: unknown, headers: Readonly<Record<string, string>> = {}): Health {
  const from = objectIn(body, 'the body');
  const disk = optional(from, 'disk', isObject, null);
  return {
    version: required(from, 'version', isString),
    bootstrapped: required(from, 'bootstrapped', isBoolean),
    identityDegraded: required(from, 'identity_degraded', isBoolean),
    identityRepaired: required(from, 'identity_repaired', isBoolean),
    disk:
      disk === null
        ? null
        : {
            availableBytes: required(disk, 'available_bytes', isNumber),
            reserveBytes: required(disk, 'reserve_bytes', isNumber),
            underPressure: required(disk, 'under_pressure', isBoolean),
          },
    busy: optional(from, 'busy', isBoolean, false),
    execs: optional(from, 'execs', isNumber, 0),
    hooks: optional(from, 'hooks', isArray, []).map(decodeHook),
    hooksDropped: optional(from, 'hooks_dropped', isNumber, 0),
    identitySteps: optional(from, 'identity_steps', isArray, []).map(decodeStep),
    imageEnvKeys: optional(from, 'image_env_keys', isNumber, null),
    poweroffOnExit: headers[poweroffHeader] === '1',
    defaultUserConfigured: headers[defaultUserHeader] === '1',
  };
}

function decodeHook(entry: unknown): HookObservation {
  const from = objectIn(entry, 'an entry of hooks');
  const handler = optional(from, 'handler', isObject, null);
  return {
    hook: required(from, 'hook', isString),
    firedAtSec: required(from, 'fired_at', isNumber),
    handler: handler === null ? null : decodeHandler(handler),
  };
}

function decodeHandler(from: JsonObject): HandlerOutcome {
  return {
    exitCode: optional(from, 'exit_code', isNumber, null),
    signal: optional(from, 'signal', isNumber, null),
    timedOut: optional(from, 'timed_out', isBoolean, false),
    durationMs: optional(from, 'duration_ms', isNumber, 0),
    error: optional(from, 'error', isString, null),
  };
}

function decodeStep(entry: unknown): IdentityStep {
  const from = objectIn(entry, 'an entry of identity_steps');
  return {
    name: required(from, 'name', isString),
    outcome: required(from, 'outcome', isString),
    error: optional(from, 'error', isString, null),
  };
}
