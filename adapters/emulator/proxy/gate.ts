/** Who may pass the endpoint: port, then token, then the VM's state (`platform-behaviour.md` 9.2, check order). */
import type { IncomingMessage } from 'node:http';
import { acceptsHttp } from '../control-plane/connectors.ts';
import type { Microvm } from '../service/microvm.ts';
import { deniedPort, expiredToken, failedToken, malformedPort, missingToken, noUpgrade } from './denials.ts';
import type { Denial } from './denials.ts';
import { allowsPort } from './proxy-tokens.ts';
import type { ProxyTokens } from './proxy-tokens.ts';

/** The proxy's own subprotocol, and the prefixes of the two that carry values. */
const marker = 'lambda-microvms';
const authPrefix = `${marker}.authentication.`;
const portPrefix = `${marker}.port.`;

/** The port of a request that names none. */
const defaultPort = 8080;

/** What the WebSocket subprotocols of a request say to the proxy, and what is left for the guest. */
export interface OfferedProtocols {
  readonly marker: boolean;
  readonly token: string | null;
  readonly port: string | null;
  readonly application: readonly string[];
}

/** Splits the offer. */
export function readProtocols(request: IncomingMessage): OfferedProtocols {
  const offered = (request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
  const valueOf = (prefix: string) => offered.find((value) => value.startsWith(prefix))?.slice(prefix.length) ?? null;
  return {
    marker: offered.includes(marker),
    token: valueOf(authPrefix),
    port: valueOf(portPrefix),
    application: offered.filter((value) => value !== marker && !value.startsWith(`${marker}.`)),
  };
}

function parsePort(text: string): number | null {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : null;
}

/** The port that may be reached, or the refusal. */
export type GateVerdict = { readonly port: number } | { readonly denial: Denial };

/** Checks a request or an upgrade. Changes nothing; the caller tells the VM. */
export function checkGate(
  request: IncomingMessage,
  microvm: Microvm,
  tokens: ProxyTokens,
  { upgrading, tokenBeforePort }: { readonly upgrading: boolean; readonly tokenBeforePort: boolean },
): GateVerdict {
  const { headers } = request;
  const protocols = readProtocols(request);
  if (!upgrading && (headers['sec-websocket-key'] !== undefined || protocols.marker)) return { denial: noUpgrade };

  const named = headers['x-aws-proxy-port'] ?? (upgrading ? protocols.port : null);
  const namedText = Array.isArray(named) ? named.join(', ') : named;
  const port = namedText === null || namedText === undefined ? defaultPort : parsePort(namedText);
  if (port === null && !tokenBeforePort) return { denial: malformedPort(namedText ?? '') };

  const header = headers['x-aws-proxy-auth'];
  // A token among the subprotocols counts only beside the bare marker.
  const token = header ?? (upgrading && protocols.marker ? protocols.token : null);
  if (typeof token !== 'string') return { denial: missingToken };
  const grant = tokens.check(token, microvm.facts.microvmId);
  if (grant === 'unreadable') return { denial: missingToken };
  if (grant === 'expired') return { denial: expiredToken };
  if (grant === 'foreign' || grant.kind !== 'endpoint') return { denial: failedToken };
  if (port === null) return { denial: malformedPort(namedText ?? '') };
  if (!acceptsHttp(microvm.facts.ingressNetworkConnectors)) return { denial: deniedPort };
  return allowsPort(grant, port) ? { port } : { denial: deniedPort };
}
