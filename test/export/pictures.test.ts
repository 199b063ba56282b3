import { expect, test } from '@jest/globals';
import { drawSvg } from '../../adapters/cli/pictures/draw.ts';
import * as formats from '../../model/export/index.ts';
import { current, pictures, withPicture } from '../../scripts/pictures.mjs';

test('every picture in README and docs is the one that is drawn today (node scripts/pictures.mjs draws them anew)', async () => {
  const drawn = await pictures({ ...formats, drawSvg });
  const stale = drawn.filter((picture) => {
    const text = current(picture.path);
    return text !== withPicture(text, picture);
  });
  expect(stale.map(({ path }) => path)).toEqual([]);
  expect(drawn.length).toBeGreaterThan(formats.machineCatalog.length);
});

test('a document without a place for its picture is told by name', () => {
  expect(() => withPicture('# Title', { path: 'x.md', marker: 'lifecycle', text: '' })).toThrow(
    'x.md has no <!-- lifecycle:begin -->',
  );
});

test('only the text between the markers changes', () => {
  const before = 'a\n<!-- p:begin -->\nold\n<!-- p:end -->\nb\n';
  expect(withPicture(before, { path: 'x.md', marker: 'p', text: 'new' })).toBe(
    'a\n<!-- p:begin -->\n\nnew\n\n<!-- p:end -->\nb\n',
  );
});
