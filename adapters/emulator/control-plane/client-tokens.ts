/** Client tokens: the same request again is the same resource (`control-plane-api.md` 4). */
import type { Region } from '../service/region.ts';
import type { JsonObject } from './constraints.ts';
import { ServiceError } from './service-error.ts';

/** JSON with sorted keys, so that equal parameters are equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined && member !== null)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** What is remembered of a request under its token; null when it has none. */
export interface TokenUse {
  /** The resource that the same request made before. */
  readonly replayed: string | null;
  /** Remembers what this request made. */
  remember(resourceId: string): void;
}

/** Looks the token up. Other parameters under a used token are a 409; the text of the answer is *unverified*. */
export function useClientToken(region: Region, operation: string, target: string, body: JsonObject): TokenUse {
  const { clientToken, ...rest } = body;
  if (typeof clientToken !== 'string') return { replayed: null, remember: () => {} };
  const parameters = `${target}\n${canonicalJson(rest)}`;
  const known = region.clientTokens.get(clientToken);
  if (known === undefined) {
    return {
      replayed: null,
      remember: (resourceId) => region.clientTokens.set(clientToken, { operation, parameters, resourceId }),
    };
  }
  if (known.operation !== operation || known.parameters !== parameters) {
    throw new ServiceError(
      'ConflictException',
      'The client token was already used by a request with other parameters.',
      { unseen: true },
    );
  }
  return {
    replayed: known.resourceId,
    remember: (resourceId) => region.clientTokens.set(clientToken, { operation, parameters, resourceId }),
  };
}
