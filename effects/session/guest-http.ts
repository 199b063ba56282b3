/** HTTP to the VM's own programs, on any port, through the endpoint proxy. */
import type { HttpBody, HttpRequest, HttpResponse, HttpStream } from '../ports.ts';
import { checkedPort, proxyAuthHeader, proxyPortHeader } from './proxy-auth.ts';
import type { Transport } from './transport.ts';

/** A request to a program in the VM. The agent token is not sent: it is the daemon's, and nobody else's. */
export interface GuestRequest {
  readonly method?: HttpRequest['method'];
  /** Path and query. Default `/`. */
  readonly path?: string;
  /** The caller's own headers, in any case; an `authorization` among them goes to the program as it is. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpBody;
  /** Limit for the exchange, in milliseconds, minting included. Default: the session's. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Where a port of the VM is reached: the endpoint, or for a direct session the endpoint's host at that port. */
export function guestOrigin(transport: Transport, port: number): string {
  if (transport.proxyAuth !== null) return transport.baseUrl;
  const url = new URL(transport.baseUrl);
  url.port = String(port);
  return url.origin;
}

/** The headers of one hop: the library's own for the proxy, whatever the caller put there (FC-071). */
export async function guestHeaders(
  transport: Transport,
  port: number,
  own: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    const lower = name.toLowerCase();
    if (lower !== proxyAuthHeader && lower !== proxyPortHeader && lower !== 'host') headers[lower] = value;
  }
  if (transport.proxyAuth !== null) Object.assign(headers, await transport.proxyAuth.headersForPort(port, signal));
  return headers;
}

/** Sends a request to a program in the VM and reads its answer to the end, whatever its status. */
export async function fetchGuest(transport: Transport, port: number, request: GuestRequest): Promise<HttpResponse> {
  const { url, rest } = prepared(transport, port, request);
  return await transport.exchange(
    rest,
    async (signal) => await guestHeaders(transport, port, request.headers ?? {}, signal),
    async (http, wire) => await http.send({ ...wire, url }),
  );
}

/** Sends a request to a program in the VM; the body of its answer is read as it comes. */
export async function openGuest(transport: Transport, port: number, request: GuestRequest): Promise<HttpStream> {
  const { url, rest } = prepared(transport, port, request);
  return await transport.exchange(
    rest,
    async (signal) => await guestHeaders(transport, port, request.headers ?? {}, signal),
    async (http, wire) => await http.openStream({ ...wire, url }),
  );
}

function prepared(transport: Transport, port: number, request: GuestRequest) {
  const { method = 'GET', path = '/', body, timeoutMs, signal } = request;
  const url = `${guestOrigin(transport, checkedPort(port))}${path.startsWith('/') ? path : `/${path}`}`;
  return { url, rest: { method, path, ...(body === undefined ? {} : { body }), timeoutMs, signal } };
}
