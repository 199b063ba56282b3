/** Pages of lists: opaque cursors with `=`, sizes of 1 to 50 (`control-plane-api.md` 5). */
import type { Call } from './call.ts';
import { makeConstraints, UnreadableBody } from './constraints.ts';

/** The page size of a request that names none. */
const defaultPageSize = 10;

/** One value of a query member. */
export function queryValue(call: Call, member: string): string | undefined {
  return call.query.get(member)?.[0];
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextToken: string | null;
}

/** What a cursor remembers: the last item before it, its place, and when that was. */
interface Cursor {
  readonly of: string;
  readonly after: string;
  readonly place: number;
  readonly at: number;
}

function encodeCursor(cursor: Cursor): string {
  // Padded with spaces, which JSON ignores, to a length as seen live that also leaves a `=` at the end.
  const text = JSON.stringify(cursor);
  const padded = text.padEnd(Math.max(517, text.length + ((4 - (text.length % 3)) % 3)), ' ');
  return Buffer.from(padded).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

function decodeCursor(text: string, of: string): Cursor {
  try {
    const value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Partial<Cursor>;
    const { after, place, at } = value;
    if (value.of === of && typeof after === 'string' && typeof place === 'number' && typeof at === 'number') {
      return { of, after, place, at };
    }
  } catch {
    // Falls through: a cursor that is none of ours.
  }
  throw new UnreadableBody();
}

/** How a list is cut. */
export interface PageRules<T> {
  /** Which list it is, with its filters: a cursor of another list is refused. */
  readonly of: string;
  readonly keyOf: (item: T) => string;
  /** Applied to what the page holds, after the cut, so that pages may be empty. */
  readonly keep?: (item: T) => boolean;
  /** Whether an item of an earlier page comes again, because it moved since `at`. */
  readonly again?: (item: T, at: number) => boolean;
}

/** Cuts the page that a call asks for. */
export function cutPage<T>(call: Call, items: readonly T[], rules: PageRules<T>): Page<T> {
  const constraints = makeConstraints();
  const sizeText = queryValue(call, 'maxResults');
  if (sizeText !== undefined && !/^-?\d+$/.test(sizeText)) throw new UnreadableBody();
  const asked = { maxResults: sizeText === undefined ? undefined : Number(sizeText) };
  const size = constraints.integer(asked, 'maxResults', { min: 1, max: 50 }) ?? defaultPageSize;
  constraints.check();

  const cursorText = queryValue(call, 'nextToken');
  const cursor = cursorText === undefined ? null : decodeCursor(cursorText, rules.of);
  let from = 0;
  let repeated: readonly T[] = [];
  if (cursor !== null) {
    const last = items.findIndex((item) => rules.keyOf(item) === cursor.after);
    from = last === -1 ? cursor.place : last + 1;
    const { again } = rules;
    if (again !== undefined) repeated = items.slice(0, from).filter((item) => again(item, cursor.at));
  }
  const page = items.slice(from, from + size);
  const last = page.at(-1);
  const more = last !== undefined && from + size < items.length;
  return {
    items: [...repeated, ...page].filter(rules.keep ?? (() => true)),
    nextToken: more
      ? encodeCursor({ of: rules.of, after: rules.keyOf(last), place: from + size, at: call.context.clock.now() })
      : null,
  };
}
