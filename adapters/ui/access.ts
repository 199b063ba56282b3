/**
 * Who may do what on the page's server. It listens on loopback, but every page that a browser has open can send requests
 * there: the `Host` header tells a rebound name, `Origin` and `Sec-Fetch-Site` tell another page, and what changes
 * anything needs the token of this start, which no other page knows.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The header that carries the token. */
export const tokenHeader = 'x-vmchart-token';

/** A token that nobody can guess. */
export function freshToken(): string {
  return randomBytes(24).toString('base64url');
}

/** Why a request is refused: a status and one sentence. */
export interface AccessRefusal {
  readonly status: 400 | 403;
  readonly sentence: string;
}

/** Checks that a request is for this server by its own name, and does not come from another page. */
export function refuseStranger({ headers }: Pick<IncomingMessage, 'headers'>, port: number): AccessRefusal | null {
  const own = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  if (headers.host === undefined || !own.includes(headers.host.toLowerCase())) {
    return { status: 403, sentence: `This page answers to http://127.0.0.1:${port} only.` };
  }
  const { origin } = headers;
  if (origin !== undefined && !own.map((host) => `http://${host}`).includes(origin.toLowerCase())) {
    return { status: 403, sentence: 'Requests from other pages are not answered.' };
  }
  if (headers['sec-fetch-site'] === 'cross-site') {
    // A link from elsewhere may open the page itself; it may not fetch from it.
    if (headers['sec-fetch-mode'] !== 'navigate')
      return { status: 403, sentence: 'Requests from other pages are not answered.' };
  }
  return null;
}

/** Checks the token of a request that changes something. */
export function refuseWithoutToken(given: string | null | undefined, token: string): AccessRefusal | null {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(token)];
  if (a.length === b.length && timingSafeEqual(a, b)) return null;
  return {
    status: 403,
    sentence: 'Open the address that vmchart printed, with its token: without it this page can only be looked at.',
  };
}
