/**
 * Graphviz writes SVG for printers. This makes it a picture for the web: sized in pixels, coloured by a style sheet that
 * knows light and dark, with tooltips, and with the states and arrows as data that a page can find.
 */

/** A colour in light and what it becomes in dark. */
export interface ThemedColour {
  readonly light: string;
  readonly dark: string;
}

/** One drawing, ready to be set into an SVG of its own or beside others. */
export interface Drawing {
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  /** The elements, without the `svg` around them, starting at 0, 0. */
  readonly content: string;
}

/** The typefaces that Graphviz measured with, and those of the same widths. */
const fonts = "Helvetica, Arial, 'Liberation Sans', sans-serif";

/** Pixels for a point. */
const pixelsPerPoint = 4 / 3;

/** Reads Graphviz's SVG. `ground` is the colour on which the words of the arrows stand. */
export function readDrawing(svg: string, ground: string): Drawing {
  const [, box] = /viewBox="0.00 0.00 ([\d. ]+)"/.exec(svg) ?? [];
  const [width = 0, height = 0] = (box ?? '').split(' ').map(Number);
  const body = svg.slice(svg.indexOf('>', svg.indexOf('<svg')) + 1, svg.lastIndexOf('</svg>'));
  return {
    width: Math.ceil(width * pixelsPerPoint),
    height: Math.ceil(height * pixelsPerPoint),
    content: `<g transform="scale(1.3333)">${labelsOnTop(cleaned(body), ground)}</g>`,
  };
}

/**
 * Moves the words of the arrows above all lines, with a rim in the colour of the ground: where an arrow has to pass
 * behind words, they stay readable.
 */
function labelsOnTop(content: string, ground: string): string {
  const rim = `stroke="${ground}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`;
  const labels: string[] = [];
  const lines = content.replace(/<g [^>]*class="edge [\s\S]*?<\/g>/g, (edge) =>
    edge.replace(/<text [\s\S]*?<\/text>\n?/g, (text) => {
      labels.push(text.trim());
      return '';
    }),
  );
  if (labels.length === 0) return content;
  const end = lines.lastIndexOf('</g>');
  return `${lines.slice(0, end)}<g class="labels" ${rim}>\n${labels.join('\n')}\n</g>\n${lines.slice(end)}`;
}

function cleaned(body: string): string {
  return (
    body
      .replace(/<!--[\s\S]*?-->\n?/g, '')
      // A tooltip wraps what it belongs to in a link; here it becomes the element's title.
      .replace(
        /<title>[^<]*<\/title>\n(?:<g id="a_[^"]*"><a xlink:title="([^"]*)">)?/g,
        (_, tip: string | undefined) => (tip === undefined ? '' : `<title>${tip}</title>`),
      )
      .replace(/<g id="a_[^"]*"><a xlink:title="[^"]*">/g, '')
      .replace(/<\/a>\n<\/g>\n/g, '')
      .replace(/ id="(state|move):([^"]*)"/g, ' data-$1="$2"')
      .replace(/ id="[^"]*"/g, '')
      .replace(/ xml:space="preserve"| font-family="[^"]*"/g, '')
      .replace(/ transform="scale\(1 1\) rotate\(0\) translate/g, ' transform="translate')
      .replace(/&#45;/g, '-')
      .replace(/\n+/g, '\n')
  );
}

/** What an SVG file says about itself. */
export interface SvgOptions {
  /** Read out by screen readers, and shown as the tooltip of the whole. */
  readonly title: string;
  readonly description?: string;
  readonly colours: readonly ThemedColour[];
  /** More rules for the style sheet. */
  readonly css?: string;
}

/** One drawing as an SVG file. */
export function svgFile(
  { width, height, content }: Drawing,
  { title, description, colours, css = '' }: SvgOptions,
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">`,
    `<title>${escapeXml(title)}</title>`,
    ...(description === undefined ? [] : [`<desc>${escapeXml(description)}</desc>`]),
    `<style>${styleSheet(colours)}${css}</style>`,
    content,
    '</svg>',
    '',
  ].join('\n');
}

/** The typefaces, and each colour's replacement where the reader prefers dark. */
export function styleSheet(colours: readonly ThemedColour[]): string {
  const rules = colours
    .filter(({ light, dark }) => light !== dark)
    .map(({ light, dark }) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`);
  return `text{font-family:${fonts}}@media (prefers-color-scheme:dark){${rules.join('')}}`;
}

/** Text inside an element or an attribute. */
export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
