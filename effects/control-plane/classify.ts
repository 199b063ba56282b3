/**
 * Reads a refusal of the control plane: by the error's name first, by the status second
 * (`client-behaviour.md` 1.5). Bodies that are not JSON are told apart, never parsed in anger.
 */
import type { ErrorKind } from '../../machines/index.ts';
import { VmchartError } from '../errors.ts';
import type { HttpResponse } from '../ports.ts';
import { redact } from '../quoted.ts';

/** What a refusal says, before it is judged. */
interface Refusal {
  readonly operation: string;
  readonly status: number;
  readonly name: string | null;
  /** `null` when the body has no message, or is no JSON at all. */
  readonly message: string | null;
  readonly body: 'json' | 'empty' | 'other';
  readonly snippet: string;
  readonly quotaCode: string | null;
}

/** How a refusal is judged. */
interface Verdict {
  readonly kind: ErrorKind;
  readonly reason: string;
  readonly explanation?: string;
  readonly suggestions?: readonly string[];
}

const longestSnippet = 200;

const throttleNames = /throttl|toomanyrequests|requestlimitexceeded|slowdown/i;

/** Names of refused identities; the service sends them as 400 or 403. */
const credentialNames: Readonly<Record<string, string>> = {
  ExpiredToken: 'expired-credentials',
  ExpiredTokenException: 'expired-credentials',
  IncompleteSignature: 'bad-signature',
  IncompleteSignatureException: 'bad-signature',
  InvalidClientTokenId: 'unknown-credentials',
  InvalidSignatureException: 'bad-signature',
  MissingAuthenticationToken: 'missing-credentials',
  MissingAuthenticationTokenException: 'missing-credentials',
  RequestExpired: 'clock-skew',
  SignatureDoesNotMatch: 'bad-signature',
  UnrecognizedClientException: 'unknown-credentials',
};

/** Cuts a name as the service decorates it: `com.x#Name`, `Name:http://…`. */
function bareName(text: unknown): string | null {
  if (typeof text !== 'string') return null;
  const cut = text.split(/[:,]/, 1)[0] ?? '';
  return cut.slice(cut.indexOf('#') + 1).trim() || null;
}

/** Reads a JSON object, or nothing: an HTML page and a truncated body are the same to a classifier. */
function jsonObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function readRefusal(operation: string, response: HttpResponse): Refusal {
  const text = new TextDecoder().decode(response.body).trim();
  const json = jsonObject(text);
  const member = (name: string) => json?.[name] ?? json?.[`${name[0]?.toUpperCase()}${name.slice(1)}`];
  const message = member('message');
  const quotaCode = json?.['quotaCode'];
  return {
    operation,
    status: response.status,
    name: bareName(response.headers['x-amzn-errortype']) ?? bareName(member('code')) ?? bareName(json?.['__type']),
    message: typeof message === 'string' && message.trim() !== '' ? message : null,
    body: json !== null ? 'json' : text === '' ? 'empty' : 'other',
    snippet: text.slice(0, longestSnippet),
    quotaCode: typeof quotaCode === 'string' ? quotaCode : null,
  };
}

function judge(refusal: Refusal): Verdict {
  const { operation, status, name, message, body } = refusal;
  if (name !== null && throttleNames.test(name)) return { kind: 'Retryable', reason: 'throttled' };
  if (name !== null && name in credentialNames) {
    return {
      kind: 'Credentials',
      reason: credentialNames[name] ?? 'bad-signature',
      suggestions: ['Check the access key, the session token and the clock of this machine.'],
    };
  }
  if (name === 'ServiceQuotaExceededException' || status === 402) {
    return {
      kind: 'Platform',
      reason: 'quota',
      explanation: refusal.quotaCode === null ? 'an account quota is used up' : `quota ${refusal.quotaCode} is used up`,
      suggestions: ['Terminate VMs that are no longer needed, or ask for a higher quota.'],
    };
  }
  if (status === 429) return { kind: 'Retryable', reason: 'throttled' };
  if (status >= 500) {
    if (name === 'InsufficientCapacityException') return { kind: 'Retryable', reason: 'capacity' };
    return { kind: 'Retryable', reason: body === 'other' ? 'gateway' : 'server-error' };
  }
  // A page that is no JSON came from a gateway: its 404 says nothing about a VM.
  if (body === 'other') return { kind: status === 403 ? 'Credentials' : 'Platform', reason: 'gateway' };
  if (status === 403) return message === null ? deniedInSilence : { kind: 'Credentials', reason: 'access-denied' };
  if (status === 404) {
    return operation === 'RunMicrovm'
      ? {
          kind: 'Platform',
          reason: 'image-not-launchable',
          explanation: 'the image, or an ACTIVE version of it, is missing; no VM was launched',
        }
      : { kind: 'Platform', reason: 'not-found' };
  }
  if (status === 410) return { kind: 'Platform', reason: 'gone' };
  if (status === 409) {
    return operation === 'RunMicrovm'
      ? {
          kind: 'Platform',
          reason: 'intent-conflict',
          explanation: 'this client token was used before for a launch with other parameters',
          suggestions: ['Replay a launch with its own parameters, or launch with a fresh token.'],
        }
      : { kind: 'Platform', reason: 'conflict' };
  }
  if (status === 400) {
    return message === null
      ? { kind: 'Platform', reason: 'unparsed-request', explanation: 'the service could not read the request' }
      : { kind: 'Platform', reason: 'validation', explanation: 'a constraint that was not checked before the call' };
  }
  return { kind: 'Platform', reason: 'unexpected-status' };
}

const deniedInSilence: Verdict = {
  kind: 'Credentials',
  reason: 'access-denied',
  explanation:
    'a denial without a message is how a region without MicroVMs answers (check the region before the policy); ' +
    'a missing right on an action that this call implies looks the same',
  suggestions: [
    'Check that MicroVMs are offered in this region.',
    'Then check the rights that the call implies, such as tagging or passing a role.',
  ],
};

/** What the service asks to wait, in milliseconds; `null` for anything unreadable (FC-121). */
export function retryAfterMs(headers: Readonly<Record<string, string>>, wallNowMs: number): number | null {
  const exact = Number(headers['x-amz-retry-after'] ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  const text = headers['retry-after']?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1_000;
  const date = text.endsWith('GMT') ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - wallNowMs);
}

/** The id under which the service logged a request. */
export function requestIdOf(headers: Readonly<Record<string, string>>): string | null {
  return headers['x-amzn-requestid'] ?? headers['x-amzn-request-id'] ?? headers['x-amz-request-id'] ?? null;
}

/** What {@link classifyRefusal} needs to know beside the answer. */
export interface RefusalContext {
  readonly operation: string;
  readonly wallNowMs: number;
  readonly microvmId?: string | undefined;
  /** Texts that must not stand in a message, should the service echo them. */
  readonly secrets?: readonly string[] | undefined;
}

/**
 * Makes the error of a refusal: operation, status, what the service said, and what that means.
 *
 * @returns a `VmchartError` without a wire kind; `reason` is one of `throttled`, `quota`, `capacity`,
 *   `server-error`, `gateway`, `access-denied`, `expired-credentials`, `bad-signature`, `clock-skew`,
 *   `unknown-credentials`, `missing-credentials`, `not-found`, `gone`, `image-not-launchable`, `conflict`,
 *   `intent-conflict`, `validation`, `unparsed-request`, `unexpected-status`
 */
export function classifyRefusal(response: HttpResponse, context: RefusalContext): VmchartError {
  const refusal = readRefusal(context.operation, response);
  const verdict = judge(refusal);
  const said =
    refusal.message !== null
      ? refusal.message
      : refusal.body === 'other'
        ? `a page that is not JSON: ${refusal.snippet}`
        : 'the service said nothing';
  const text =
    `${context.operation} was answered ${refusal.status}` +
    `${refusal.name === null ? '' : ` ${refusal.name}`}: ${said}` +
    `${verdict.explanation === undefined ? '' : ` (${verdict.explanation})`}`;
  return new VmchartError(verdict.kind, redact(text, context.secrets ?? []), {
    reason: verdict.reason,
    status: refusal.status,
    errorName: refusal.name,
    requestId: requestIdOf(response.headers),
    retryAfterMs: retryAfterMs(response.headers, context.wallNowMs),
    microvmId: context.microvmId ?? null,
    suggestions: verdict.suggestions ?? [],
  });
}

/**
 * Whether a 403 is one that passes by itself: IAM says which action is denied while a role that was just
 * made is still spreading (FC-014). A denial without a message never is.
 */
export function namesDeniedAction(error: VmchartError): boolean {
  return error.status === 403 && error.reason === 'access-denied' && /\b[a-z][a-z0-9-]*:[A-Z]\w+/.test(error.message);
}

/** Whether the error says that the thing is not there (any more). */
export function isGone(error: unknown): boolean {
  return VmchartError.is(error) && (error.reason === 'not-found' || error.reason === 'gone');
}
