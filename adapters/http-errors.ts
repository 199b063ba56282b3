/** Failures without an answer, told apart by whether anything was sent. */
import { VmchartError } from '../effects/errors.ts';
import type { HttpRequest } from '../effects/index.ts';

/** Codes of failures that happen before the first byte of a request leaves. */
const connectCodes = new Set([
  'ECONNREFUSED',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'EAI_NONAME',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EADDRNOTAVAIL',
]);

const certificateCode = /CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_TLS|^EPROTO$/;

interface GotLikeError {
  readonly name?: string;
  readonly code?: string;
  readonly event?: string;
  readonly message?: string;
}

function reasonOf(error: GotLikeError): { reason: string; what: string } {
  if (error.name === 'TimeoutError') {
    const inTime = error.event === 'connect' || error.event === 'secureConnect' || error.event === 'lookup';
    if (inTime) return { reason: 'connect', what: 'no connection in time' };
    return error.event === 'socket'
      ? { reason: 'idle-timeout', what: 'silent for too long' }
      : { reason: 'timeout', what: 'no answer in time' };
  }
  const code = error.code ?? '';
  if (connectCodes.has(code)) return { reason: 'connect', what: 'no connection' };
  if (certificateCode.test(code)) return { reason: 'certificate', what: 'no trusted connection' };
  if (error.name === 'ReadError') return { reason: 'truncated', what: 'the answer stopped before its end' };
  return { reason: 'transport', what: 'the connection broke' };
}

/** The address without its query and without credentials: enough to find it, nothing to keep secret. */
function placeOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/**
 * Makes a `Transport` error of anything that `got` throws. The original carries the request's headers, so
 * only its message and code are kept.
 */
export function toTransportError(error: unknown, request: HttpRequest): VmchartError {
  if (VmchartError.is(error)) return error;
  const seen = (typeof error === 'object' && error !== null ? error : { message: String(error) }) as GotLikeError;
  const { reason, what } = reasonOf(seen);
  const detail = [seen.code, seen.message].filter((part) => part !== undefined && part !== '').join(' ');
  const cause = Object.assign(new Error(seen.message ?? what), seen.code === undefined ? {} : { code: seen.code });
  return new VmchartError({ wireKind: 'Transport' }, `${request.method} ${placeOf(request.url)}: ${what} (${detail})`, {
    reason,
    cause,
  });
}
