/** Small tables in plain text. */
import { plainCell } from './plain-text.ts';

/** How wide a text stands on a terminal: escape sequences take no room, wide letters take two places. */
export function widthOf(text: string): number {
  // eslint-disable-next-line no-control-regex
  const visible = text.replaceAll(/\u001B\[[\d;]*m/g, '');
  // Plain text is the rule, and loading the tables of all the world's scripts takes longer than showing a page of help.
  if (/^[\u0020-\u007E]*$/.test(visible)) return visible.length;
  letters ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  let width = 0;
  for (const { segment } of letters.segment(visible)) {
    width += /\p{Extended_Pictographic}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFF00-\uFF60]/u.test(
      segment,
    )
      ? 2
      : 1;
  }
  return width;
}

let letters: Intl.Segmenter | undefined;

/** Fills a text up with spaces to a width. */
export function pad(text: string, width: number, side: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return side === 'left' ? text + space : space + text;
}

/** What a table is made of. */
export interface TableOptions {
  /** Columns whose cells stand at the right, such as numbers. */
  readonly right?: readonly number[];
  readonly indent?: string;
  readonly header?: (text: string) => string;
}

/** Lays rows out in columns; the first row is the header. No line ends in a space, and no cell breaks a line. */
export function table(cells: readonly (readonly string[])[], options: TableOptions = {}): string {
  const rows = cells.map((row) => row.map(plainCell));
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(0, ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const lines = rows.map((row, index) => {
    const padded = widths.map((width, column) =>
      pad(row[column] ?? '', width, options.right?.includes(column) === true ? 'right' : 'left'),
    );
    const line = padded.join('  ').trimEnd();
    return (options.indent ?? '') + (index === 0 && options.header !== undefined ? options.header(line) : line);
  });
  return lines.join('\n');
}
