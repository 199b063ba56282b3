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
  // Drawn in stock: every request takes an id, and a draw from the system costs as much for many bytes as for few.
  const stock = Buffer.alloc(4096);
  let used = stock.length;
  const bytes = (length: number) => {
    if (used + length > stock.length) {
      entropy.fill(stock);
      used = 0;
    }
    used += length;
    const drawn = Buffer.from(stock.subarray(used - length, used));
    stock.fill(0, used - length, used);
    return drawn;
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
