/** When a request may be sent again. */
import type { HttpBody, HttpRequest, HttpResponse } from '../ports.ts';
import { VmchartError } from '../errors.ts';
import { slugOf } from './daemon-status.ts';

/**
 * When a request may be sent again.
 *
 * - `never`: it is not safe to repeat
 * - `connect`: only when nothing was sent
 * - `resume`: safe to repeat, and is repeated only while a VM comes back from a suspend
 * - `always`: safe to repeat after any retryable failure
 */
export type RetryRule = 'never' | 'connect' | 'resume' | 'always';

/** A request whose body can be read only once is never sent twice once bytes may have left (FC-101). */
export function ruleFor(request: {
  readonly method: HttpRequest['method'];
  readonly body?: HttpBody;
  readonly retry?: RetryRule;
}): RetryRule {
  const rule = request.retry ?? (request.method === 'GET' || request.method === 'HEAD' ? 'resume' : 'never');
  const { body } = request;
  const replayable =
    body === undefined || typeof body === 'string' || body instanceof Uint8Array || typeof body === 'function';
  return replayable ? rule : 'never';
}

/**
 * What a failure means for another try: nothing was sent, nobody at home (502, 503), something broke on the way, or
 * it is final.
 */
export type Verdict = 'never-sent' | 'unavailable' | 'broken' | 'final';

/** Judges an answer. */
export function verdictOfAnswer(answer: { readonly status: number }): Verdict {
  // A slug says that the daemon itself has judged the request: it would judge it the same again.
  const judged = 'body' in answer && answer.body instanceof Uint8Array && slugOf(answer as HttpResponse) !== null;
  return verdictOfStatus(answer.status, judged);
}

function verdictOfStatus(status: number, judged: boolean): Verdict {
  if (status === 502 || status === 503) return 'unavailable';
  return status === 408 || (status >= 500 && status !== 507 && !judged) ? 'broken' : 'final';
}

/** A failed mint is final here: whoever mints has tried again already. */
export function verdictOfError(error: unknown): Verdict {
  if (!VmchartError.is(error) || error.wireKind === 'AuthTokenMint') return 'final';
  if (error.wireKind === 'Transport') return error.reason === 'connect' ? 'never-sent' : 'broken';
  return error.status === null ? 'final' : verdictOfStatus(error.status, false);
}
