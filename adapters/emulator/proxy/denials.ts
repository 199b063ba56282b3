/** How the endpoint refuses (`platform-behaviour.md` 9.2). */

/** One refusal: a status, a text, and the slug of the `x-aws-proxy-error` header. */
export interface Denial {
  readonly status: number;
  readonly text: string;
  readonly slug: string | null;
  /** What of it nobody has seen. */
  readonly unseen?: readonly ('text' | 'slug')[];
}

/** A refusal without what nobody has seen of it. */
export function asSeen({ status, text, slug, unseen = [] }: Denial): Denial {
  return { status, text: unseen.includes('text') ? '' : text, slug: unseen.includes('slug') ? null : slug };
}

/** Row 1: no token, or none that can be read. */
export const missingToken: Denial = {
  status: 403,
  text: 'Request missing authentication',
  slug: 'UNAUTHORIZED',
  unseen: ['slug'],
};

/** Row 2: a token of another VM. */
export const failedToken: Denial = {
  status: 403,
  text: 'Token authentication failed',
  slug: 'UNAUTHORIZED',
  unseen: ['slug'],
};

/** Row 3: an expired token. */
export const expiredToken: Denial = { ...failedToken, unseen: ['text', 'slug'] };

/** Row 4: a port outside the token's set. */
export const deniedPort: Denial = {
  status: 403,
  text: 'Access to port denied',
  slug: 'UNAUTHORIZED',
  unseen: ['slug'],
};

/** Row 5: a port that is none. The value is the caller's own, cut short. */
export function malformedPort(value: string): Denial {
  return { status: 400, text: `Invalid x-aws-proxy-port: ${value.slice(0, 64)}`, slug: null, unseen: ['text'] };
}

/** Row 5: the headers of a WebSocket handshake on a request that upgrades nothing. */
export const noUpgrade: Denial = { status: 400, text: 'Bad Request', slug: null, unseen: ['text'] };

/** Row 6: nobody listens on the port. */
export const nobodyListens: Denial = { status: 502, text: '', slug: 'APP_CONNECT_FAILED' };

/** Rows 7, 8, 10, 11: the VM cannot be reached in its present state. */
export const unreachable: Denial = { status: 502, text: '', slug: 'MICROVM_CONNECT_FAILED' };

/** Row 2 again: the host names no VM. */
export const unknownHost: Denial = failedToken;

/** The headers of a refusal. */
export function denialHeaders(denial: Denial, requestId: string): Record<string, string> {
  return {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(denial.text)),
    'cache-control': 'private, no-store',
    'x-amzn-requestid': requestId,
    ...(denial.slug === null ? {} : { 'x-aws-proxy-error': denial.slug }),
  };
}
