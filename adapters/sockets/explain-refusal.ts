/** The endpoint proxy's refusals, explained to whoever is at the local end. */
import type { IncomingMessage } from 'node:http';

/** The proxy's own texts (`platform-behaviour.md` 9.2). */
const proxyTexts = /^(Access to port denied|Request missing authentication|Token authentication failed)/i;
const peekedBytes = 256;

/**
 * Says in a sentence why the proxy refused, or `null` when the answer is the program's own.
 *
 * The proxy marks most of its refusals; the rest is known by status and text. A program's 401, 403 or 502 that looks
 * like neither is passed on as it is.
 */
export async function explainRefusal(
  answer: IncomingMessage,
  throughProxy: boolean,
  guestPort: number,
): Promise<string | null> {
  const { statusCode: status = 0 } = answer;
  if (!throughProxy || ![401, 403, 502].includes(status)) return null;
  const marked = answer.headers['x-aws-proxy-error'] !== undefined;
  const empty = answer.headers['content-length'] === '0';
  if (!marked && !(status === 502 && empty) && !(status !== 502 && proxyTexts.test(await peek(answer)))) return null;
  answer.resume();
  if (status === 401) return 'The endpoint proxy rejected the credential.';
  if (status === 403)
    return `The endpoint proxy refused: the token does not cover port ${guestPort}, or is not this VM's.`;
  return `Nothing in the VM listens on port ${guestPort}, or the VM does not run.`;
}

/** Looks at the first bytes of a body and puts them back. */
async function peek(answer: IncomingMessage): Promise<string> {
  const length = Number(answer.headers['content-length'] ?? NaN);
  // The proxy's texts are short and come with a length; anything else need not wait for its body.
  if (!(length > 0 && length <= peekedBytes)) return '';
  for (;;) {
    const piece = answer.read() as Buffer | null;
    if (piece !== null) {
      answer.unshift(piece);
      return piece.toString('latin1');
    }
    if (answer.readableEnded || answer.destroyed) return '';
    await new Promise<void>((resolve) => {
      answer.once('readable', resolve);
      answer.once('close', resolve);
    });
  }
}
