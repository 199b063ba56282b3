/** Reading JSON answers member by member: what is unknown is ignored, what is missing has a default or is an error. */

/** One JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** @throws TypeError unless it is a JSON object. */
export function objectIn(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError(`${what} is not an object`);
  return value as JsonObject;
}

/** A member that must be there. */
export function required<T>(from: JsonObject, name: string, is: (value: unknown) => value is T): T {
  const value = from[name];
  if (!is(value)) throw new TypeError(`member ${name} is ${value === undefined ? 'missing' : 'of another type'}`);
  return value;
}

/** A member that may be absent or `null`. */
export function optional<T, D>(from: JsonObject, name: string, is: (value: unknown) => value is T, absent: D): T | D {
  const value = from[name];
  if (value === undefined || value === null) return absent;
  if (!is(value)) throw new TypeError(`member ${name} is of another type`);
  return value;
}

export const isString = (value: unknown): value is string => typeof value === 'string';
export const isNumber = (value: unknown): value is number => typeof value === 'number';
export const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
export const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
