/** Client tokens: permanent idempotency keys, so each intent gets its own (TRAP-1, `client-behaviour.md` 3.4). */
import { VmchartError } from '../errors.ts';
import type { Entropy } from '../ports.ts';

/** What a token is for; create and run tokens never collide. */
export type TokenVerb = 'create' | 'run';

const longestLabelBytes = 64;
const nonceBytes = 8;

/** Lower-case hexadecimal digits of fresh random bytes. */
export function randomHex(entropy: Entropy, byteCount: number): string {
  const bytes = new Uint8Array(byteCount);
  try {
    entropy.fill(bytes);
  } catch (error) {
    throw new VmchartError('Unexpected', 'The source of randomness is unavailable, so nothing was started.', {
      reason: 'no-entropy',
      cause: error,
    });
  }
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The last characters of a text that fit into 64 UTF-8 bytes, cut between characters. */
function tail(text: string): string {
  let size = 0;
  const kept: string[] = [];
  for (const character of Array.from(text).reverse()) {
    size += new TextEncoder().encode(character).length;
    if (size > longestLabelBytes) break;
    kept.push(character);
  }
  return kept.reverse().join('');
}

/**
 * Mints `<verb>-<label>-<16 hex digits>`. The label only helps a person who reads a log: two mints of one
 * scope never agree, because the nonce is fresh and never cut.
 *
 * @param scope - what the token is about; its tail becomes the label
 * @throws VmchartError `Unexpected` when there is no randomness
 */
export function mintClientToken(verb: TokenVerb, scope: string, entropy: Entropy): string {
  return `${verb}-${tail(scope)}-${randomHex(entropy, nonceBytes)}`;
}
