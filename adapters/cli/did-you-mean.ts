/** Finds what a mistyped word was probably meant to be. */

/** The number of single-letter edits (insert, delete, replace, swap of neighbours) between two words. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let best = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) best = Math.min(best, (beforeLast[column - 2] ?? 0) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}

/** The nearest of the known words, or `null` when none is near enough to be worth a guess. */
export function nearest(word: string, known: readonly string[]): string | null {
  let found: string | null = null;
  let least = Math.max(1, Math.round(word.length * 0.4)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    // A word that shares no letter with another is no slip of it: `9` is not `1`.
    if (distance < least && distance < Math.max(word.length, candidate.length)) {
      found = candidate;
      least = distance;
    }
  }
  return found ?? known.find((candidate) => word.length >= 3 && candidate.startsWith(word)) ?? null;
}

/** One sentence that names the nearest word, as a list that can be spread into suggestions. */
export function didYouMean(word: string, known: readonly string[]): string[] {
  const guess = nearest(word, known);
  return guess === null ? [] : [`Did you mean ${guess}?`];
}
