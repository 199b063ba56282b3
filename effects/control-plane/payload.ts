/** The run hook payload: the one thing a launch can hand to the program inside (TRAP-5, `client-behaviour.md` 2.5). */
import { VmchartError } from '../errors.ts';
import { utf8Length } from './encode.ts';

/** The service's ceiling in UTF-8 bytes, inclusive. Its prose says four times as much; its shape does not. */
export const runHookPayloadCeiling = 4_096;

/** The half of a tunnel identity that travels to the VM. `seed` is secret. */
export interface PayloadIdentity {
  /** The VM's x25519 seed: 32 bytes in standard base64. */
  readonly seed: string;
  /** The host's x25519 public key: 32 bytes in standard base64. */
  readonly hostPublicKey: string;
}

/** What the payload carries. All of it is secret. */
export interface PayloadSecrets {
  readonly agentToken: string;
  /** The base environment of every exec. */
  readonly launchEnv?: Readonly<Record<string, string>>;
  readonly identity?: PayloadIdentity | null;
}

/** Members in the order in which the daemon documents them, and the environment sorted, so that bytes repeat. */
function serialize({ agentToken, launchEnv = {}, identity }: PayloadSecrets): string {
  const names = Object.keys(launchEnv).sort();
  return JSON.stringify({
    agent_token: agentToken,
    ...(names.length === 0 ? {} : { env: Object.fromEntries(names.map((name) => [name, launchEnv[name]])) }),
    ...(identity ? { identity_seed: identity.seed, identity_host_public_key: identity.hostPublicKey } : {}),
  });
}

/**
 * Refuses a payload over the ceiling, before any call. The message counts and never quotes.
 *
 * @param secrets - what it was made from, when known: the message then says who took the room
 * @throws VmchartError `InvalidArg` with reason `payload-too-large`
 */
export function checkPayloadSize(payload: string, secrets?: PayloadSecrets): void {
  const size = utf8Length(payload);
  if (size <= runHookPayloadCeiling) return;
  const variables = Object.keys(secrets?.launchEnv ?? {}).length;
  let share = '';
  if (secrets !== undefined && variables > 0) {
    const { launchEnv: _left, ...rest } = secrets;
    const others = utf8Length(serialize(rest));
    const parts = secrets.identity ? 'the token, the framing and the identity' : 'the token and the framing';
    share =
      ` The launch env contributed ${size - others} bytes across ${variables} variable(s); ${parts} take ${others}. ` +
      'Upload bigger material as a file after bootstrap, or give the VM a role.';
  }
  throw new VmchartError(
    'InvalidArg',
    `The run hook payload is ${size} bytes, over the ceiling of ${runHookPayloadCeiling} bytes that the service model ` +
      "2025-09-09 declares. The 16 KB (16,384) in the service's own documentation text is wrong by 4x. " +
      `The payload is there to bootstrap a VM: one bearer token fits.${share}`,
    {
      reason: 'payload-too-large',
      suggestions: ['Send large or secret material after the launch, as a file or through a role.'],
    },
  );
}

/**
 * Builds the payload text. Absent parts leave no member behind, so a plain launch carries the token alone.
 *
 * @returns JSON text that travels as a *string* member: the program inside parses twice
 * @throws VmchartError `InvalidArg` when it is over the ceiling
 */
export function runHookPayload(secrets: PayloadSecrets): string {
  const payload = serialize(secrets);
  checkPayloadSize(payload, secrets);
  return payload;
}

/** Every secret inside a payload, so that an echo of it can be taken out of a message. */
export function secretsInPayload(payload: string | undefined): string[] {
  if (payload === undefined) return [];
  const found = [payload, JSON.stringify(payload).slice(1, -1)];
  const visit = (value: unknown): void => {
    // Shorter values would take ordinary words out of a message.
    if (typeof value === 'string' && value.length >= 8) found.push(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  try {
    visit(JSON.parse(payload));
  } catch {
    // A caller's own payload need not be JSON; the whole text is covered already.
  }
  return found;
}
