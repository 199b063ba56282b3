/** The session against the emulator's daemon, through its endpoint proxy: real commands, files and sockets. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecEvent, Ports, Session } from 'vmchart/effects';
import { Sandbox } from 'vmchart/effects';
import { awsPorts, forwardPort, serveTunnel, verifyIdentity } from 'vmchart/adapters';
import { startEmulator } from 'vmchart/emulator';
import type { Emulator } from 'vmchart/emulator';
import { rejection } from './daemon-recorder.ts';

let emulator: Emulator;
let ports: Ports;
let sandbox: Sandbox;
let session: Session;
let scratch = '';
const guest = createServer((request, response) =>
  response.end(`guest saw ${request.headers['x-aws-proxy-port'] ?? 'no port'}`),
);

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'vmchart-session-'));
  emulator = await startEmulator();
  const { endpoint: endpointUrl, region, credentials, imageArn } = emulator;
  ports = awsPorts({ endpointUrl, region, credentials, environment: {} });
  sandbox = new Sandbox(ports);
  session = await sandbox.run({ imageIdentifier: imageArn, identity: true });
  await new Promise<void>((resolve) => guest.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  guest.closeAllConnections();
  guest.close();
  await sandbox.terminate();
  ports.http.close?.();
  await emulator.close();
  await rm(scratch, { recursive: true, force: true });
});

/** A file of the VM, in the directory that its commands start in. */
let remote = '';
beforeAll(async () => {
  remote = (await session.run('pwd')).stdout.trim();
});

describe('commands', () => {
  test('run gives the output, the code and no notes', async () => {
    const result = await session.run('echo out; echo err >&2; exit 3');
    expect(result).toMatchObject({ stdout: 'out\n', stderr: 'err\n', exitCode: 3, posixExitCode: 3, notes: [] });
  });

  test('output arrives while the command runs, and input goes to it', async () => {
    const heard: string[] = [];
    const result = await session.run('while read line; do echo "got $line"; done', {
      input: 'one\ntwo\n',
      onOutput: (event) => void heard.push(Buffer.from(event.data).toString()),
    });
    expect([heard.join(''), result.posixExitCode]).toEqual(['got one\ngot two\n', 0]);
  });

  test('a guest deadline ends the group and reads as 124', async () => {
    const result = await session.run('trap "exit 0" TERM; sleep 60 & wait', { deadlineMs: 100 });
    expect(result).toMatchObject({ timedOut: true, posixExitCode: 124 });
  });

  test('a megabyte of output arrives byte for byte, on both sides', async () => {
    const handle = await session.start('head -c 1000000 /dev/zero | tr "\\0" x; echo done >&2');
    const split = handle.split();
    const read = async (side: ReadableStream<Uint8Array>) => {
      let bytes = 0;
      for await (const piece of side) bytes += piece.length;
      return bytes;
    };
    expect(await Promise.all([read(split.stdout), read(split.stderr)])).toEqual([1_000_000, 5]);
  });

  test('a stream is followed across a suspend and a resume, with nothing lost', async () => {
    const handle = await session.start('for i in 1 2 3 4 5 6; do echo line $i; sleep 0.1; done');
    const texts: string[] = [];
    let suspended = false;
    const end = await handle.follow(async (event: ExecEvent) => {
      if (event.type !== 'output') return;
      texts.push(Buffer.from(event.data).toString());
      if (suspended) return;
      suspended = true;
      await sandbox.suspend();
      await sandbox.resume();
    });
    expect(texts.join('')).toBe([1, 2, 3, 4, 5, 6].map((line) => `line ${line}\n`).join(''));
    expect(end.reason).toBe('Exited');
    expect((await handle.ack()).exitCode).toBe(0);
  });

  test('unknown users and shells, and an unknown command, have their own errors, and others go on', async () => {
    expect(await rejection(session.run('true', { user: 'nobody-of-that-name' }))).toMatchObject({
      reason: 'unknown_user',
    });
    expect(await rejection(session.run('true', { shell: 'no-such-shell' }))).toMatchObject({ reason: 'unknown_shell' });
    expect(await rejection(session.run(['/no/such/program']))).toMatchObject({
      reason: 'spawn_failed',
      // Fixed by the status alone (`client-behaviour.md` 1.4); what to do instead is said.
      retryable: true,
      suggestions: [expect.stringContaining('check its name or path')],
    });
    expect(await rejection(session.exec('x-none').poll())).toMatchObject({
      reason: 'unknown_exec',
      wireKind: 'NotFound',
    });
    expect((await session.run('echo on')).stdout).toBe('on\n');
  });

  test('kill, procs and a second acknowledgement', async () => {
    const handle = await session.start('sleep 60');
    expect((await session.procs()).find(({ execId }) => execId === handle.execId)?.childExited).toBe(false);
    expect(await handle.kill()).toBe(true);
    expect(await handle.waitAndAck()).toMatchObject({ signal: 15 });
    expect((await handle.ack()).outputReleased).toBe(true);
  });

  test('another process attaches by two strings and an id', async () => {
    const handle = await session.start('echo still here');
    const { Session: Attached } = await import('vmchart/effects');
    const attached = await Attached.attach({
      endpoint: session.endpoint,
      agentToken: session.agentToken,
      http: ports.http,
      clock: ports.clock,
      minter: sandbox.plane.minterFor(sandbox.microvmId ?? ''),
    });
    expect((await attached.exec(handle.execId).waitAndAck()).stdout).toBe('still here\n');
  });
});

describe('files', () => {
  test('a file goes in, is read by lines, and comes back', async () => {
    await session.uploadFile(`${remote}/a b.txt`, 'one\ntwo\nthree\n', { mode: 0o640 });
    expect((await session.run("cat 'a b.txt'; stat -c %a 'a b.txt'")).stdout).toBe('one\ntwo\nthree\n640\n');
    const lines = await session.downloadFileLines(`${remote}/a b.txt`, { startLine: 2, endLine: 9 });
    expect(Buffer.from(lines).toString()).toBe('two\nthree\n');
    expect(await session.downloadTo(`${remote}/a b.txt`, join(scratch, 'back'))).toBe(14);
    expect(await session.fileExists(`${remote}/a b.txt`)).toBe(true);
    expect(await session.fileExists(`${remote}/none`)).toBe(false);
    expect(await rejection(session.fileExists(remote))).toMatchObject({ wireKind: 'ProtocolError' });
    expect(await rejection(session.downloadFile(`${remote}/none`))).toMatchObject({ wireKind: 'NotFound' });
  });

  test('a directory survives the round trip through the daemon', async () => {
    const source = join(scratch, 'source');
    await mkdir(join(source, 'sub/ünïcode dir'), { recursive: true });
    await mkdir(join(source, 'empty'));
    await writeFile(join(source, 'sub/big'), Buffer.alloc(300_000, 'abc'));
    await writeFile(join(source, `sub/ünïcode dir/${'long'.repeat(30)}`), 'deep');
    await writeFile(join(source, 'run.sh'), '#!/bin/sh\necho ran');
    await chmod(join(source, 'run.sh'), 0o755);
    await symlink('sub/big', join(source, 'link'));
    const sent = await session.uploadDir(source, `${remote}/sent`);
    expect((await session.run('./sent/run.sh; readlink sent/link; ls -A sent/empty | wc -l')).stdout).toBe(
      'ran\nsub/big\n0\n',
    );
    const target = join(scratch, 'target');
    const received = await session.downloadDir(`${remote}/sent`, target);
    expect(received).toEqual(sent);
    expect(await readFile(join(target, 'link'))).toEqual(Buffer.alloc(300_000, 'abc'));
    expect(await readFile(join(target, `sub/ünïcode dir/${'long'.repeat(30)}`), 'utf8')).toBe('deep');
  });
});

describe('sockets', () => {
  const port = () => (guest.address() as AddressInfo).port;

  test('a forward leads to a program in the VM, and says when there is none', async () => {
    await using forward = await forwardPort(session, { guestPort: port() });
    expect(await (await fetch(`http://127.0.0.1:${forward.port}/`)).text()).toContain('guest saw');
    await using nowhere = await forwardPort(session, { guestPort: 1 });
    const answer = await fetch(`http://127.0.0.1:${nowhere.port}/`);
    expect([answer.status, await answer.text()]).toEqual([502, expect.stringContaining('listens on port 1')]);
  });

  test.each([false, true])('a tunnel carries HTTP (verified: %p)', async (verified) => {
    await using tunnel = await serveTunnel(session, {
      guestPort: port(),
      identity: verified ? sandbox.tunnelIdentity : null,
    });
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(tunnel.port, '127.0.0.1', () =>
        socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'),
      );
      socket.on('data', (data) => (text += String(data)));
      socket.once('close', () => resolve(text));
    });
    expect(answer).toContain('guest saw no port');
    tunnel.stop();
    expect(await tunnel.finished).toMatchObject({ served: 1, refused: 0, truncated: 0, unproven: 0 });
  });

  test('the VM proves to be the one that was launched', async () => {
    if (sandbox.tunnelIdentity === null) throw new Error('the launch brought no identity');
    expect(await verifyIdentity(session, sandbox.tunnelIdentity)).toEqual({ kind: 'Closed' });
  });
});

test('a keep-awake stops when a suspend begins, and sends nothing that could wake the VM', async () => {
  const awake = session.keepAwake({ intervalMs: 1_000 });
  await sandbox.suspend();
  expect(await awake.finished).toMatchObject({ end: 'not-running' });
  expect(sandbox.lifecycle).toBe('SUSPENDED');
  await sandbox.resume();
});
