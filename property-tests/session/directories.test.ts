import { chmod, lstat, mkdir, mkdtemp, readFile, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { pack } from 'tar-stream';
import type { Http } from 'vmchart/effects';
import { VmchartError } from 'vmchart/effects';
import { diskSession } from '../../test/session/disk-session.ts';

const seed = Number(process.env['FC_SEED'] ?? 20_261_014);

let scratch = '';
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'vmchart-trees-'));
});
afterEach(async () => {
  await rm(scratch, { recursive: true, force: true });
});

/** Keeps what it is sent and gives it back in pieces of any size. */
function keeper(pieceBytes: number, archive = Buffer.alloc(0)): Http {
  return {
    async send(request) {
      const pieces: Uint8Array[] = [];
      for await (const piece of (request.body as () => AsyncIterable<Uint8Array>)()) pieces.push(piece);
      archive = Buffer.concat(pieces);
      return { status: 204, headers: {}, body: new Uint8Array() };
    },
    openStream: async () => ({
      status: 200,
      headers: {},
      close: () => undefined,
      body: (async function* () {
        for (let from = 0; from < archive.length; from += pieceBytes) yield archive.subarray(from, from + pieceBytes);
      })(),
    }),
  };
}

/** Everything below a directory, as one comparable value. */
async function look(root: string, below = ''): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(join(root, below))).sort()) {
    const path = join(below, name);
    const stats = await lstat(join(root, path));
    const mode = (stats.mode & 0o777).toString(8);
    if (stats.isSymbolicLink()) found[path] = `link ${await readlink(join(root, path))}`;
    else if (stats.isDirectory()) Object.assign(found, { [path]: `directory ${mode}` }, await look(root, path));
    else found[path] = `file ${mode} ${(await readFile(join(root, path))).toString('base64')}`;
  }
  return found;
}

const name = fc
  .oneof(
    fc.constantFrom(
      'a',
      'b',
      'with space',
      'ünïcode',
      '日本語',
      '🚀',
      '-rf',
      '.hidden',
      'new\nline',
      'a=b',
      'qu\'ote"',
      '...',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    fc.string({ unit: fc.constantFrom('x', 'é'), minLength: 90, maxLength: 120 }),
  )
  .map((text) => text.normalize('NFC').replaceAll(/[/\0]/g, '_').slice(0, 120))
  .filter(
    (text) => text !== '' && text !== '.' && text !== '..' && text.toLowerCase() !== '.git' && isWellFormed(text),
  );

/** Half of a surrogate pair is no name that survives the disk. */
function isWellFormed(text: string): boolean {
  return Buffer.from(text, 'utf8').toString('utf8') === text;
}

interface Tree {
  readonly [name: string]: Tree | { readonly bytes: Uint8Array; readonly mode: number } | { readonly link: string };
}

const { tree } = fc.letrec<{ tree: Tree; node: Tree[string] }>((tie) => ({
  tree: fc.dictionary(name, tie('node'), { maxKeys: 4, noNullPrototype: true }),
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.record({
      bytes: fc.oneof(
        fc.uint8Array({ maxLength: 64 }),
        fc.constantFrom(new Uint8Array(511), new Uint8Array(512), new Uint8Array(70_000)),
      ),
      mode: fc.constantFrom(0o644, 0o600, 0o755, 0o444),
    }),
    fc.record({ link: fc.constantFrom('a', './b', 'nowhere/at/all', '.') }),
    tie('tree'),
  ),
}));

async function plant(root: string, content: Tree): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const [name, node] of Object.entries(content)) {
    const path = join(root, name);
    if ('bytes' in node && node['bytes'] instanceof Uint8Array) {
      await writeFile(path, node['bytes']);
      await chmod(path, node['mode'] as unknown as number);
    } else if ('link' in node && typeof node['link'] === 'string') await symlink(node['link'], path);
    else await plant(path, node as Tree);
  }
}

test('any tree of files survives a round trip', async () => {
  let round = 0;
  await fc.assert(
    fc.asyncProperty(tree, fc.integer({ min: 60, max: 5_000 }), async (content, pieceBytes) => {
      round += 1;
      const [source, target] = [join(scratch, `source-${round}`), join(scratch, `target-${round}`)];
      await plant(source, content);
      const session = diskSession(keeper(pieceBytes));
      const sent = await session.uploadDir(source, '/workspace');
      const received = await session.downloadDir('/workspace', target);
      expect(await look(target)).toEqual(await look(source));
      expect({ ...received }).toEqual({ ...sent });
      expect((await readdir(scratch)).filter((entry) => entry.startsWith('.'))).toEqual([]);
    }),
    { seed, numRuns: 40 },
  );
}, 120_000);

const part = fc.constantFrom('a', 'b', 'l', '..', '.', '', '.git');
const hostilePath = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));
const member = fc.record({
  name: hostilePath,
  type: fc.constantFrom('file', 'directory', 'symlink', 'link', 'fifo'),
  linkname: hostilePath,
});

test('no archive, however made, changes anything outside of its directory', async () => {
  let round = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(member, { maxLength: 8 }),
      fc.integer({ min: 60, max: 2_000 }),
      async (members, pieceBytes) => {
        round += 1;
        const home = join(scratch, `home-${round}`);
        await mkdir(join(home, 'a'), { recursive: true });
        await writeFile(join(home, 'b'), 'outside');
        const before = await look(home);
        const archive = pack();
        for (const header of members) archive.entry({ ...header }, header.type === 'file' ? 'evil' : '');
        archive.finalize();
        const pieces: Uint8Array[] = [];
        for await (const piece of archive as AsyncIterable<Uint8Array>) pieces.push(piece);
        const target = join(home, 'target');
        const outcome = await diskSession(keeper(pieceBytes, Buffer.concat(pieces)))
          .downloadDir('/workspace', target)
          .catch((error: unknown) => error);
        const after = Object.entries(await look(home)).filter(
          ([path]) => path !== 'target' && !path.startsWith('target/'),
        );
        expect(Object.fromEntries(after)).toEqual(before);
        if (VmchartError.is(outcome)) {
          expect(outcome.reason).toBe('unsafe-archive');
          expect(Object.keys(await look(home))).toEqual(Object.keys(before));
          return;
        }
        // What was taken leads nowhere outside, followed as the system follows it.
        for (const path of Object.keys(await look(target))) {
          const real = await realPlace(join(target, path));
          expect(real === null || real === target || real.startsWith(`${target}/`)).toBe(true);
          expect(path.split('/').some((name) => name.toLowerCase() === '.git')).toBe(false);
        }
      },
    ),
    { seed, numRuns: 150 },
  );
}, 120_000);

async function realPlace(path: string): Promise<string | null> {
  const { realpath } = await import('node:fs/promises');
  return await realpath(path).catch(() => null);
}
