/** Options that nobody knows, which plain JavaScript would let pass in silence, and what they were probably meant to be. */

/** A sentence for each name that is not among the known ones. An option that is `undefined` counts as not given. */
export function unknownOptions(options: object, known: readonly string[]): string[] {
  return Object.entries(options)
    .filter(([name, value]) => value !== undefined && !known.includes(name))
    .map(([name]) => {
      const guess = nearest(name, known);
      return `There is no option ${name}${guess === null ? '.' : `; did you mean ${guess}?`}`;
    });
}

/** The known name that is a few letters away, or begins as the given one does. */
function nearest(name: string, known: readonly string[]): string | null {
  const most = Math.max(1, Math.floor(name.length / 3));
  const close = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= most)
    .sort((one, other) => one.distance - other.distance)[0];
  if (close !== undefined) return close.candidate;
  return name.length < 3 ? null : (known.find((candidate) => candidate.startsWith(name)) ?? null);
}

/** Letters to insert, delete or replace. */
function editDistance(from: string, to: string): number {
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (last[column] ?? 0) + (letter === other ? 0 : 1);
      current.push(Math.min(replaced, (last[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    last = current;
  }
  return last[to.length] ?? 0;
}
