/** How text becomes part of a URL, and how a body becomes text: both are signed, so both are exact. */
import { VmchartError } from '../errors.ts';

/** The API version, which is the first path segment of every operation here. */
export const apiVersion = '2025-09-09';

const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** Percent-encodes everything outside the unreserved set `A-Z a-z 0-9 - . _ ~` (`control-plane-api.md` 2.1). */
export function encodeLabel(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, hex);
}

/** A query member: absent values are left out, lists become repeated keys. */
export type QueryValue = string | number | readonly string[] | undefined;

/** Builds a query string with encoded names and values, sorted by name; empty when nothing is set. */
export function encodeQuery(query: Readonly<Record<string, QueryValue>>): string {
  const pairs: string[] = [];
  for (const name of Object.keys(query).sort()) {
    const value = query[name];
    if (value === undefined) continue;
    for (const item of typeof value === 'object' ? value : [String(value)]) {
      pairs.push(`${encodeLabel(name)}=${encodeLabel(item)}`);
    }
  }
  return pairs.join('&');
}

/**
 * Serialises a request body so that equal requests give equal bytes, in this process or the next:
 * members are sorted, absent ones left out. A replay of a launch depends on it (FC-124).
 */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (member === null) return undefined;
    if (typeof member !== 'object' || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/**
 * Refuses an identifier that would change the route instead of naming a thing: an empty one collapses
 * the path onto the collection, `.` and `..` walk out of it.
 *
 * @throws VmchartError `InvalidArg` with reason `invalid-identifier`
 */
export function checkLabel(what: string, value: string, maxLength = 256): void {
  const problem =
    typeof value !== 'string'
      ? 'is not a string'
      : value.length === 0
        ? 'is empty'
        : value.length > maxLength
          ? `has ${value.length} characters, over the limit of ${maxLength}`
          : value === '.' || value === '..'
            ? 'is a path step'
            : /[\uD800-\uDFFF]/u.test(value)
              ? 'is not well-formed Unicode'
              : null;
  if (problem === null) return;
  throw new VmchartError('InvalidArg', `${what} ${problem}; it must be 1 to ${maxLength} characters.`, {
    reason: 'invalid-identifier',
  });
}

/** Length of a text in UTF-8 bytes. */
export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
