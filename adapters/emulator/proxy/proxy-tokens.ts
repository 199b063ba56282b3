/** Tokens for the endpoint: opaque, bound to one VM, a set of ports and an expiry (`platform-behaviour.md` 10). */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../effects/index.ts';
import type { Ids } from '../ids.ts';

/** One entry of `allowedPorts`. */
export type PortSpecification =
  | { readonly port: number }
  | { readonly range: { readonly startPort: number; readonly endPort: number } }
  | { readonly allPorts: Readonly<Record<string, never>> };

/** What a token allows. */
export interface TokenGrant {
  readonly microvmId: string;
  readonly kind: 'endpoint' | 'shell';
  readonly allowedPorts: readonly PortSpecification[];
  /** Monotonic milliseconds. */
  readonly expiresAt: number;
}

/** Why a token was not accepted; the names are those of the proxy's answers. */
export type TokenRefusal = 'unreadable' | 'foreign' | 'expired';

/** Mints and checks. Several tokens of one VM are good at the same time; none can be revoked. */
export interface ProxyTokens {
  mint(grant: Omit<TokenGrant, 'expiresAt'>, minutes: number): string;
  check(token: string, microvmId: string): TokenGrant | TokenRefusal;
}

/** The length of the tokens seen live, in characters. */
const tokenLength = { endpoint: 823, shell: 767 } as const;

/** Five parts, the second empty: a compact JWE with a direct key. */
const jwe = /^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/;

/** Expired grants are remembered for this long, so that their answer stays that of an expired token. */
const rememberExpiredMs = 3_600_000;

/** Whether a port is in the set. */
export function allowsPort(grant: TokenGrant, port: number): boolean {
  return grant.allowedPorts.some((entry) => {
    if ('port' in entry) return entry.port === port;
    if ('range' in entry) return entry.range.startPort <= port && port <= entry.range.endPort;
    return true;
  });
}

/** The register of tokens. It keeps digests: a token itself is known to its holder only. */
export function makeProxyTokens(clock: Clock, ids: Ids): ProxyTokens {
  const grants = new Map<string, TokenGrant>();
  const header = Buffer.from(JSON.stringify({ alg: 'dir', enc: 'A256GCM', kid: ids.uuid() })).toString('base64url');
  const digest = (token: string) => createHash('sha256').update(token).digest('base64');

  const forgetOld = () => {
    const before = clock.now() - rememberExpiredMs;
    for (const [key, grant] of grants) {
      if (grant.expiresAt < before) grants.delete(key);
    }
  };

  return {
    mint(grant, minutes) {
      if (grants.size % 1024 === 1023) forgetOld();
      const nonce = ids.bytes(12).toString('base64url');
      const tag = ids.bytes(16).toString('base64url');
      const rest = tokenLength[grant.kind] - header.length - nonce.length - tag.length - 4;
      const sealed = ids.bytes(rest).toString('base64url').slice(0, rest);
      const token = `${header}..${nonce}.${sealed}.${tag}`;
      grants.set(digest(token), { ...grant, expiresAt: clock.now() + minutes * 60_000 });
      return token;
    },
    check(token, microvmId) {
      if (!jwe.test(token)) return 'unreadable';
      const grant = grants.get(digest(token));
      if (grant === undefined || grant.microvmId !== microvmId) return 'foreign';
      return grant.expiresAt <= clock.now() ? 'expired' : grant;
    },
  };
}
