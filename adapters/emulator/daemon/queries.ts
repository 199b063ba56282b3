/** Reading query parameters as strictly as the daemon does: no signs, no spaces, no repeats. */

const largestUint64 = 18_446_744_073_709_551_615n;

/** The one value of a parameter; `null` when it is absent. Throws `RangeError` when it is given twice. */
export function oneText(query: URLSearchParams, name: string): string | null {
  const values = query.getAll(name);
  if (values.length > 1) throw new RangeError(`${name} is given more than once`);
  return values[0] ?? null;
}

/** An unsigned decimal up to `most`; `null` when it is absent. Throws `RangeError` when it is something else. */
export function oneUnsigned(query: URLSearchParams, name: string, most: bigint = largestUint64): number | null {
  const text = oneText(query, name);
  if (text === null) return null;
  if (!/^[0-9]+$/.test(text) || text.length > 40 || BigInt(text) > most) {
    throw new RangeError(`${name} is not an unsigned integer up to ${most}`);
  }
  return Number(text);
}

/** `true` or `false`; `null` when it is absent. Throws `RangeError` when it is something else. */
export function oneBoolean(query: URLSearchParams, name: string): boolean | null {
  const text = oneText(query, name);
  if (text === null) return null;
  if (text !== 'true' && text !== 'false') throw new RangeError(`${name} is neither true nor false`);
  return text === 'true';
}
