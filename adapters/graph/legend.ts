/** The key to a picture: what each kind of line and box means. */
import type { Drawing } from './svg.ts';
import { escapeXml } from './svg.ts';

/** One line of the key. */
export interface LegendEntry {
  readonly sample: 'arrow' | 'dashed-arrow' | 'dotted-arrow' | 'box' | 'quiet-box' | 'text';
  readonly colour: string;
  /** For a box. */
  readonly fill?: string;
  /** For a text: what it looks like. */
  readonly example?: string;
  readonly means: string;
}

const rowHeight = 26;
const sampleWidth = 78;

/** Draws a key. `ink` is the colour of its words. */
export function legendOf(entries: readonly LegendEntry[], ink: string): Drawing {
  const rows = entries.map((entry, index) => {
    const middle = 18 + index * rowHeight;
    const text = `<text x="${sampleWidth + 24}" y="${middle + 4.5}" font-size="13" fill="${ink}">${escapeXml(entry.means)}</text>`;
    return sampleOf(entry, middle) + text;
  });
  const longest = Math.max(0, ...entries.map(({ means }) => means.length));
  return {
    width: sampleWidth + 40 + Math.ceil(longest * 6.7),
    height: entries.length * rowHeight + 14,
    content: `<g class="legend">${rows.join('\n')}</g>`,
  };
}

function sampleOf({ sample, colour, fill = 'none', example = '' }: LegendEntry, y: number): string {
  switch (sample) {
    case 'text':
      return `<text x="12" y="${y + 4.5}" font-size="12" fill="${colour}">${escapeXml(example)}</text>`;
    case 'box':
    case 'quiet-box': {
      const dash = sample === 'box' ? '' : ' stroke-dasharray="5,3"';
      return `<rect x="12" y="${y - 9}" width="${sampleWidth - 22}" height="18" rx="6" fill="${fill}" stroke="${colour}" stroke-width="1.4"${dash}/>`;
    }
    default: {
      const dash = {
        arrow: '',
        'dashed-arrow': ' stroke-dasharray="6,3"',
        'dotted-arrow': ' stroke-dasharray="1.5,4"',
      }[sample];
      const tip = sampleWidth - 6;
      return (
        `<path d="M12,${y}H${tip - 6}" fill="none" stroke="${colour}" stroke-width="1.8"${dash}/>` +
        `<polygon points="${tip - 8},${y - 3.5} ${tip},${y} ${tip - 8},${y + 3.5}" fill="${colour}"/>`
      );
    }
  }
}
