/** Cutting a range of lines out of a stream of bytes. */

/** Both 1-based and inclusive; `last` may be infinite. */
export interface LineBounds {
  readonly first: number;
  readonly last: number;
}

const lineFeed = 0x0a;

/** Index just past the `count`-th line feed from `from` on, or -1; and how many line feeds were passed. */
function skipLines(data: Buffer, from: number, count: number): { readonly at: number; readonly passed: number } {
  let at = from;
  let passed = 0;
  while (passed < count) {
    const found = data.indexOf(lineFeed, at);
    if (found < 0) return { at: -1, passed };
    at = found + 1;
    passed += 1;
  }
  return { at, passed };
}

/**
 * The bytes of the lines within bounds. A line owns its line feed; a last line without one is given as it is.
 * Reading stops where the range does.
 */
export async function* lineRange(content: AsyncIterable<Buffer>, bounds: LineBounds): AsyncGenerator<Buffer> {
  let toSkip = bounds.first - 1;
  let toGive = bounds.last - bounds.first + 1;
  for await (const data of content) {
    let start = 0;
    if (toSkip > 0) {
      const { at, passed } = skipLines(data, 0, toSkip);
      toSkip -= passed;
      if (at < 0) continue;
      start = at;
    }
    const { at, passed } = Number.isFinite(toGive) ? skipLines(data, start, toGive) : { at: -1, passed: 0 };
    toGive -= passed;
    const part = at < 0 ? data.subarray(start) : data.subarray(start, at);
    if (part.length > 0) yield part;
    if (at >= 0) return;
  }
}
