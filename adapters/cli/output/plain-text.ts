/**
 * Text from elsewhere as it may stand on a terminal: what a VM, a daemon or a service wrote must not move the
 * cursor, set the title, feign a line of ours or turn the reading order.
 */

/** Begins and ends a style. The number is of this process alone, so that no text from elsewhere can have it. */
export function mark(code: number): string {
  return `\u001B[${code};${ownNumber}m`;
}

const ownNumber = Math.floor(Math.random() * 1e9) + 1e9;
const ownMark = new RegExp(String.raw`\u001B\[(\d+);${ownNumber}m`, 'g');

/** Turns our own marks into what a terminal understands; anything else stays as it is. */
export function unmarked(text: string): string {
  return text.includes('\u001B') ? text.replace(ownMark, '\u001B[$1m') : text;
}

/** Control characters C0 and C1, DEL, the line breaks of Unicode, and what turns the reading order. */
// eslint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/;

function escaping(kept: string): (text: string) => string {
  const each = new RegExp(`${kept}|${unsafe.source}`, 'g');
  return (text) =>
    unsafe.test(text) ? text.replace(each, (found) => (found.length > 1 ? found : escapeOf(found))) : text;
}

const short: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` };

function escapeOf(character: string): string {
  return short[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** One line: every unsafe character is written out, all but our own marks. */
export const plainLine = escaping(String.raw`\u001B\[\d+;${ownNumber}m`);

/** Text of several lines, whose line ends and tabs are meant. */
export function plainText(text: string): string {
  if (!unsafe.test(text)) return text;
  return text
    .split('\n')
    .map((line) => line.split('\t').map(plainLine).join('\t'))
    .join('\n');
}

/** A cell of a table: as a line, but styles stay whosever they are; the terminal judges them when it writes. */
export const plainCell = escaping(String.raw`\u001B\[[\d;]*m`);
