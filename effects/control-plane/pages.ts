/** Reading a listing to its end (`client-behaviour.md` 3.1; FC-107, FC-109). */
import { VmchartError } from '../errors.ts';

/** One page as it was answered. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Absent, null or empty at the end. An empty page with a token is not the end. */
  readonly nextToken?: string | null | undefined;
}

/**
 * Follows cursors until there is none.
 *
 * @param fetch - reads the page at a cursor; the first has none
 * @throws VmchartError `Platform` with reason `cursor-loop` when a cursor comes back that was followed before
 */
export async function* eachPage<T>(
  operation: string,
  fetch: (nextToken: string | undefined) => Promise<Page<T>>,
): AsyncGenerator<readonly T[], void, undefined> {
  const followed = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await fetch(cursor);
    yield page.items;
    cursor = page.nextToken || undefined;
    if (cursor !== undefined && followed.has(cursor)) {
      throw new VmchartError('Platform', `${operation} answered the same cursor twice, so its list has no end.`, {
        reason: 'cursor-loop',
      });
    }
    if (cursor !== undefined) followed.add(cursor);
  } while (cursor !== undefined);
}

/** All items of all pages, in order. */
export async function allItems<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}

/**
 * Merges readings of moving things: a VM that changed its state between two pages stands on both.
 * Each keeps its first place and its last reading.
 */
export function latestById<T>(items: Iterable<T>, idOf: (item: T) => string): T[] {
  const latest = new Map<string, T>();
  for (const item of items) latest.set(idOf(item), item);
  return [...latest.values()];
}
