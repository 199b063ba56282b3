/** Secrets that are kept in the process. */
import type { Secrets } from '../effects/index.ts';

/** Secrets that end with the process. Their holder shows nothing when it is printed. */
export function memorySecrets(): Secrets {
  const values = new Map<string, string>();
  return {
    async put(ref, value) {
      values.set(ref, value);
    },
    async get(ref) {
      return values.get(ref) ?? null;
    },
    async remove(ref) {
      values.delete(ref);
    },
  };
}
