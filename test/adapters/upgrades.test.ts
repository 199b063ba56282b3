/** Connections that are upgraded: whatever a client does to one ends there. */
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { refuseUpgrade, takeUpgrades, type TakeUpgrade } from '../../adapters/upgrades.ts';
import { openPage, ToldSource } from '../ui/page-fixture.ts';
import { bench } from '../emulator/bench.ts';

const asking = (target = '/') =>
  `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`;

let server: Server | null = null;
let endAll = () => {};
afterEach(async () => {
  const closing = server;
  server = null;
  endAll();
  await new Promise<void>((resolve) => (closing === null ? resolve() : closing.close(() => resolve())));
});

async function listen(take: TakeUpgrade): Promise<number> {
  server = createServer();
  endAll = takeUpgrades(server, take);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Sends bytes and reads to the end of the connection. */
async function answerOf(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return text;
}

/** Asks for an upgrade and resets the connection at once. */
async function askAndReset(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(asking());
  socket.resetAndDestroy();
  await once(socket, 'close');
}

describe('an upgrade', () => {
  test('a handler that throws ends its connection and nothing else', async () => {
    const port = await listen((request, socket) => {
      if (request.url === '/bad') throw new Error('a bug');
      refuseUpgrade(socket, 'HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    expect(await answerOf(port, asking('/bad'))).toBe('');
    expect(await answerOf(port, asking('/good'))).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('a connection that is reset while it is refused ends alone', async () => {
    const broken: string[] = [];
    const port = await listen((_request, socket) => {
      socket.on('error', ({ code }: NodeJS.ErrnoException) => broken.push(code ?? ''));
      // Until the reset is here, so that the answer meets it.
      socket.once('close', () => broken.push('closed'));
      setImmediate(() => refuseUpgrade(socket, 'HTTP/1.1 403 Forbidden\r\n\r\n'.repeat(1_000)));
    });
    for (let attempt = 0; attempt < 20; attempt += 1) await askAndReset(port);
    expect(await answerOf(port, asking())).toMatch(/^HTTP\/1\.1 403 /);
    expect(broken).toContain('closed');
  });

  test('what was taken over is ended with the server', async () => {
    let tell = () => {};
    const taken = new Promise<void>((resolve) => (tell = resolve));
    const port = await listen(() => tell());
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(asking());
    await taken;
    expect(socket.destroyed).toBe(false);
    endAll();
    await once(socket, 'close');
    expect(socket.destroyed).toBe(true);
  });
});

describe('refused upgrades that are reset', () => {
  test('do not end the emulator, nor the program around it', async () => {
    await using on = await bench();
    const port = Number(new URL(on.emulator.endpoint).port);
    for (let attempt = 0; attempt < 20; attempt += 1) await askAndReset(port);
    expect((await on.call('GET', '/microvms')).status).toBe(200);
  });

  test('do not end the page, and an address without meaning is a 400', async () => {
    await using page = await openPage([new ToldSource()]);
    const port = Number(new URL(page.origin).port);
    for (let attempt = 0; attempt < 20; attempt += 1) await askAndReset(port);
    expect(await answerOf(port, asking('//['))).toMatch(/^HTTP\/1\.1 400 /);
    expect(await answerOf(port, 'GET //[ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 4\d\d /,
    );
    expect((await fetch(page.origin)).status).toBe(200);
  });
});
