/** Decoding the run hook's envelope and payload (`agentd-protocol.md` 3.3). A refusal never quotes a value. */
import { decodeBase64, isObject, isText, parseJson } from './bodies.ts';
import { Refusal } from './replies.ts';

/** Keys for verified tunnels. */
export interface TunnelIdentity {
  /** The VM's x25519 static secret, 32 bytes. */
  readonly seed: Buffer;
  /** The launching host's x25519 public key, 32 bytes. */
  readonly hostPublicKey: Buffer;
}

/** What a bootstrap installs. */
export interface Bootstrap {
  readonly token: Buffer;
  readonly env: Readonly<Record<string, string>>;
  readonly identity: TunnelIdentity | null;
}

const refused = (text: string): Refusal => new Refusal(400, null, text);

function decodeEnv(value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw refused('env is not an object');
  for (const [name, text] of Object.entries(value)) {
    if (!isText(text)) throw refused(`env value of ${JSON.stringify(name)} is not a string`);
  }
  return value as Record<string, string>;
}

function decodeKey(name: string, text: string): Buffer {
  const bytes = decodeBase64(text);
  if (bytes === null) throw refused(`${name} is not base64`);
  if (bytes.length !== 32) throw refused(`${name} is not 32 bytes`);
  if (bytes.every((byte) => byte === 0)) throw refused(`${name} is all zero`);
  return bytes;
}

const seedKey = 'identity_seed';
const hostKey = 'identity_host_public_key';

function identityText(payload: Record<string, unknown>, name: string): string | null {
  const value = payload[name] ?? null;
  if (value !== null && !isText(value)) throw refused(`${name} is not a string`);
  return value;
}

function decodeIdentity(payload: Record<string, unknown>): TunnelIdentity | null {
  const seed = identityText(payload, seedKey);
  const hostPublicKey = identityText(payload, hostKey);
  if (seed === null && hostPublicKey === null) return null;
  if (seed === null) throw refused(`${seedKey} is missing`);
  if (hostPublicKey === null) throw refused(`${hostKey} is missing`);
  return { seed: decodeKey(seedKey, seed), hostPublicKey: decodeKey(hostKey, hostPublicKey) };
}

/** Decodes the inner JSON text. Throws a {@link Refusal} with status 400. */
export function decodePayload(text: string): Bootstrap {
  const payload = parseJson(Buffer.from(text));
  if (!isObject(payload)) throw refused('the payload is not a JSON object');
  const token = payload['agent_token'];
  if (!isText(token)) throw refused('agent_token is missing or not a string');
  if (token === '') throw refused('agent_token is empty');
  return { token: Buffer.from(token), env: decodeEnv(payload['env']), identity: decodeIdentity(payload) };
}

/** The payload text inside the platform's envelope. Throws a {@link Refusal} with status 400 and no body. */
export function decodeEnvelope(body: Uint8Array): string {
  const envelope = parseJson(body);
  const payload = isObject(envelope) ? envelope['runHookPayload'] : undefined;
  if (!isText(payload)) throw new Refusal(400, null);
  return payload;
}
