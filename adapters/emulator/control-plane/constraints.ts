/** The model's constraints: all violations of a request in one message (`control-plane-api.md` 10, step 2). */
import { invalid } from './service-error.ts';

/** A decoded JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value is a JSON object and no list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Collects violations while members are read, and speaks at the end. */
export interface Constraints {
  string(
    owner: JsonObject,
    member: string,
    rules?: StringRules & { readonly required?: boolean; readonly path?: string },
  ): string | undefined;
  integer(
    owner: JsonObject,
    member: string,
    rules: { readonly min?: number; readonly max?: number; readonly required?: boolean; readonly path?: string },
  ): number | undefined;
  boolean(
    owner: JsonObject,
    member: string,
    rules?: { readonly required?: boolean; readonly path?: string },
  ): boolean | undefined;
  object(
    owner: JsonObject,
    member: string,
    rules?: { readonly required?: boolean; readonly path?: string },
  ): JsonObject | undefined;
  list(
    owner: JsonObject,
    member: string,
    rules?: { readonly min?: number; readonly max?: number; readonly required?: boolean; readonly path?: string },
  ): readonly unknown[] | undefined;
  /** Adds a violation in the service's grammar. */
  violated(shown: string | null, path: string, rule: string): void;
  /** Throws the one refusal when anything was violated. */
  check(): void;
}

interface StringRules {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: { readonly regex: RegExp; readonly shown: string };
  readonly oneOf?: readonly string[];
  /** A sensitive value is left out of the message. */
  readonly sensitive?: boolean;
}

const notNull = 'Member must not be null';

/** A fresh collector. A member of another JSON type is a body that could not be parsed: 400 without a message. */
export function makeConstraints(): Constraints {
  const violations: string[] = [];

  const violated = (shown: string | null, path: string, rule: string) => {
    const value = shown === null ? 'Value' : `Value ${shown}`;
    violations.push(`${value} at '${path}' failed to satisfy constraint: ${rule}`);
  };

  function read<T>(
    owner: JsonObject,
    member: string,
    is: (value: unknown) => value is T,
    rules: { readonly required?: boolean; readonly path?: string },
  ): T | undefined {
    const value = Object.hasOwn(owner, member) ? owner[member] : undefined;
    if (value === undefined || value === null) {
      if (rules.required === true) violated('null', rules.path ?? member, notNull);
      return undefined;
    }
    if (!is(value)) throw new UnreadableBody();
    return value;
  }

  return {
    violated,
    string(owner, member, rules = {}) {
      const value = read(owner, member, (value): value is string => typeof value === 'string', rules);
      if (value === undefined) return undefined;
      const path = rules.path ?? member;
      const shown = rules.sensitive === true ? null : `'${value.slice(0, 2048)}'`;
      if (rules.min !== undefined && value.length < rules.min) {
        violated(shown, path, `Member must have length greater than or equal to ${rules.min}`);
      }
      if (rules.max !== undefined && value.length > rules.max) {
        violated(shown, path, `Member must have length less than or equal to ${rules.max}`);
      }
      if (rules.pattern !== undefined && !rules.pattern.regex.test(value)) {
        violated(shown, path, `Member must satisfy regular expression pattern: ${rules.pattern.shown}`);
      }
      if (rules.oneOf !== undefined && !rules.oneOf.includes(value)) {
        violated(shown, path, `Member must satisfy enum value set: [${rules.oneOf.join(', ')}]`);
      }
      return value;
    },
    integer(owner, member, rules) {
      const value = read(owner, member, (value): value is number => Number.isInteger(value), rules);
      if (value === undefined) return undefined;
      const path = rules.path ?? member;
      if (rules.min !== undefined && value < rules.min) {
        violated(`'${value}'`, path, `Member must have value greater than or equal to ${rules.min}`);
      }
      if (rules.max !== undefined && value > rules.max) {
        violated(`'${value}'`, path, `Member must have value less than or equal to ${rules.max}`);
      }
      return value;
    },
    boolean(owner, member, rules = {}) {
      return read(owner, member, (value): value is boolean => typeof value === 'boolean', rules);
    },
    object(owner, member, rules = {}) {
      return read(owner, member, isObject, rules);
    },
    list(owner, member, rules = {}) {
      const value = read(owner, member, (value): value is unknown[] => Array.isArray(value), rules);
      if (value === undefined) return undefined;
      const path = rules.path ?? member;
      if (rules.min !== undefined && value.length < rules.min) {
        violated(`'[]'`, path, `Member must have length greater than or equal to ${rules.min}`);
      }
      if (rules.max !== undefined && value.length > rules.max) {
        violated(`'${JSON.stringify(value)}'`, path, `Member must have length less than or equal to ${rules.max}`);
      }
      return value;
    },
    check() {
      if (violations.length === 0) return;
      const noun = violations.length === 1 ? 'error' : 'errors';
      throw invalid(`${violations.length} validation ${noun} detected: ${violations.join('; ')}`);
    },
  };
}

/** The body has the wrong shape to be read at all. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
  /** What the service says; null for most malformed requests. */
  readonly body: Readonly<Record<string, string | null>>;

  constructor(body: Readonly<Record<string, string | null>> = { message: null }) {
    super('The request could not be parsed.');
    this.body = body;
  }
}
