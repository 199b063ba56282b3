/** Identifiers in the service's own shapes, drawn from the entropy port. */
import type { Entropy } from '../../effects/index.ts';

/** Draws identifiers; with a seeded entropy the same ones in every run. */
export interface Ids {
  /** A version 4 UUID. */
  uuid(): string;
  /** Bytes fit for secrets. */
  bytes(length: number): Buffer;
}

/** Identifiers from an entropy port. */
export function makeIds(entropy: Entropy): Ids {
  const bytes = (length: number) => {
    const buffer = Buffer.alloc(length);
    entropy.fill(buffer);
    return buffer;
  };
  return {
    bytes,
    uuid() {
      const raw = bytes(16);
      raw[6] = ((raw[6] ?? 0) & 0x0f) | 0x40;
      raw[8] = ((raw[8] ?? 0) & 0x3f) | 0x80;
      const hex = raw.toString('hex');
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
    },
  };
}
