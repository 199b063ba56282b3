/** Which headers cross a forward. */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';

/** They are about one connection, not about the message (RFC 9110 7.6.1). */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The library's own, whatever a local client puts there. */
const ours = new Set(['x-aws-proxy-auth', 'x-aws-proxy-port', 'host']);

/** The headers of a local request as they go on: repeated ones stay repeated, and an upgrade keeps its two. */
export function forwardedRequestHeaders(request: IncomingMessage, upgrade: boolean): OutgoingHttpHeaders {
  const headers = collected(request, (name) => !ours.has(name));
  if (upgrade) return { ...headers, connection: 'Upgrade', upgrade: request.headers.upgrade ?? 'websocket' };
  return headers;
}

/** The headers of an answer as they come back. */
export function forwardedResponseHeaders(response: IncomingMessage): OutgoingHttpHeaders {
  return collected(response, () => true);
}

function collected(message: IncomingMessage, keep: (name: string) => boolean): OutgoingHttpHeaders {
  const alsoHop = new Set((message.headers.connection ?? '').toLowerCase().split(/\s*,\s*/));
  const headers: Record<string, string | string[]> = {};
  for (let index = 0; index + 1 < message.rawHeaders.length; index += 2) {
    const name = (message.rawHeaders[index] ?? '').toLowerCase();
    const value = message.rawHeaders[index + 1] ?? '';
    if (hopByHop.has(name) || alsoHop.has(name) || !keep(name)) continue;
    const there = headers[name];
    headers[name] = there === undefined ? value : [...[there].flat(), value];
  }
  return headers;
}
