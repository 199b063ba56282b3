import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { extract } from 'tar-stream';
import type { Http, HttpRequest } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';
import { execBody, outcome, rejection } from './daemon-recorder.ts';
import { diskSession } from './disk-session.ts';

/** A daemon that keeps the manifest, and remembers what was uploaded and run. */
class SyncDaemon implements Http {
  manifest: string | null = null;
  readonly archives: string[][] = [];
  readonly commands: { command: string[]; cwd: string; user: number }[] = [];
  rmExit = 0;

  async send(request: HttpRequest) {
    const path = new URL(request.url).pathname;
    const answer = (body: unknown, status = 200) => ({ status, headers: {}, body: Buffer.from(JSON.stringify(body)) });
    if (path === '/v1/fs/tar') {
      this.archives.push(await namesOf(request));
      return answer('', 204);
    }
    if (path === '/v1/fs/file') {
      this.manifest = Buffer.from(request.body as Uint8Array).toString();
      return answer('', 204);
    }
    if (path === '/v1/exec/start') {
      this.commands.push(JSON.parse(String(request.body)) as (typeof this.commands)[number]);
      return answer(execBody('running'));
    }
    return answer(execBody(path.endsWith('/ack') ? 'acked' : 'exited', outcome(this.rmExit, { stderr: 'busy' })));
  }

  async openStream() {
    const { manifest } = this;
    const body = (async function* () {
      yield Buffer.from(manifest ?? 'no such file');
    })();
    return { status: manifest === null ? 404 : 200, headers: {}, body, close: () => undefined };
  }
}

async function namesOf(request: HttpRequest): Promise<string[]> {
  const reader = extract();
  const names: string[] = [];
  const feeding = (async () => {
    for await (const piece of (request.body as () => AsyncIterable<Uint8Array>)()) reader.write(piece);
    reader.end(null);
  })();
  for await (const entry of reader) {
    names.push(entry.header.name);
    entry.resume();
  }
  await feeding;
  return names;
}

const sessionOf = (daemon: SyncDaemon) => diskSession(daemon, manualClock({ autoAdvance: true }));

let local = '';
beforeEach(async () => {
  local = await mkdtemp(join(tmpdir(), 'vmchart-sync-'));
});
afterEach(async () => {
  await rm(local, { recursive: true, force: true });
});

describe('syncDir', () => {
  test('sends what is new or changed, removes what vanished, leaves the rest alone', async () => {
    const daemon = new SyncDaemon();
    const session = sessionOf(daemon);
    await mkdir(join(local, 'sub'));
    await writeFile(join(local, 'same'), 'same');
    await writeFile(join(local, 'sub/changes'), 'one');
    await writeFile(join(local, 'goes'), 'x');
    await symlink('same', join(local, 'link'));
    const first = await session.syncDir(local, '/workspace/');
    expect(first).toEqual({
      uploaded: ['goes', 'link', 'same', 'sub/changes'],
      removed: [],
      unchanged: 0,
      ignored: [],
      skipped: [],
    });
    await writeFile(join(local, 'sub/changes'), 'two');
    await chmod(join(local, 'same'), 0o700);
    await rm(join(local, 'goes'));
    const second = await session.syncDir(local, '/workspace');
    expect(second).toMatchObject({ uploaded: ['same', 'sub/changes'], removed: ['goes'], unchanged: 1 });
    expect(await session.syncDir(local, '/workspace')).toMatchObject({ uploaded: [], removed: [], unchanged: 3 });
    expect(daemon.archives).toEqual([
      ['goes', 'link', 'same', 'sub/changes'],
      ['same', 'sub/changes'],
    ]);
    expect(daemon.commands.map(({ command, cwd, user }) => ({ command, cwd, user }))).toEqual([
      { command: ['rm', '-f', '--', 'goes'], cwd: '/workspace', user: 0 },
    ]);
  });

  test('FC-103 a manifest from the VM orders nothing outside of the directory', async () => {
    const daemon = new SyncDaemon();
    const hostile = ['../../etc/x', '/etc/x', '-rf', 'a\nb', 'a/../../x', './x', 'a//b', ''];
    daemon.manifest = JSON.stringify(Object.fromEntries([...hostile, 'old file'].map((path) => [path, 'file:1'])));
    const report = await sessionOf(daemon).syncDir(local, '/workspace');
    expect(report.ignored).toEqual(hostile);
    expect(report.removed).toEqual(['old file']);
    expect(daemon.commands.map(({ command }) => command)).toEqual([['rm', '-f', '--', 'old file']]);
  });

  test.each(['not json', '[]', 'null', '"x"', '{"a":1}'])('the manifest %p counts as none', async (manifest) => {
    const daemon = new SyncDaemon();
    daemon.manifest = manifest;
    await writeFile(join(local, 'a'), 'a');
    expect(await sessionOf(daemon).syncDir(local, '/workspace')).toMatchObject({
      uploaded: ['a'],
      removed: [],
    });
  });

  test('many names go in several commands', async () => {
    const daemon = new SyncDaemon();
    const names = Array.from({ length: 3_000 }, (_, index) => `${'n'.repeat(40)}${index}`);
    daemon.manifest = JSON.stringify(Object.fromEntries(names.map((path) => [path, 'file:1'])));
    await sessionOf(daemon).syncDir(local, '/workspace');
    expect(daemon.commands.length).toBeGreaterThan(1);
    expect(daemon.commands.flatMap(({ command }) => command.slice(3))).toEqual(names);
  });

  test('a removal that fails is an error, and the manifest still names what is there', async () => {
    const daemon = new SyncDaemon();
    daemon.manifest = JSON.stringify({ old: 'file:1' });
    daemon.rmExit = 1;
    expect(await rejection(sessionOf(daemon).syncDir(local, '/workspace'))).toMatchObject({
      kind: 'Platform',
      reason: 'sync',
    });
    expect(daemon.manifest).toBe('{"old":"file:1"}');
  });
});
