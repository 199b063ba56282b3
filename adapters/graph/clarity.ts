/** How readable a drawing is: words that lie on a line, on the border of a box, or on each other cost. */
import type { Drawing } from './svg.ts';

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

type Point = readonly [x: number, y: number];

/** The width of a letter of Helvetica, on average, as a share of the size of the type. */
const letterWidth = 0.54;
/** What two words on each other cost, compared with a line behind a word. */
const onEachOther = 4;
/** Into how many pieces a curve is cut to be followed. */
const pieces = 12;

/** Counts what makes a drawing hard to read; 0 for one where nothing lies on anything. */
export function clutterOf({ content }: Drawing): number {
  const words = wordsIn(content);
  const lines = [...content.matchAll(/<g [^>]*class="(?:edge|cluster) [\s\S]*?<path [^>]*? d="([^"]*)"/g)].map(
    ([, path = '']) => pointsOn(path),
  );
  const crossed = words.reduce(
    (sum, box) => sum + lines.filter((points) => points.some((point) => isInside(box, point))).length,
    0,
  );
  const overlaps = words.reduce(
    (sum, box, index) => sum + words.slice(index + 1).filter((other) => overlap(box, other)).length,
    0,
  );
  return crossed + onEachOther * overlaps;
}

/** The boxes of the words, without the air around them. */
function wordsIn(content: string): Box[] {
  const texts = content.matchAll(
    /<text(?: text-anchor="(\w+)")? x="([-\d.]+)" y="([-\d.]+)"[^>]*? font-size="([\d.]+)"[^>]*>([^<]*)</g,
  );
  return [...texts].map(([, anchor, x, y, size, text]) => {
    const width = (text ?? '').replace(/&[^;]+;/g, '·').length * Number(size) * letterWidth;
    const left = Number(x) - (anchor === 'middle' ? width / 2 : 0);
    const bottom = Number(y);
    return { left, right: left + width, top: bottom - Number(size) * 0.7, bottom };
  });
}

/** Points along a path as Graphviz writes it: a start, then cubic curves. */
function pointsOn(path: string): Point[] {
  const numbers = [...path.matchAll(/-?[\d.]+/g)].map(Number);
  const at = (index: number): Point => [numbers[2 * index] ?? 0, numbers[2 * index + 1] ?? 0];
  const points: Point[] = [];
  for (let start = 0; start + 3 < numbers.length / 2; start += 3) {
    const [a, b, c, d] = [at(start), at(start + 1), at(start + 2), at(start + 3)];
    for (let piece = 0; piece <= pieces; piece += 1) {
      const t = piece / pieces;
      const along = (axis: 0 | 1): number =>
        (1 - t) ** 3 * a[axis] + 3 * (1 - t) ** 2 * t * b[axis] + 3 * (1 - t) * t ** 2 * c[axis] + t ** 3 * d[axis];
      points.push([along(0), along(1)]);
    }
  }
  return points;
}

function isInside({ left, right, top, bottom }: Box, [x, y]: Point): boolean {
  return x > left && x < right && y > top && y < bottom;
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
