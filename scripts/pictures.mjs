// Draws the pictures of README.md and docs/ anew, from the machines as they are. `--check` only tells which are stale.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * Every picture: a file of its own, or the text between `<!-- NAME:begin -->` and `<!-- NAME:end -->` of a document.
 * The writers of the formats are handed in, so that a test can take them from the sources and the script from dist/.
 */
export async function pictures({ findMachine, machineCatalog, toMermaid, toTable, drawSvg }) {
  const lifecycle = findMachine('sandbox').machine;
  const mermaid = '```mermaid\n' + toMermaid(lifecycle, { flat: true }) + '```';
  const files = [{ path: 'docs/pictures/lifecycle.svg', text: await drawSvg(lifecycle, { flat: true }) }];
  for (const { name, machine } of machineCatalog) {
    files.push({ path: `docs/pictures/${name}.svg`, text: await drawSvg(machine) });
  }
  return [
    { path: 'README.md', marker: 'lifecycle', text: mermaid },
    { path: 'docs/pictures.md', marker: 'answers', text: toTable(lifecycle).trimEnd() },
    ...files,
  ];
}

/** What a file would hold with its picture drawn anew. Throws where a document has no place for it. */
export function withPicture(current, { path, marker, text }) {
  if (marker === undefined) return text;
  const [begin, end] = [`<!-- ${marker}:begin -->`, `<!-- ${marker}:end -->`];
  const [from, to] = [current.indexOf(begin), current.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${path} has no ${begin} … ${end}`);
  return `${current.slice(0, from + begin.length)}\n\n${text}\n\n${current.slice(to)}`;
}

/** The text of a file of the project, empty when there is none. */
export function current(path) {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    return '';
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  const [formats, { drawSvg }] = await Promise.all([
    import('../dist/model/export/index.js'),
    import('../dist/adapters/cli/pictures/draw.js'),
  ]);
  const stale = (await pictures({ ...formats, drawSvg })).filter((picture) => {
    const before = current(picture.path);
    const after = withPicture(before, picture);
    if (before === after) return false;
    if (!check) {
      mkdirSync(dirname(join(root, picture.path)), { recursive: true });
      writeFileSync(join(root, picture.path), after);
    }
    return true;
  });
  for (const { path } of stale) console.log(`${check ? 'stale' : 'drawn'}  ${path}`);
  if (check && stale.length > 0) process.exitCode = 1;
}
