/** The WebSocket relay of the daemon, plain and verified, against programs that listen on loopback. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { WebSocket } from 'ws';
import { noiseInitiator, noisePublicKey } from '../../adapters/noise.ts';
import type { NoiseTransport } from '../../adapters/noise.ts';
import { endOfStreamFlag, tunnelConfirmation, tunnelPrologue } from '../../adapters/tunnel-terms.ts';
import type { TunnelGeneration } from '../../adapters/tunnel-terms.ts';
import { startGuest, token } from './guest-harness.ts';
import type { Harness } from './guest-harness.ts';

const hostSecret = Buffer.alloc(32, 9);
const seed = Buffer.alloc(32, 7);
const identity = {
  identity_seed: seed.toString('base64'),
  identity_host_public_key: noisePublicKey(hostSecret).toString('base64'),
};

/** A client of a tunnel that takes frames one by one. */
class Client {
  readonly socket: WebSocket;
  readonly closed: Promise<[number, string]>;
  #frames: Buffer[] = [];
  #wake = (): void => undefined;

  constructor(vm: Harness, query: string, offers: string[] = [], headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`ws://127.0.0.1:${vm.port}/v1/tcp?${query}`, offers, {
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    this.socket.on('message', (data: Buffer) => {
      this.#frames.push(data);
      this.#wake();
    });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.once('close', (code, reason) => {
        resolve([code, reason.toString()]);
        this.#wake();
      });
    });
  }

  async next(): Promise<Buffer> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) return frame;
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error('closed');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Reads until so many bytes came. */
  async bytes(count: number, open: (frame: Buffer) => Buffer = (frame) => frame): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let size = 0; size < count;) {
      const part = open(await this.next());
      size += part.length;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }
}

const servers: Server[] = [];

/** A program that listens; what it does with a connection is up to the test. */
async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const echo = (): Promise<number> => listen((socket) => socket.pipe(socket));

afterAll(() => {
  for (const server of servers) server.close();
});

describe('14 plain tunnels', () => {
  let vm: Harness;
  beforeAll(async () => {
    vm = await startGuest({ isolation: 'plain' });
  });
  afterAll(() => vm.close());

  test('14.2 bytes go both ways, text as its UTF-8 bytes, and empty frames do nothing', async () => {
    const client = new Client(vm, `port=${await echo()}`);
    await once(client.socket, 'open');
    client.socket.send(Buffer.alloc(0));
    client.socket.send('é');
    client.socket.send(Buffer.alloc(300_000, 'x'));
    expect((await client.bytes(300_002)).equals(Buffer.concat([Buffer.from('é'), Buffer.alloc(300_000, 'x')]))).toBe(
      true,
    );
    client.socket.close();
    expect((await client.closed)[0]).toBe(1005);
  });

  test('14.1 only the one subprotocol is selected, and never a credential', async () => {
    const port = await echo();
    const offers = ['lambda-microvms', 'lambda-microvms.authentication.secret', 'lambda-microvms.port.9000'];
    const offering = new Client(vm, `port=${port}`, offers);
    const [answer] = (await once(offering.socket, 'upgrade')) as [{ headers: Record<string, string> }];
    expect(answer.headers['sec-websocket-protocol']).toBe('lambda-microvms');
    expect(answer.headers['microvms-agentd-version']).toBe('0.12.0');
    offering.socket.terminate();
    const silent = new Client(vm, `port=${port}`);
    await once(silent.socket, 'open');
    expect(silent.socket.protocol).toBe('');
    silent.socket.terminate();
  });

  test('14.3 each way of not reaching a guest has its close code', async () => {
    const gone = await listen(() => undefined);
    const server = servers.at(-1) as Server;
    await new Promise((resolve) => {
      server.close(resolve);
    });
    expect((await new Client(vm, 'port=0').closed)[0]).toBe(4400);
    expect((await new Client(vm, `port=${gone}`).closed)[0]).toBe(4502);
    expect((await new Client(vm, `port=${gone}&identity=true`).closed)[0]).toBe(4401);
  });

  test('14.3 the end of the guest is 1000, after its last byte', async () => {
    const client = new Client(vm, `port=${await listen((socket) => socket.end(Buffer.alloc(200_000, 'z')))}`);
    expect(await client.bytes(200_000)).toHaveLength(200_000);
    expect((await client.closed)[0]).toBe(1000);
  });

  test('14.3 a guest that resets is 4500', async () => {
    const port = await listen((socket) => {
      socket.write('x');
      socket.once('data', () => socket.resetAndDestroy());
    });
    const client = new Client(vm, `port=${port}`);
    await client.next();
    client.socket.send('go');
    expect((await client.closed)[0]).toBe(4500);
  });

  test('14.2 the caller’s end reaches the guest', async () => {
    let heard: (text: string) => void = () => undefined;
    const text = new Promise<string>((resolve) => {
      heard = resolve;
    });
    const port = await listen((socket) => {
      let all = '';
      socket.on('data', (data) => (all += data.toString()));
      socket.on('end', () => {
        heard(all);
        socket.end();
      });
    });
    const client = new Client(vm, `port=${port}`);
    await once(client.socket, 'open');
    client.socket.send('all of it');
    client.socket.close();
    expect(await text).toBe('all of it');
  });

  test('14.1 refusals are answered over HTTP before any upgrade', async () => {
    const refusal = async (query: string, headers: Record<string, string> = {}): Promise<number> => {
      const client = new Client(vm, query, [], headers);
      const [, response] = (await once(client.socket, 'unexpected-response')) as [
        unknown,
        { statusCode: number; headers: Record<string, string> },
      ];
      expect(response.headers['microvms-agentd-version']).toBe('0.12.0');
      client.socket.terminate();
      return response.statusCode;
    };
    for (const query of [
      '',
      'port=',
      'port=65536',
      'port=-1',
      'port=1.0',
      'port=%2B1',
      'port=1&identity=1',
      'port=1&port=2',
    ]) {
      expect([query, await refusal(query)]).toEqual([query, 400]);
    }
    expect(await refusal('port=1', { authorization: 'Bearer nobody' })).toBe(401);
    expect((await vm.call('/v1/tcp?port=1')).status).toBe(400);
  });

  test('14.2 a caller that reads slowly slows the guest', async () => {
    let sent = 0;
    const port = await listen((socket) => {
      const fill = (): void => {
        while (sent < 64_000_000 && socket.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      socket.on('drain', fill);
      fill();
    });
    const client = new Client(vm, `port=${port}`);
    await once(client.socket, 'open');
    client.socket.pause();
    let before = -1;
    while (before !== sent) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    expect(sent).toBeLessThan(40_000_000);
    client.socket.terminate();
  });
});

describe.each(['0.12', '1.x'] as const)('15 verified tunnels of %s', (generation: TunnelGeneration) => {
  let vm: Harness;
  beforeAll(async () => {
    vm = await startGuest({ isolation: 'plain', payload: identity, daemon: { generation: { tunnel: generation } } });
  });
  afterAll(() => vm.close());

  const handshake = async (
    port: number,
    more: { readonly secret?: Buffer; readonly payload?: Buffer; readonly silent?: boolean } = {},
  ): Promise<{ client: Client; transport: NoiseTransport; flags: Buffer }> => {
    const client = new Client(vm, `port=${port}&identity=true`);
    const initiator = noiseInitiator({
      secret: more.secret ?? hostSecret,
      remotePublicKey: noisePublicKey(seed),
      prologue: tunnelPrologue(generation)(port),
      payload: more.payload ?? Buffer.of(endOfStreamFlag),
    });
    await once(client.socket, 'open');
    client.socket.send(initiator.message1);
    const { transport, payload } = initiator.finish(await client.next());
    if (generation === '1.x' && more.silent !== true) client.socket.send(transport.seal(tunnelConfirmation));
    return { client, transport, flags: payload };
  };

  test('15.4 sealed bytes go both ways and the end of stream is proven', async () => {
    const { client, transport, flags } = await handshake(await echo());
    expect(flags).toEqual(Buffer.of(1));
    client.socket.send(transport.seal(Buffer.from('hello')));
    expect((await client.bytes(5, transport.open)).toString()).toBe('hello');
    client.socket.send(transport.seal(Buffer.alloc(0)));
    expect((await client.closed)[0]).toBe(1000);
  });

  test('15.5 a guest that speaks first and ends is followed by an empty message and 1000', async () => {
    const { client, transport } = await handshake(await listen((socket) => socket.end(Buffer.alloc(100_000, 'y'))));
    expect(await client.bytes(100_000, transport.open)).toHaveLength(100_000);
    expect(transport.open(await client.next())).toHaveLength(0);
    expect((await client.closed)[0]).toBe(1000);
  });

  test('14.3 strangers are refused with 4403 before any guest is dialled', async () => {
    let dialled = 0;
    const port = await listen(() => (dialled += 1));
    await expect(handshake(port, { secret: Buffer.alloc(32, 8) })).rejects.toThrow('closed');
    for (const first of ['text', Buffer.from('garbage'), Buffer.alloc(49)]) {
      const client = new Client(vm, `port=${port}&identity=true`);
      await once(client.socket, 'open');
      client.socket.send(first);
      expect((await client.closed)[0]).toBe(4403);
    }
    expect(dialled).toBe(0);
  });

  test('14.3 after a good handshake the port still has to be one', async () => {
    expect((await (await handshake(0)).client.closed)[0]).toBe(4400);
  });

  test.each([
    ['that offered it', Buffer.of(1), true],
    ['of an older kind', Buffer.alloc(0), false],
  ])('15.5 a caller %s that leaves without an end', async (_, payload, isReset) => {
    let ended: (how: string) => void = () => undefined;
    const how = new Promise<string>((resolve) => {
      ended = resolve;
    });
    const port = await listen((socket) => {
      socket.on('error', (error: NodeJS.ErrnoException) => ended(error.code ?? ''));
      socket.on('end', () => ended('end'));
      socket.resume();
      socket.write('x');
    });
    const { client, transport } = await handshake(port, { payload });
    await client.bytes(1, transport.open);
    client.socket.close();
    expect(await how).toBe(isReset ? 'ECONNRESET' : 'end');
  });

  test('15.4 an altered frame or a text frame ends the connection without a close frame', async () => {
    for (const bad of [(frame: Buffer) => Buffer.from(frame.map((byte) => byte ^ 1)), () => 'text']) {
      const { client, transport } = await handshake(await echo());
      client.socket.send(bad(transport.seal(Buffer.from('x'))));
      expect((await client.closed)[0]).toBe(1006);
    }
  });

  test('15.3 a confirmation is wanted by the generation that has it, and carried by the other', async () => {
    if (generation === '0.12') {
      // It has none: its first message is the guest's already.
      const { client, transport } = await handshake(await echo());
      client.socket.send(transport.seal(Buffer.from(tunnelConfirmation)));
      expect(await client.bytes(tunnelConfirmation.length, transport.open)).toEqual(Buffer.from(tunnelConfirmation));
      client.socket.terminate();
      return;
    }
    const { client, transport } = await handshake(await echo(), { silent: true });
    client.socket.send(transport.seal(Buffer.from('something else')));
    expect((await client.closed)[0]).toBe(4403);
  });
});
