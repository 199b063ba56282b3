/** Proxy tokens: their arguments, their answer, and the minter that a session asks (`client-behaviour.md` 3.14). */
import { VmchartError } from '../errors.ts';
import type { HttpResponse } from '../ports.ts';
import { proxyAuthHeader } from '../session/proxy-auth.ts';
import type { TokenMinter } from '../session/token-minter.ts';
import { isGone } from './classify.ts';
import { decode } from './decode.ts';
import { checkRange, refuseArgument } from './shapes.ts';
import type { PortSpecification } from './wire.ts';

/** The longest life of a token, in minutes. */
const longestTokenMin = 60;

/** @throws VmchartError `InvalidArg` */
export function checkTokenLifetime(expirationMin: number): void {
  checkRange('expirationInMinutes', expirationMin, 1, longestTokenMin);
}

function checkPort(port: number): number {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  return refuseArgument(`Port ${port} is none; ports are whole numbers of 1 to 65535.`, 'invalid-port');
}

/**
 * Reads the ports of a token as the service spells them.
 *
 * @throws VmchartError `Precondition` for none at all, `InvalidArg` for a port that is none
 */
export function checkTokenPorts(ports: readonly (number | PortSpecification)[]): PortSpecification[] {
  if (ports.length === 0) {
    throw new VmchartError('Precondition', 'A proxy token needs at least one port to open.', { reason: 'no-ports' });
  }
  return ports.map((port) => {
    if (typeof port === 'number') return { port: checkPort(port) };
    if ('port' in port) return { port: checkPort(port.port) };
    if ('allPorts' in port) return { allPorts: {} };
    const { startPort, endPort } = port.range;
    if (checkPort(startPort) > checkPort(endPort)) {
      refuseArgument(`Port range ${startPort} to ${endPort} ends before it starts.`, 'invalid-port');
    }
    return { range: { startPort, endPort } };
  });
}

/** Reads the map of headers; its values never reach a message. */
export async function readAuthToken(operation: string, response: HttpResponse): Promise<Record<string, string>> {
  const { authToken } = await decode(operation, response, (shapes) => shapes.authToken, { secret: true });
  return authToken;
}

/** Whether a token map can open anything: header names are compared without case. */
function hasProxyAuth(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === proxyAuthHeader);
}

/**
 * Makes a mint's failure say what a session can do about it (`client-behaviour.md` 4.4, FC-064): a refused
 * identity stays `Credentials`; a VM that is gone or in the wrong state stays final, with reason `gone` or
 * `wrong-state`; an argument stays an argument; all else is `AuthTokenMint`, which is retryable.
 */
function toMintError(error: unknown, ports: readonly number[]): unknown {
  if (!VmchartError.is(error)) return error;
  if (error.kind === 'Credentials' || error.kind === 'InvalidArg' || error.kind === 'Precondition') return error;
  const details = {
    status: error.status,
    errorName: error.errorName,
    requestId: error.requestId,
    retryAfterMs: error.retryAfterMs,
    microvmId: error.microvmId,
    cause: error,
  };
  if (isGone(error)) return new VmchartError('Platform', error.message, { ...details, reason: 'gone' });
  if (error.reason === 'conflict') {
    return new VmchartError('Platform', error.message, { ...details, reason: 'wrong-state' });
  }
  return new VmchartError(
    { wireKind: 'AuthTokenMint' },
    `No proxy token for port(s) ${ports.join(', ')}: ${error.message}`,
    { ...details, reason: error.reason },
  );
}

/** A minter that asks the control plane. */
export function tokenMinter(
  mint: (ports: readonly number[], signal: AbortSignal | undefined) => Promise<Record<string, string>>,
): TokenMinter {
  return {
    async mintForPorts(ports, signal) {
      let headers: Record<string, string>;
      try {
        headers = await mint(ports, signal);
      } catch (error) {
        throw toMintError(error, ports);
      }
      if (hasProxyAuth(headers)) return headers;
      throw new VmchartError(
        { wireKind: 'AuthTokenMint' },
        `The token for port(s) ${ports.join(', ')} came without its header ${proxyAuthHeader}.`,
        { reason: 'no-auth-header' },
      );
    },
  };
}
