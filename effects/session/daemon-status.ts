/** What a status of the daemon means (`client-behaviour.md` 1.4). */
import type { WireKind } from '../../machines/index.ts';
import type { ErrorDetails } from '../errors.ts';
import type { HttpResponse } from '../ports.ts';
import { VmchartError } from '../errors.ts';
import { quoted, redact } from '../quoted.ts';

const wireKindOfStatus: Readonly<Record<number, WireKind>> = {
  400: 'ProtocolError',
  401: 'Unauthorized',
  404: 'NotFound',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'StdinClosed',
  413: 'TooLarge',
  503: 'NotBootstrapped',
  507: 'InsufficientStorage',
};

/** What to try, where the daemon's slug leaves one thing. */
const adviceOn: Readonly<Record<string, string>> = {
  stdin_not_requested: 'Start the command with `stdin: true`.',
  spawn_failed:
    'The program could not be started, and will not be until that changes: check its name or path, that it may be ' +
    'executed, and that `cwd` is a directory.',
};

/** What to try when nothing answers for a VM that this very handle has put to sleep. */
const adviceAsleep = 'The VM is suspended: resume it first, with `await sandbox.resume()`.';

/** How much of an error's body goes into its message, in bytes. */
export const quotedBytes = 512;

/** Whether the status is a success. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/**
 * Makes the typed error of a status that is no success.
 *
 * Its `reason` is the daemon's slug, such as `unknown_exec` or `already_acked`, where the body has one.
 *
 * @param secrets What must not stand in the error, should the far end echo the request.
 * @param asleep Whether the VM is suspended by our own hand.
 */
export function statusError(
  method: string,
  path: string,
  response: HttpResponse,
  secrets: readonly string[],
  asleep = false,
): VmchartError {
  const { status } = response;
  const start = Buffer.from(response.body.subarray(0, quotedBytes)).toString('utf8').trim();
  const said = quoted(start, secrets, quotedBytes);
  const message = `${method} ${path} answered ${status}${said === '' ? '' : `: ${said}`}`;
  const slug = slugOf(response);
  const reason = slug !== null && redact(slug, secrets) === slug ? slug : foreignReason(response);
  const advice = asleep && status >= 500 && slug === null ? adviceAsleep : adviceOn[reason ?? ''];
  const details: ErrorDetails = { status, reason, ...(advice === undefined ? {} : { suggestions: [advice] }) };
  const wireKind = wireKindOfStatus[status] ?? (status >= 500 ? 'ServerError' : undefined);
  return wireKind === undefined
    ? new VmchartError('Protocol', message, details)
    : new VmchartError({ wireKind }, message, details);
}

/** Makes the error of a success whose body nobody here can read. */
export function unreadableBody(method: string, path: string, error: unknown): VmchartError {
  // What a parser says quotes the body, in pieces from which no secret could be cut.
  const cause = error instanceof SyntaxError ? new SyntaxError('it is not JSON') : error;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new VmchartError(
    { wireKind: 'ProtocolError' },
    `${method} ${path} answered a body that this client cannot read (${why}); compare the daemon's protocol version at /v1/schema.`,
    { cause, reason: 'unreadable-body' },
  );
}

/** The daemon's own slug in an error's body, or `null`. Its presence proves that the daemon has judged the request. */
export function slugOf(response: HttpResponse): string | null {
  if (!/[/+]json\b/.test(response.headers['content-type'] ?? 'application/json')) return null;
  try {
    const body: unknown = JSON.parse(Buffer.from(response.body).toString('utf8'));
    const slug = typeof body === 'object' && body !== null && 'error' in body ? body.error : null;
    return typeof slug === 'string' && /^[a-z0-9_-]{1,64}$/.test(slug) ? slug : null;
  } catch {
    return null;
  }
}

/** What the daemon never sends comes from something before it: a page, or the endpoint proxy (`platform-behaviour.md` 9.2). */
function foreignReason({ status, headers, body }: HttpResponse): string | null {
  if (/^text\/html\b/.test(headers['content-type'] ?? '')) return 'unexpected-response';
  if (status === 403)
    return /port denied/i.test(Buffer.from(body).toString('latin1')) ? 'token-scope' : 'token-rejected';
  if (status === 429) return 'rate';
  const slug = headers['x-aws-proxy-error'];
  if (slug === 'APP_CONNECT_FAILED') return 'nothing-listening';
  return slug === undefined ? null : 'vm-unreachable';
}
