/** The fs routes of the daemon: single files, line ranges, archives, and what a hostile VM cannot do. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { extract, pack } from 'tar-stream';
import { send, startGuest, token } from './guest-harness.ts';
import type { Answer, Harness } from './guest-harness.ts';

const filePath = (path: string, more = '') => `/v1/fs/file?path=${encodeURIComponent(path)}${more}`;
const tarPath = (path: string) => `/v1/fs/tar?path=${encodeURIComponent(path)}`;

interface Member {
  readonly name: string;
  readonly type?: 'file' | 'directory' | 'symlink' | 'link' | 'fifo' | 'character-device';
  readonly linkname?: string;
  readonly mode?: number;
  readonly content?: string;
}

async function archive(members: readonly Member[]): Promise<Buffer> {
  const tar = pack();
  for (const { content = '', ...header } of members) {
    if (header.type === undefined || header.type === 'file') tar.entry(header, content);
    else tar.entry(header);
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}

async function membersOf(
  bytes: Buffer,
): Promise<Map<string, { type: string; mode: number; linkname: string; text: string }>> {
  const found = new Map<string, { type: string; mode: number; linkname: string; text: string }>();
  const reader = extract();
  Readable.from([bytes]).pipe(reader as unknown as NodeJS.WritableStream);
  for await (const entry of reader) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(Buffer.from(chunk as Uint8Array));
    const { name, type, mode, linkname } = entry.header;
    found.set(name, { type, mode, linkname, text: Buffer.concat(chunks).toString() });
  }
  return found;
}

let vm: Harness;
let space: number | null = null;
beforeAll(async () => {
  vm = await startGuest({
    environment: { AGENTD_MAX_BODY_BYTES: '300000' },
    daemon: { settings: { maxTarMembers: 20, maxTarBytes: 200_000 }, diskAvailableBytes: () => space },
  });
});
afterAll(() => vm.close());

const put = (path: string, body: string | Buffer, more = ''): Promise<Answer> =>
  vm.call(filePath(path, more), { method: 'PUT', body, headers: { 'content-type': 'application/octet-stream' } });
const get = (path: string, more = ''): Promise<Answer> => vm.call(filePath(path, more));
const putTar = async (path: string, members: readonly Member[]): Promise<Answer> =>
  vm.call(tarPath(path), { method: 'PUT', body: await archive(members) });

describe('files', () => {
  test('12.1 a file is written with its parents and read back as it was, by VM and client alike', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) & 0xff));
    expect(await put('/workspace/a/b c/é.bin', bytes)).toMatchObject({ status: 204, text: '' });
    const answer = await get('/workspace/a/b c/é.bin');
    expect(answer.headers['content-type']).toBe('application/octet-stream');
    expect(answer.body.equals(bytes)).toBe(true);
    expect((await vm.run("wc -c < '/workspace/a/b c/é.bin'"))['stdout']).toBe('70000\n');
    expect((await vm.call(filePath('/workspace/a/b c/é.bin'), { method: 'HEAD' })).status).toBe(200);
  });

  test('12.1 the mode is octal text in three spellings, and a bad one writes nothing', async () => {
    for (const mode of ['0640', '640', '0o640']) {
      await put('/workspace/mode', 'x', `&mode=${mode}`);
      expect((await vm.run('stat -c %a /workspace/mode'))['stdout']).toBe('640\n');
    }
    for (const mode of ['9', '10000', '-1', '0x1ff', '', '1e3']) {
      expect((await put('/workspace/never', 'x', `&mode=${mode}`)).status).toBe(400);
    }
    expect((await get('/workspace/never')).status).toBe(404);
    await put('/workspace/mode', 'yy');
    expect((await vm.run('stat -c %a:%s /workspace/mode'))['stdout']).toBe('640:2\n');
  });

  test('12.1 and 12.2 each refusal has its status and plain text', async () => {
    await put('/workspace/file', 'x');
    const statuses = async (answers: readonly Promise<Answer>[]) =>
      (await Promise.all(answers)).map(({ status }) => status);
    expect(
      await statuses([vm.call('/v1/fs/file'), get('/no/such'), get('/workspace'), get('/workspace/file/x')]),
    ).toEqual([400, 404, 400, 500]);
    expect(await statuses([put('/workspace', 'x'), put('/workspace/file/x', 'x'), put('/usr/x', 'x')])).toEqual([
      500, 500, 500,
    ]);
    expect(await statuses([vm.call('/v1/fs/file?path=a&path=b'), get('/workspace/\0')])).toEqual([400, 500]);
    const missing = await get('/no/such');
    expect(missing.headers['content-type']).toMatch(/^text\/plain/);
    expect((await vm.call('/v1/fs/file', { method: 'POST', body: '' })).headers['allow']).toBe('GET,HEAD,PUT');
  });

  test('12.1 and 13.2 a body over the cap is 413, when declared and when it turns out', async () => {
    expect((await put('/workspace/big', Buffer.alloc(300_001))).status).toBe(413);
    const chunked = await vm.call(filePath('/workspace/big'), {
      method: 'PUT',
      body: Buffer.alloc(300_001),
      headers: { 'transfer-encoding': 'chunked' },
    });
    expect(chunked.status).toBe(413);
    const archived = await vm.call(tarPath('/workspace/tree'), {
      method: 'PUT',
      body: Buffer.alloc(300_001),
      headers: { 'transfer-encoding': 'chunked' },
    });
    expect(archived.status).toBe(413);
    expect((await put('/workspace/big', Buffer.alloc(300_000))).status).toBe(204);
  });

  test('12.2 line ranges are 1-based, inclusive, and adjacent ones join to the whole', async () => {
    await put('/workspace/lines', 'one\ntwo\n\nfour\nlast');
    const lines = async (more: string) => (await get('/workspace/lines', more)).text;
    expect(await lines('&start_line=2&end_line=2')).toBe('two\n');
    expect(await lines('&start_line=3')).toBe('\nfour\nlast');
    expect(await lines('&end_line=1')).toBe('one\n');
    expect(await lines('&start_line=5&end_line=99')).toBe('last');
    expect(await lines('&start_line=6')).toBe('');
    expect(
      (await lines('&end_line=2')) + (await lines('&start_line=3&end_line=4')) + (await lines('&start_line=5')),
    ).toBe(await lines(''));
    for (const bad of [
      '&start_line=0',
      '&start_line=3&end_line=2',
      '&end_line=-1',
      '&start_line=1.5',
      '&start_line=+1',
    ]) {
      expect((await get('/no/such', bad)).status).toBe(400);
    }
  });

  test('12.3 a disk that fills up while bytes come in refuses with 507, and no part stays', async () => {
    let looks = 0;
    const nearlyFull = await startGuest({ daemon: { diskAvailableBytes: () => (++looks % 2 === 1 ? null : 1_000) } });
    try {
      for (const path of [filePath('/workspace/late'), tarPath('/workspace/late')]) {
        const refused = await nearlyFull.call(path, { method: 'PUT', body: Buffer.alloc(9_000_000) });
        expect([refused.status, refused.text]).toEqual([507, expect.stringContaining('1000 bytes available')]);
        expect((await nearlyFull.call(filePath('/workspace/late'))).status).toBe(404);
      }
    } finally {
      await nearlyFull.close();
    }
  });

  test('12.3 a full disk refuses with 507 before anything is there, and 0 switches the guard off', async () => {
    space = 1_000;
    try {
      const refused = await put('/workspace/late', 'x');
      expect(refused.status).toBe(507);
      expect(refused.text).toMatch(/1000 bytes available, 268435456 bytes reserved/);
      expect((await vm.call('/v1/health', { bearer: null })).json()['disk']).toEqual({
        available_bytes: 1_000,
        reserve_bytes: 268_435_456,
        under_pressure: true,
      });
      expect((await putTar('/workspace/late', [{ name: 'a', content: 'x' }])).status).toBe(507);
    } finally {
      space = null;
    }
    expect((await get('/workspace/late')).status).toBe(404);
    expect((await vm.call('/v1/health')).json()['disk']).toBeNull();
  });

  test('a link that a program plants leads nowhere outside the VM', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'vmchart-outside-'));
    try {
      await vm.run(`ln -s ${outside} /workspace/out; ln -s / /workspace/top; ln -s /etc/hostname /workspace/name;
        ln -s ../../../../../../../../etc/hostname /workspace/up; ln -s loop /workspace/loop`);
      expect((await put('/workspace/out/planted', 'x')).status).toBe(204);
      expect(readdirSync(outside)).toEqual([]);
      expect((await vm.run(`cat ${outside}/planted`))['stdout']).toBe('x');
      const own = (await vm.run('cat /etc/hostname'))['stdout'];
      for (const path of ['/workspace/name', '/workspace/up', '/workspace/top/etc/hostname', '/../../etc/hostname']) {
        expect((await get(path)).text).toBe(own);
      }
      expect((await get('/workspace/loop')).status).toBe(500);
    } finally {
      rmSync(outside, { recursive: true });
    }
  });

  test('a pipe in place of a file is answered, not waited for', async () => {
    await vm.run('mkfifo /workspace/pipe');
    expect((await get('/workspace/pipe')).status).toBe(500);
    expect((await put('/workspace/pipe', 'x')).status).toBe(500);
  });

  test('what only the VM mounts is read there', async () => {
    expect((await get('/proc/1/comm')).text).toMatch(/^\w+\n$/);
    await vm.run('echo shared > /dev/shm/x');
    expect((await get('/dev/shm/x')).text).toBe('shared\n');
  });

  test('a download that nobody reads on does not stop the daemon', async () => {
    await put('/workspace/large', Buffer.alloc(300_000));
    for (let tries = 0; tries < 5; tries += 1) {
      await new Promise<void>((resolve) => {
        const headers = { authorization: `Bearer ${token}` };
        const sent = request(
          { port: vm.port, path: filePath('/workspace/large'), headers, agent: false },
          (response) => {
            response.once('data', () => sent.destroy());
            response.on('error', () => undefined);
            response.once('close', resolve);
          },
        );
        sent.on('error', () => undefined);
        sent.end();
      });
    }
    expect((await send(vm.port, '/v1/health')).status).toBe(200);
  });
});

describe('archives', () => {
  test('13 a tree comes down with links as links and goes up again unchanged', async () => {
    await vm.run(`mkdir -p /workspace/tree/sub/empty; cd /workspace/tree; echo hi > 'a b'; printf é > sub/é
      ln -s ../sub/é sub/link; chmod 700 sub; chmod 755 'a b'; mkfifo pipe`);
    const down = await vm.call(tarPath('/workspace/tree'));
    expect(down.headers['content-type']).toBe('application/x-tar');
    const members = await membersOf(down.body);
    expect([...members.keys()]).toEqual(['./', './a b', './sub/', './sub/empty/', './sub/link', './sub/é']);
    expect(members.get('./sub/link')).toMatchObject({ type: 'symlink', linkname: '../sub/é' });
    expect(members.get('./sub/é')?.text).toBe('é');
    const up = await vm.call(tarPath('/workspace/copy/of'), { method: 'PUT', body: down.body });
    expect(up).toMatchObject({ status: 204, text: '' });
    const again = await membersOf((await vm.call(tarPath('/workspace/copy/of'))).body);
    expect([...again.keys()]).toEqual([...members.keys()]);
    expect((await vm.run('cd /workspace/copy/of; stat -c %a "a b" sub; cat sub/link'))['stdout']).toBe('755\n700\né');
  });

  test('13.1 and 13.2 each refusal has its status', async () => {
    await put('/workspace/plain', 'x');
    expect((await vm.call('/v1/fs/tar')).status).toBe(400);
    expect((await vm.call(tarPath('/workspace/plain'))).status).toBe(400);
    expect((await vm.call(tarPath('/no/such'))).status).toBe(404);
    expect((await putTar('relative', [])).status).toBe(400);
    expect(
      (await vm.call(tarPath('/workspace/x'), { method: 'PUT', body: Buffer.from('no archive at all'.repeat(60)) }))
        .status,
    ).toBe(500);
    const whole = await archive([{ name: 'a', content: 'x'.repeat(5_000) }]);
    expect((await vm.call(tarPath('/workspace/x'), { method: 'PUT', body: whole.subarray(0, 2_000) })).status).toBe(
      500,
    );
    expect((await putTar('/workspace/plain/x', [])).status).toBe(500);
    expect((await putTar('/usr/share/vmchart', [])).status).toBe(500);
  });

  test('13 caps on members and bytes hold in both directions', async () => {
    const many = Array.from({ length: 21 }, (_, index) => ({ name: `f${index}` }));
    expect((await putTar('/workspace/many', many)).status).toBe(413);
    expect((await putTar('/workspace/fat', [{ name: 'a', content: 'x'.repeat(200_001) }])).status).toBe(413);
    await vm.run('mkdir /workspace/m; cd /workspace/m; for i in $(seq 25); do : > $i; done');
    expect((await vm.call(tarPath('/workspace/m'))).status).toBe(413);
  });

  const cases: readonly (readonly [string, readonly Member[], 204 | 400 | 500])[] = [
    ['file a/f', [{ name: 'a/f', content: 'x' }], 204],
    ['symlink a/l -> ../b', [{ name: 'a/l', type: 'symlink', linkname: '../b' }], 204],
    ['symlink l -> /etc', [{ name: 'l', type: 'symlink', linkname: '/etc' }], 400],
    ['symlink a/l -> ../../x', [{ name: 'a/l', type: 'symlink', linkname: '../../x' }], 400],
    [
      'hard link a/h -> a/f',
      [
        { name: 'a/f', content: 'x' },
        { name: 'a/h', type: 'link', linkname: 'a/f' },
      ],
      204,
    ],
    ['hard link a/h -> ../f', [{ name: 'a/h', type: 'link', linkname: '../f' }], 400],
    [
      'a file through a link',
      [
        { name: 'd', type: 'directory' },
        { name: 'l', type: 'symlink', linkname: 'd' },
        { name: 'l/x', content: 'x' },
      ],
      400,
    ],
    [
      'a directory through a link',
      [
        { name: 'd', type: 'directory' },
        { name: 'l', type: 'symlink', linkname: 'd' },
        { name: 'l/x', type: 'directory' },
      ],
      400,
    ],
    [
      'a hard link to a symlink',
      [
        { name: 'l', type: 'symlink', linkname: 'd' },
        { name: 'h', type: 'link', linkname: 'l' },
      ],
      400,
    ],
    [
      'a file over a symlink',
      [
        { name: 'l', type: 'symlink', linkname: 'd' },
        { name: 'l', content: 'x' },
      ],
      400,
    ],
    [
      'a symlink over a file',
      [
        { name: 'l', content: 'x' },
        { name: 'l', type: 'symlink', linkname: 'd' },
      ],
      204,
    ],
    ['an absolute name', [{ name: '/abs', content: 'x' }], 400],
    ['a climbing name', [{ name: 'a/../../x', content: 'x' }], 400],
    ['a name that climbs within', [{ name: 'a/../x', content: 'x' }], 204],
    ['a fifo', [{ name: 'p', type: 'fifo' }], 400],
    ['a device', [{ name: 'p', type: 'character-device' }], 400],
    ['the root as a directory', [{ name: './', type: 'directory' }], 204],
    ['the root as a file', [{ name: '.', content: 'x' }], 400],
    ['a hard link to nothing', [{ name: 'h', type: 'link', linkname: 'none' }], 500],
    [
      'a file over a directory',
      [
        { name: 'd', type: 'directory' },
        { name: 'd', content: 'x' },
      ],
      500,
    ],
  ];
  test.each(cases)('FC-095 %s', async (title, members, status) => {
    const root = `/workspace/fc095/${title.replaceAll(/[^a-z]+/gi, '-')}`;
    const answer = await putTar(root, members);
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.text).toContain(JSON.stringify(members.at(-1)?.name ?? ''));
    expect((await vm.run(`ls ${root}/d/x ${root}/../x ${root}/../f /abs 2>/dev/null`))['stdout']).toBe('');
    expect(existsSync('/abs')).toBe(false);
  });

  test('FC-095 members go through no link that a program planted', async () => {
    await vm.run('mkdir -p /workspace/aim /workspace/planted; ln -s /workspace/aim /workspace/planted/l');
    expect((await putTar('/workspace/planted', [{ name: 'l/x', content: 'x' }])).status).toBe(400);
    expect((await vm.run('ls /workspace/aim'))['stdout']).toBe('');
  });

  test('13.2 modes lose what 0755 has not, and a closed directory is still filled', async () => {
    const members: readonly Member[] = [
      { name: 'shut', type: 'directory', mode: 0o120 },
      { name: 'shut/in', content: 'x', mode: 0o6777 },
    ];
    expect((await putTar('/workspace/modes', members)).status).toBe(204);
    expect((await vm.run('cd /workspace/modes; stat -c %a shut shut/in'))['stdout']).toBe('100\n755\n');
  });
});
