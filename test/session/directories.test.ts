import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { extract, pack } from 'tar-stream';
import type { DownloadDirOptions, Http } from 'vmchart/effects';
import { localFiles } from 'vmchart/adapters';
import { rejection } from './daemon-recorder.ts';
import { diskSession } from './disk-session.ts';

type Member = {
  name: string;
  type?: 'file' | 'directory' | 'symlink' | 'link' | 'fifo' | 'character-device';
  linkname?: string;
  mode?: number;
  text?: string;
};

/** An archive with exactly these members, however hostile. */
async function archiveOf(...members: Member[]): Promise<Buffer> {
  const archive = pack();
  for (const { text, ...header } of members) archive.entry(header, text ?? '');
  archive.finalize();
  const pieces: Uint8Array[] = [];
  for await (const piece of archive as AsyncIterable<Uint8Array>) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** A daemon that keeps the archive it was sent and gives back the one it has. */
class ArchiveDaemon implements Http {
  archive: Buffer;
  pieceBytes = 700;
  sentBytes = 0;
  closed = false;
  failAfter: number | null = null;

  constructor(archive: Buffer = Buffer.alloc(0)) {
    this.archive = archive;
  }

  async send(request: Parameters<Http['send']>[0]) {
    const pieces: Uint8Array[] = [];
    const body = request.body as () => AsyncIterable<Uint8Array>;
    for await (const piece of body()) pieces.push(piece);
    this.archive = Buffer.concat(pieces);
    return { status: 204, headers: {}, body: new Uint8Array() };
  }

  async openStream() {
    const headers = { 'content-type': 'application/x-tar' };
    return { status: 200, headers, body: this.#body(), close: () => void (this.closed = true) };
  }

  async *#body(): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < this.archive.length; from += this.pieceBytes) {
      if (this.failAfter !== null && from >= this.failAfter) throw new Error('ECONNRESET');
      const piece = this.archive.subarray(from, from + this.pieceBytes);
      this.sentBytes += piece.length;
      yield piece;
    }
  }
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

let scratch = '';
let target = '';
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'vmchart-dirs-'));
  target = join(scratch, 'target');
});
afterEach(async () => {
  await rm(scratch, { recursive: true, force: true });
});

const download = async (archive: Buffer, options: DownloadDirOptions = {}) =>
  await diskSession(new ArchiveDaemon(archive)).downloadDir('/workspace', target, options);

/** Everything below a directory: path, kind, and what is in it. */
async function tree(root: string, below = ''): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of await readdir(join(root, below))) {
    const path = join(below, name);
    const stats = await lstat(join(root, path));
    if (stats.isSymbolicLink()) found[path] = `-> ${await readlink(join(root, path))}`;
    else if (stats.isDirectory()) Object.assign(found, { [`${path}/`]: '' }, await tree(root, path));
    else found[path] = await readFile(join(root, path), 'utf8');
  }
  return found;
}

describe('downloadDir', () => {
  test('files, directories, links and modes arrive', async () => {
    const report = await download(
      await archiveOf(
        { name: './', type: 'directory', mode: 0o750 },
        { name: './a/', type: 'directory', mode: 0o711 },
        { name: './a/run', text: '#!', mode: 0o4755 },
        { name: './b/deep/c', text: 'c', mode: 0o640 },
        { name: './a/up', type: 'symlink', linkname: '../b/deep' },
        { name: './a/hard', type: 'link', linkname: 'b/deep/c' },
      ),
    );
    expect(await tree(target)).toEqual({
      'a/': '',
      'a/hard': 'c',
      'a/run': '#!',
      'a/up': '-> ../b/deep',
      'b/': '',
      'b/deep/': '',
      'b/deep/c': 'c',
    });
    const modes = await Promise.all(
      ['', 'a', 'a/run', 'b/deep/c'].map(async (path) => (await lstat(join(target, path))).mode & 0o7777),
    );
    expect(modes).toEqual([0o750, 0o711, 0o755, 0o640]);
    expect(report).toEqual({ files: 3, directories: 3, links: 1, bytes: 3, skipped: [] });
  });

  test.each<[string, Member[]]>([
    ['an absolute name', [{ name: '/etc/x', text: 'x' }]],
    ['a name that climbs out', [{ name: 'a/../../x', text: 'x' }]],
    ['an absolute link', [{ name: 'l', type: 'symlink', linkname: '/etc' }]],
    ['a link that climbs out', [{ name: 'a/l', type: 'symlink', linkname: '../../x' }]],
    ['a link without a target', [{ name: 'l', type: 'symlink', linkname: '' }]],
    [
      'a hard link that climbs out',
      [
        { name: 'a/f', text: 'f' },
        { name: 'a/h', type: 'link', linkname: '../f' },
      ],
    ],
    ['an absolute hard link', [{ name: 'h', type: 'link', linkname: '/etc/passwd' }]],
    ['a hard link to nothing', [{ name: 'h', type: 'link', linkname: 'nothing' }]],
    [
      'a hard link to a link',
      [
        { name: 'd/', type: 'directory' },
        { name: 'l', type: 'symlink', linkname: 'd' },
        { name: 'h', type: 'link', linkname: 'l' },
      ],
    ],
    [
      'a member through a link',
      [
        { name: 'd/', type: 'directory' },
        { name: 'l', type: 'symlink', linkname: 'd' },
        { name: 'l/x', text: 'x' },
      ],
    ],
    [
      'a hard link through a link',
      [
        { name: 'd/f', text: 'f' },
        { name: 'l', type: 'symlink', linkname: 'd' },
        { name: 'h', type: 'link', linkname: 'l/f' },
      ],
    ],
    [
      'a file over a link',
      [
        { name: 'f', text: 'f' },
        { name: 'l', type: 'symlink', linkname: 'f' },
        { name: 'l', text: 'x' },
      ],
    ],
    [
      'a directory over a link',
      [
        { name: 'd/', type: 'directory' },
        { name: 'l', type: 'symlink', linkname: 'd' },
        { name: 'l/', type: 'directory' },
      ],
    ],
    [
      'a file over a directory',
      [
        { name: 'd/', type: 'directory' },
        { name: 'd', text: 'x' },
      ],
    ],
    [
      'a member through a file',
      [
        { name: 'f', text: 'f' },
        { name: 'f/x', text: 'x' },
      ],
    ],
    ['a file as the root', [{ name: '.', text: 'x' }]],
    ['a link as the root', [{ name: './', type: 'symlink', linkname: 'x' }]],
    [
      'links that climb out only together',
      [
        { name: 'deep/', type: 'directory' },
        { name: 'deep/l2', type: 'symlink', linkname: 'l1/..' },
        { name: 'deep/l1', type: 'symlink', linkname: '..' },
      ],
    ],
    ['a link that climbs up from nowhere', [{ name: 'l', type: 'symlink', linkname: 'later/../x' }]],
  ])('FC-095 refuses %s, and writes nothing', async (_what, members) => {
    await writeFile(join(scratch, 'x'), 'outside');
    const error = await rejection(download(await archiveOf({ name: 'first', text: '1' }, ...members)));
    expect(error).toMatchObject({ kind: 'Protocol', reason: 'unsafe-archive' });
    expect(error.message).toContain('member');
    expect(await tree(scratch)).toEqual({ x: 'outside' });
  });

  test.each<[string, Member[]]>([
    [
      'a link to a parent inside',
      [
        { name: 'a/f', text: 'f' },
        { name: 'a/l', type: 'symlink', linkname: '../a' },
      ],
    ],
    [
      'a hard link to a file',
      [
        { name: 'a/f', text: 'f' },
        { name: 'a/h', type: 'link', linkname: 'a/f' },
      ],
    ],
    ['a link in a circle', [{ name: 'l', type: 'symlink', linkname: 'l' }]],
    [
      'links in a circle',
      [
        { name: 'a', type: 'symlink', linkname: 'b' },
        { name: 'b', type: 'symlink', linkname: 'a/../b' },
      ],
    ],
    ['a link to what is not there', [{ name: 'l', type: 'symlink', linkname: 'nothing' }]],
    [
      'a link over a file',
      [
        { name: 'f', text: 'f' },
        { name: 'f', type: 'symlink', linkname: 'g' },
      ],
    ],
    [
      'the same file twice',
      [
        { name: 'f', text: 'first' },
        { name: 'f', text: 'second' },
      ],
    ],
  ])('FC-095 takes %s', async (_what, members) => {
    await download(await archiveOf(...members));
  });

  test('FC-095 links can be refused or left out', async () => {
    const archive = await archiveOf({ name: 'f', text: 'f' }, { name: 'l', type: 'symlink', linkname: 'f' });
    expect(await rejection(download(archive, { links: 'refuse' }))).toMatchObject({ reason: 'unsafe-archive' });
    const report = await download(archive, { links: 'skip' });
    expect(report.skipped).toEqual([{ path: 'l', reason: 'link' }]);
    expect(await tree(target)).toEqual({ f: 'f' });
  });

  test('devices and pipes are left out and reported', async () => {
    const report = await download(
      await archiveOf({ name: 'p', type: 'fifo' }, { name: 'd', type: 'character-device' }, { name: 'f', text: 'f' }),
    );
    expect(report.skipped.map(({ path, reason }) => `${path} ${reason}`)).toEqual(['p special-file', 'd special-file']);
    expect(await tree(target)).toEqual({ f: 'f' });
  });

  test('FC-103 nothing is written under .git, in any case, unless asked for', async () => {
    const archive = await archiveOf(
      { name: '.git/hooks/pre-commit', text: 'evil' },
      { name: 'sub/.GIT', text: 'gitdir: /evil' },
      { name: 'l', type: 'symlink', linkname: '.git/hooks' },
      { name: '.gitignore', text: 'ok' },
    );
    const report = await download(archive);
    expect(report.skipped).toEqual([
      { path: '.git/hooks/pre-commit', reason: 'git' },
      { path: 'sub/.GIT', reason: 'git' },
      { path: 'l', reason: 'link' },
    ]);
    expect(await tree(target)).toEqual({ '.gitignore': 'ok' });
    await download(archive, { git: 'keep' });
    expect(Object.keys(await tree(target))).toContain('.git/hooks/pre-commit');
  });

  test('FC-097 the caps hold on bytes and members, while they are read', async () => {
    const daemon = new ArchiveDaemon(
      await archiveOf(...Array.from({ length: 48 }, (_, index) => ({ name: `f${index}`, text: 'x'.repeat(65_536) }))),
    );
    daemon.pieceBytes = 65_536;
    const work = diskSession(daemon).downloadDir('/workspace', target, { maxBytes: 1024 * 1024 });
    expect(await rejection(work)).toMatchObject({ reason: 'archive-too-large' });
    expect(daemon.sentBytes).toBeLessThanOrEqual(1024 * 1024 + 4 * 65_536);
    expect(daemon.closed).toBe(true);
    const many = await archiveOf(...Array.from({ length: 11 }, (_, index) => ({ name: `f${index}` })));
    expect(await rejection(download(many, { maxMembers: 10 }))).toMatchObject({ reason: 'archive-too-large' });
    expect(await tree(scratch)).toEqual({});
  });

  test('an archive that is cut, lies about a size, or is none, leaves nothing', async () => {
    const whole = await archiveOf({ name: 'a', text: 'x'.repeat(5_000) }, { name: 'b', text: 'y' });
    const lying = Buffer.from(whole);
    lying.write('00000777777', 124);
    let sum = 0;
    lying.fill(' ', 148, 156);
    for (const byte of lying.subarray(0, 512)) sum += byte;
    lying.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    const cases: [Buffer, string][] = [
      [whole.subarray(0, 512 + 5_120), 'truncated-archive'],
      [whole.subarray(0, 3_000), 'truncated-archive'],
      [lying, 'unreadable-archive'],
      [Buffer.alloc(0), 'truncated-archive'],
      [Buffer.from('\x1f\x8b\x08 this is gzip'.padEnd(2_048, '\0')), 'unreadable-archive'],
    ];
    for (const [archive, reason] of cases) {
      expect([reason, await rejection(download(archive))]).toEqual([
        reason,
        expect.objectContaining({ kind: 'Protocol', reason }),
      ]);
      expect(await tree(scratch)).toEqual({});
    }
  });

  test('a connection that breaks leaves the directory as it was', async () => {
    await mkdir(target);
    await writeFile(join(target, 'a'), 'before');
    const daemon = new ArchiveDaemon(
      await archiveOf({ name: 'a', text: 'after' }, { name: 'b', text: 'x'.repeat(9_000) }),
    );
    for (const failAfter of [700, 2_100, 9_800]) {
      daemon.failAfter = failAfter;
      expect(await rejection(diskSession(daemon).downloadDir('/workspace', target))).toMatchObject({
        wireKind: 'Transport',
      });
      expect(await tree(scratch)).toEqual({ 'target/': '', 'target/a': 'before' });
    }
    daemon.failAfter = null;
    await diskSession(daemon).downloadDir('/workspace', target);
    expect((await tree(target))['a']).toBe('after');
  });

  test('an abort leaves the directory as it was and rejects with its reason', async () => {
    const abort = new AbortController();
    const daemon = new ArchiveDaemon(await archiveOf({ name: 'a', text: 'x'.repeat(9_000) }));
    const work = diskSession(daemon).downloadDir('/workspace', target, {
      signal: abort.signal,
      onProgress: ({ bytes }) => void (bytes > 4_000 && abort.abort(new Error('enough'))),
    });
    expect((await rejection(work)).message).toBe('enough');
    expect(await tree(scratch)).toEqual({});
  });

  test('what is there is kept, replaced by its like, and never followed', async () => {
    await mkdir(join(target, 'sub'), { recursive: true });
    await writeFile(join(target, 'keep'), 'kept');
    await writeFile(join(target, 'sub/f'), 'old');
    await download(await archiveOf({ name: 'sub/f', text: 'new' }, { name: 'sub/g', text: 'g' }));
    expect(await tree(target)).toEqual({ keep: 'kept', 'sub/': '', 'sub/f': 'new', 'sub/g': 'g' });

    await mkdir(join(scratch, 'elsewhere'));
    await symlink('../elsewhere', join(target, 'out'));
    const error = await rejection(download(await archiveOf({ name: 'keep', text: '?' }, { name: 'out/f', text: 'f' })));
    expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'local-in-the-way' });
    expect(await readdir(join(scratch, 'elsewhere'))).toEqual([]);
    expect(await readFile(join(target, 'keep'), 'utf8')).toBe('kept');
  });

  test('globs choose what is taken', async () => {
    const archive = await archiveOf(
      { name: 'src/', type: 'directory' },
      { name: 'src/a.ts', text: 'a' },
      { name: 'src/deep/b.ts', text: 'b' },
      { name: 'src/c.md', text: 'c' },
      { name: 'empty/', type: 'directory' },
    );
    await download(archive, { include: ['**/*.ts'], exclude: ['**/b.*'] });
    expect(await tree(target)).toEqual({ 'src/': '', 'src/a.ts': 'a' });
  });

  test.each([
    [{ exclude: ['src/deep'] }, ['empty/', 'src/', 'src/a.ts', 'src/c.md', '.env', 'a.ts'].sort()],
    [{ exclude: ['src/deep/', '*.ts', '.*'] }, ['empty/', 'src/', 'src/a.ts', 'src/c.md']],
    [{ include: ['src/deep', '*.ts'] }, ['a.ts', 'src/', 'src/deep/', 'src/deep/b.ts']],
    [{ include: ['src'], exclude: ['**/*.md'] }, ['src/', 'src/a.ts', 'src/deep/', 'src/deep/b.ts']],
  ] as const)('the globs %j mean the same both ways', async (choice, taken) => {
    const whole = join(scratch, 'whole');
    await mkdir(join(whole, 'src', 'deep'), { recursive: true });
    await mkdir(join(whole, 'empty'));
    for (const path of ['src/a.ts', 'src/deep/b.ts', 'src/c.md', '.env', 'a.ts'])
      await writeFile(join(whole, path), '');
    const packed = async (options: { include?: string[]; exclude?: string[] }) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of (await localFiles().openDirectory(whole, options)).pack()) pieces.push(piece);
      return Buffer.concat(pieces);
    };
    const globs = Object.fromEntries(Object.entries(choice).map(([key, list]) => [key, [...list]]));
    await download(await packed({}), globs);
    expect(Object.keys(await tree(target)).sort()).toEqual(taken);
    await rm(target, { recursive: true });
    await download(await packed(globs));
    expect(Object.keys(await tree(target)).sort()).toEqual(taken);
  });
});

describe('uploadDir', () => {
  test('a tree is packed in the order of its names, and what no VM can hold is left out', async () => {
    const source = join(scratch, 'source');
    await mkdir(join(source, 'b'), { recursive: true });
    await mkdir(join(source, 'empty'));
    await writeFile(join(source, 'b/x'), 'x', { mode: 0o600 });
    await writeFile(join(source, 'a'), '');
    await chmod(join(source, 'a'), 0);
    await symlink('b/x', join(source, 'l'));
    await link(join(source, 'b/x'), join(source, 'z'));
    const socket = createServer().listen(join(source, 'sock'));
    await new Promise((resolve) => socket.once('listening', resolve));
    const daemon = new ArchiveDaemon();
    const report = await diskSession(daemon).uploadDir(source, '/workspace');
    socket.close();
    expect(report).toEqual({
      files: 3,
      directories: 2,
      links: 1,
      bytes: 2,
      skipped: [{ path: 'sock', reason: 'special-file' }],
    });
    const packed: string[] = [];
    const reader = extract();
    reader.end(daemon.archive);
    for await (const entry of reader) {
      const { name, type, mode, linkname } = entry.header;
      packed.push(`${name} ${type} ${mode.toString(8)} ${linkname ?? ''}`.trim());
      entry.resume();
    }
    expect(packed.filter((line) => !line.startsWith('b/ ') && !line.startsWith('empty/ '))).toEqual([
      'a file 0',
      'b directory 755',
      'b/x file 600',
      'empty directory 755',
      'l symlink 777 b/x',
      'z file 600',
    ]);
  });

  test('a large file that waits for a slow reader makes nothing warn', async () => {
    const source = join(scratch, 'source');
    await mkdir(source);
    await writeFile(join(source, 'large'), Buffer.alloc(8 * 1024 * 1024));
    // In a process of its own: Jest keeps the warnings of this one to itself.
    const program = `
      import { localFiles } from ${JSON.stringify(join(root, 'adapters', 'index.ts'))};
      let bytes = 0;
      for await (const piece of (await localFiles().openDirectory(${JSON.stringify(source)}, {})).pack()) {
        bytes += piece.length;
        await new Promise((resolve) => setImmediate(resolve));
      }
      console.log(bytes > 8 * 1024 * 1024);
    `;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', join(root, 'test', 'helpers', 'typescript-loader.mjs'), '--input-type=module', '--eval', program],
      { encoding: 'utf8' },
    );
    expect([stdout, stderr]).toEqual(['true\n', '']);
  });

  test('a link that leads out ends an upload before it begins, or is left out', async () => {
    const source = join(scratch, 'source');
    await mkdir(source);
    for (const to of ['/etc/passwd', '../../x']) {
      await symlink(to, join(source, 'l'));
      const daemon = new ArchiveDaemon(Buffer.from('untouched'));
      const error = await rejection(diskSession(daemon).uploadDir(source, '/workspace'));
      expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'unsafe-link' });
      expect(daemon.archive.toString()).toBe('untouched');
      const report = await diskSession(daemon).uploadDir(source, '/workspace', { unsafeLinks: 'skip' });
      expect(report.skipped).toEqual([{ path: 'l', reason: 'link' }]);
      await rm(join(source, 'l'));
    }
  });

  test('a missing directory is a mistake of the caller', async () => {
    const error = await rejection(diskSession(new ArchiveDaemon()).uploadDir(join(scratch, 'nowhere'), '/workspace'));
    expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'local-not-found' });
  });

  test('an upload that is given up half-way leaves nothing unhandled', async () => {
    const source = join(scratch, 'source');
    await mkdir(source);
    await writeFile(join(source, 'big'), Buffer.alloc(3 * 1024 * 1024));
    const unhandled: unknown[] = [];
    const remember = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', remember);
    const http: Http = {
      async send(request) {
        for await (const piece of (request.body as () => AsyncIterable<Uint8Array>)()) {
          if (piece.length > 0) break;
        }
        return { status: 413, headers: {}, body: new Uint8Array() };
      },
      openStream: () => Promise.reject(new Error()),
    };
    expect(await rejection(diskSession(http).uploadDir(source, '/workspace'))).toMatchObject({ wireKind: 'TooLarge' });
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    process.off('unhandledRejection', remember);
    expect(unhandled).toEqual([]);
  });
});
