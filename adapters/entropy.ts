/** Randomness: the operating system's, and a seeded sequence for tests. */
import type { Entropy } from '../effects/index.ts';

/** The most that the Web's source of randomness fills at once, in bytes. */
const quotaBytes = 65_536;

/** The operating system's cryptographic pool. */
export function systemEntropy(): Entropy {
  return {
    fill(bytes) {
      for (let from = 0; from < bytes.length; from += quotaBytes) {
        crypto.getRandomValues(bytes.subarray(from, from + quotaBytes));
      }
    },
  };
}

/** A repeatable sequence (xorshift32). For tests only: nothing drawn from it is a secret. */
export function seededEntropy(seed: number): Entropy {
  let state = seed >>> 0 || 0x9e3779b9;
  return {
    fill(bytes) {
      for (let index = 0; index < bytes.length; index += 1) {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        bytes[index] = state & 0xff;
      }
    },
  };
}
