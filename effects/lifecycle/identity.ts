/** The identity of a verified tunnel: two x25519 key pairs, of the VM and of the host that launches it. */
import { VmchartError } from '../errors.ts';
import type { Entropy } from '../ports.ts';
import { draw } from './sealed-secrets.ts';
import type { LaunchIdentity } from './sealed-secrets.ts';

/** What the host keeps: its own secret, and the VM's public key as the pin. The VM's secret is dropped. */
export interface TunnelIdentity {
  /** Secret. 32 bytes in standard base64. */
  readonly hostSeed: string;
  readonly vmPublicKey: string;
}

/** Draws the two seeds (VM first, then host) and derives their public keys. */
export async function mintIdentity(entropy: Entropy): Promise<LaunchIdentity> {
  const vmSeed = usableSeed(draw(entropy, 32));
  const hostSeed = usableSeed(draw(entropy, 32));
  const { default: nacl } = await import('tweetnacl');
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  return {
    vmSeed: base64(vmSeed),
    vmPublicKey: base64(nacl.scalarMult.base(vmSeed)),
    hostSeed: base64(hostSeed),
    hostPublicKey: base64(nacl.scalarMult.base(hostSeed)),
  };
}

function usableSeed(seed: Uint8Array): Uint8Array {
  if (seed.length === 32 && seed.some((byte) => byte !== 0)) return seed;
  throw new VmchartError('Unexpected', 'a tunnel seed must be 32 bytes, not all zero', { reason: 'bad-seed' });
}
