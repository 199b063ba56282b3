import { createServer } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import { bench, listen, send } from './bench.ts';

describe('WebSockets', () => {
  interface Opened {
    readonly protocol: string;
    readonly offered: string | null;
    readonly echo: Buffer;
    close(): void;
  }

  function open(url: string, protocols: string[], headers: Record<string, string> = {}): Promise<Opened> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url.replace('http:', 'ws:'), protocols, { headers });
      let offered: string | null = null;
      socket.on('error', reject);
      socket.on('message', (data: Buffer, binary) => {
        if (!binary) {
          offered = (JSON.parse(data.toString()) as { offered: string | null }).offered;
          socket.send(Buffer.from([0, 1, 254, 255]));
        } else {
          resolve({ protocol: socket.protocol, offered, echo: data, close: () => socket.terminate() });
        }
      });
    });
  }

  test('FC-068 the proxy takes its three subprotocols away and supplies its own when the guest chooses none', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const ours = [
      'lambda-microvms',
      `lambda-microvms.authentication.${await on.token(id)}`,
      'lambda-microvms.port.9000',
    ];
    const plain = await open(on.endpoint(id), ours);
    expect(plain).toMatchObject({ protocol: 'lambda-microvms', offered: null });
    expect([...plain.echo]).toEqual([0, 1, 254, 255]);
    const application = await open(on.endpoint(id), [...ours, 'p1']);
    expect(application).toMatchObject({ protocol: 'p1', offered: 'p1' });
    const unknown = await open(on.endpoint(id), [...ours, 'p2']);
    expect(unknown).toMatchObject({ protocol: 'lambda-microvms', offered: 'p2' });
    for (const socket of [plain, application, unknown]) socket.close();
  });

  test('a token in the header works too', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const headers = { 'x-aws-proxy-auth': await on.token(id), 'x-aws-proxy-port': '9000' };
    const socket = await open(on.endpoint(id), [], headers);
    expect(socket).toMatchObject({ protocol: '', offered: null });
    socket.close();
  });

  test('FC-067 a refused handshake answers with the status that a plain request gets', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const token = await on.token(id, [{ port: 9000 }]);
    const auth = `lambda-microvms.authentication.${token}`;
    const rows: [string[], string][] = [
      [['lambda-microvms', 'lambda-microvms.port.9000'], '403'],
      [[auth, 'lambda-microvms.port.9000'], '403'],
      [['lambda-microvms', auth, 'lambda-microvms.port.8080'], '403'],
      [['lambda-microvms', auth], '403'],
      [['lambda-microvms', auth, 'lambda-microvms.port.99999'], '400'],
    ];
    for (const [protocols, status] of rows) {
      await expect(open(on.endpoint(id), protocols)).rejects.toThrow(`Unexpected server response: ${status}`);
    }
    await on.suspend(id);
    await on.emulator.advance(100);
    const good = ['lambda-microvms', auth, 'lambda-microvms.port.9000'];
    await expect(open(on.endpoint(id), good)).rejects.toThrow('Unexpected server response: 502');
  });

  test('FC-068 the headers of a handshake without an upgrade are a 400', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const token = await on.token(id);
    const reply = await send(`${on.endpoint(id)}/`, {
      headers: {
        'x-aws-proxy-auth': token,
        'x-aws-proxy-port': '9000',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-version': '13',
        'sec-websocket-protocol': `lambda-microvms, lambda-microvms.authentication.${token}`,
      },
    });
    expect(reply.status).toBe(400);
  });

  test('an open socket outlives its token, and breaks at a suspension', async () => {
    await using on = await bench();
    const id = await on.runToRunning();
    const headers = { 'x-aws-proxy-auth': await on.token(id, [{ port: 9000 }], 1), 'x-aws-proxy-port': '9000' };
    const socket = new WebSocket(on.endpoint(id).replace('http:', 'ws:'), { headers });
    const closed = new Promise<number>((resolve) => {
      socket.on('close', resolve);
    });
    const messages: Buffer[] = [];
    const next = () =>
      new Promise<void>((resolve) => {
        socket.once('message', (data: Buffer) => {
          messages.push(data);
          resolve();
        });
      });
    await next();
    await on.emulator.advance(120_000);
    const echoed = next();
    socket.send('still here');
    await echoed;
    expect(messages.at(-1)?.toString()).toBe('still here');
    await on.suspend(id);
    await on.emulator.advance(100);
    expect(await closed).toBe(1006);
  });

  test('a WebSocket server on a port of its own is reached over TCP', async () => {
    await using on = await bench();
    const server = createServer();
    const listener = new WebSocketServer({ server });
    const port = await listen(server);
    listener.on('connection', (socket) => {
      socket.send('{"offered":null}');
      socket.on('message', (data, binary) => socket.send(data, { binary }));
    });
    const id = await on.runToRunning();
    const protocols = [
      'lambda-microvms',
      `lambda-microvms.authentication.${await on.token(id)}`,
      `lambda-microvms.port.${port}`,
    ];
    const socket = await open(on.endpoint(id), protocols);
    expect([...socket.echo]).toEqual([0, 1, 254, 255]);
    socket.close();
    server.close();
    server.closeAllConnections();
  });
});
