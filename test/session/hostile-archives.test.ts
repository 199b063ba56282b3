import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pack } from 'tar-stream';
import type { DownloadDirOptions } from 'vmchart/effects';
import { localFiles } from 'vmchart/adapters';
import { MemberTree } from '../../adapters/local-files/member-tree.ts';
import { DaemonRecorder, rejection } from './daemon-recorder.ts';
import { diskSession } from './disk-session.ts';

interface Member {
  readonly name: string;
  readonly type?: 'file' | 'directory' | 'symlink' | 'link';
  readonly linkname?: string;
}

async function archiveOf(members: readonly Member[]): Promise<Buffer> {
  const archive = pack();
  for (const member of members) archive.entry({ ...member }, '');
  archive.finalize();
  const pieces: Uint8Array[] = [];
  for await (const piece of archive as AsyncIterable<Uint8Array>) pieces.push(piece);
  return Buffer.concat(pieces);
}

let scratch = '';
let target = '';
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'vmchart-hostile-'));
  target = join(scratch, 'target');
});
afterEach(async () => {
  await rm(scratch, { recursive: true, force: true });
});

async function download(members: readonly Member[], options: DownloadDirOptions = {}) {
  const http = new DaemonRecorder({ chunks: [await archiveOf(members)] });
  return await diskSession(http).downloadDir('/workspace', target, options);
}

const deep = (parts: number, part = 'a') => Array.from({ length: parts }, () => part).join('/');

describe('names that only cost', () => {
  test.each<[string, Member]>([
    ['60,000 parts', { name: deep(60_000) }],
    ['20,000 parts that lead nowhere', { name: `${deep(20_000, '.')}/a` }],
    ['257 parts', { name: deep(257) }],
    ['4,097 bytes in one part', { name: 'a'.repeat(4_097) }],
    ['4,098 bytes in 2,049 characters', { name: 'é'.repeat(2_049) }],
    ['a target of 4,097 bytes', { name: 'l', type: 'symlink', linkname: deep(2_049) }],
    ['a target of 120,000 bytes', { name: 'l', type: 'symlink', linkname: deep(60_000, '.') }],
    ['a hard target of 120,000 bytes', { name: 'h', type: 'link', linkname: deep(60_000) }],
  ])('C2 FC-097 a member with %s is refused by a name that is short', async (_what, member) => {
    const error = await rejection(download([{ name: 'first' }, member]));
    expect(error).toMatchObject({ kind: 'Protocol', reason: 'unsafe-archive' });
    expect(error.message).toContain(`member "${member.name.slice(0, 120)}`);
    expect(error.message.length).toBeLessThan(300);
    expect(await readdir(scratch)).toEqual([]);
  });

  test('C2 256 parts are taken', async () => {
    expect(await download([{ name: deep(256) }])).toMatchObject({ files: 1, directories: 255 });
  });

  test('C2 a name in a message is escaped', async () => {
    const error = await rejection(download([{ name: '/\u001b[2J\n\u202e' }]));
    expect(error.message).toContain('"/\\u{1b}[2J\\n\\u{202e}"');
  });

  test('C2 FC-097 directories that names only imply count as members', async () => {
    const members = Array.from({ length: 6 }, (_, index) => ({ name: `d${index}/f` }));
    expect(await rejection(download(members, { maxMembers: 11 }))).toMatchObject({ reason: 'archive-too-large' });
    expect(await readdir(scratch)).toEqual([]);
    expect(await download(members, { maxMembers: 12 })).toMatchObject({ files: 6, directories: 6 });
  });

  test('C2 FC-097 names and targets have a cap together', async () => {
    const below = deep(12, 'd'.repeat(200));
    const members: Member[] = [{ name: `${below}/`, type: 'directory' }];
    for (let index = 0; index < 12; index += 1) {
      members.push({ name: `${below}/l${index}`, type: 'symlink', linkname: 'x/'.repeat(2_040) });
    }
    expect(await rejection(download(members, { maxMembers: 24 }))).toMatchObject({ reason: 'archive-too-large' });
    expect(await readdir(scratch)).toEqual([]);
    expect(await download(members.slice(0, 10), { maxMembers: 24 })).toMatchObject({ links: 9 });
  });
});

describe('links that only cost', () => {
  /** Each walks up and down as far as its length allows, and then goes on to the next. */
  const chain = (length: number): Member[] => [
    { name: 'a/', type: 'directory' },
    ...Array.from({ length }, (_, index) => ({
      name: `l${index}`,
      type: 'symlink' as const,
      linkname: `${'a/../'.repeat(810)}l${index + 1}`,
    })),
  ];

  test('C2 64 links of 4 KB each that go through one another are refused', async () => {
    const error = await rejection(download(chain(64)));
    expect(error).toMatchObject({ kind: 'Protocol', reason: 'unsafe-archive' });
    expect(error.message).toMatch(/member "l\d+" is a link, and the links take more than 2100000 steps to follow/);
    expect(await readdir(scratch)).toEqual([]);
  });

  test('C2 a few are followed', async () => {
    expect(await download(chain(8))).toMatchObject({ links: 8 });
  });

  test('C2 whatever else the process does has its turn while links are followed', async () => {
    const tree = new MemberTree(100_000);
    tree.add('a', ['a'], 'directory');
    for (let index = 0; index < 100; index += 1) {
      tree.add(`l${index}`, [`l${index}`], 'link');
      tree.addLink(`l${index}`, [`l${index}`], `${'a/../'.repeat(800)}a`);
    }
    let turns = 0;
    const turn = () => {
      turns += 1;
      immediate = setImmediate(turn);
    };
    let immediate = setImmediate(turn);
    await tree.checkLinks();
    clearImmediate(immediate);
    expect(turns).toBeGreaterThanOrEqual(2);
  });

  test.each([
    ['a/x/../..', 'climbs up from a place that does not exist'],
    ['..', 'leads out'],
    ['a/../..', 'leads out'],
  ])('FC-095 a link to %s %s', async (to, why) => {
    const tree = new MemberTree(10);
    tree.add('a', ['a'], 'directory');
    tree.add('l', ['l'], 'link');
    tree.addLink('l', ['l'], to);
    expect((await rejection(tree.checkLinks())).message).toContain(why);
  });

  test.each(['a/..x/y..', 'x/y/z', '....', 'a/../a/..', 'f/..'])('FC-095 a link to %s stays inside', async (to) => {
    const tree = new MemberTree(10);
    tree.add('a', ['a'], 'directory');
    tree.add('f', ['f'], 'file');
    tree.add('l', ['l'], 'link');
    tree.addLink('l', ['l'], to);
    await tree.checkLinks();
  });
});

describe('caps', () => {
  const bad = [Number.NaN, 'x' as unknown as number, -1, 1.5, null as unknown as number, '5' as unknown as number];
  test.each(bad)('B3 a cap of %p is refused before anything is sent', async (cap) => {
    for (const options of [{ maxBytes: cap }, { maxMembers: cap }]) {
      const http = new DaemonRecorder();
      const name = Object.keys(options)[0];
      const refusals = [
        () => diskSession(http).downloadDir('/workspace', target, options),
        () => localFiles().unpack(target, new Blob([]).stream() as unknown as AsyncIterable<Uint8Array>, options),
        ...('maxBytes' in options
          ? [
              () => diskSession(http).downloadFile('/x', options),
              () => diskSession(http).downloadTo('/x', target, options),
              () => diskSession(http).openFile('/x', options),
            ]
          : []),
      ];
      for (const refusal of refusals) {
        const error = await rejection(refusal());
        expect(error).toMatchObject({ kind: 'InvalidArg', reason: 'cap' });
        expect(error.message).toContain(`${name} must be a whole number`);
      }
      expect(http.requests.length).toBe(0);
      expect(await readdir(scratch)).toEqual([]);
    }
  });

  test('B3 Infinity is a cap that was lifted on purpose', async () => {
    const options = { maxBytes: Number.POSITIVE_INFINITY, maxMembers: Number.POSITIVE_INFINITY };
    expect(await download([{ name: 'f' }], options)).toMatchObject({ files: 1 });
  });
});
