/** Texts that came from outside, made fit to stand in a message: short, on one line, and without secrets. */

/** How much of a text a message quotes, in characters. */
const longestQuote = 200;
/** A secret whose beginning of at least this many characters ends a text was cut there with the text. */
const shortestBeginning = 4;

/** Takes known secrets out of a text that came from outside. */
export function redact(text: string, secrets: readonly string[]): string {
  // The longest first, so that one which is the beginning of another leaves nothing of it.
  const known = secrets.filter((secret) => secret !== '').sort((left, right) => right.length - left.length);
  return known.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text);
}

/** Quotes a text: secrets are cut out, what would move or hide other text is escaped, and the rest is cut off. */
export function quoted(text: string, secrets: readonly string[] = [], longest = longestQuote): string {
  const clean = withoutBeginning(redact(text, secrets), secrets);
  const signs = Array.from(clean.slice(0, 2 * longest));
  const cut = signs.length > longest || clean.length > 2 * longest;
  return escaped(signs.slice(0, longest).join('')) + (cut ? '…' : '');
}

/** Cuts off what is left of a secret where the text was cut in the middle of it. */
function withoutBeginning(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, text.length); length >= shortestBeginning; length -= 1) {
      if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}[redacted]`;
    }
  }
  return text;
}

const spelled: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    (sign) => spelled[sign] ?? `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
