import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { TunnelIdentity } from 'vmchart/effects';
import { Session } from 'vmchart/effects';
import { Tunnel, gotHttp, openTunnel, serveTunnel, systemClock, verifyIdentity } from 'vmchart/adapters';
import type { ServeTunnelOptions, TunnelEnd } from 'vmchart/adapters';
import { noiseInitiator, noisePublicKey, noiseRespond } from '../../adapters/noise.ts';
import type { NoiseTransport } from '../../adapters/noise.ts';
import { tunnelConfirmation, tunnelPrologue } from '../../adapters/tunnel-terms.ts';
import { CountingMinter, healthBody, rejection } from './daemon-recorder.ts';

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const vmSeed = Buffer.alloc(32, 7);
const hostSeed = Buffer.alloc(32, 9);
const identity: TunnelIdentity = {
  hostSeed: hostSeed.toString('base64'),
  vmPublicKey: noisePublicKey(vmSeed).toString('base64'),
};

interface Daemon {
  readonly server: Server;
  readonly upgrades: IncomingMessage[];
  /** Plain requests, and the statuses that they are answered. */
  readonly requests: IncomingMessage[];
  version: string;
  probeStatus: number;
  /** Takes an upgrade away from the WebSocket server. */
  intercept: ((request: IncomingMessage, socket: Socket) => boolean) | null;
}

/** A daemon whose tunnels do what a test wants. */
async function daemon(
  tunnel: (socket: WebSocket, request: IncomingMessage) => void | Promise<void>,
  options: Partial<ServeTunnelOptions> = {},
) {
  const server = createServer((request, response) => {
    state.requests.push(request);
    const health = request.url === '/v1/health';
    response.writeHead(health ? 200 : state.probeStatus, { 'content-type': 'application/json' });
    response.end(health ? JSON.stringify(healthBody({ version: state.version })) : '{"procs":[]}');
  });
  const state: Daemon = { server, upgrades: [], requests: [], version: '0.12.0', probeStatus: 200, intercept: null };
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'lambda-microvms' });
  server.on('upgrade', (request, socket, head) => {
    state.upgrades.push(request);
    if (state.intercept?.(request, socket as Socket) === true) return;
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => undefined);
      void tunnel(webSocket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const minter = new CountingMinter();
  const http = gotHttp();
  const session = new Session({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    agentToken: 'agent',
    http,
    clock: systemClock(),
    minter,
  });
  closing.push(() => {
    http.close?.();
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  const ends: (TunnelEnd | Error)[] = [];
  const serve = async (more: Partial<ServeTunnelOptions> = {}) => {
    const served = await serveTunnel(session, {
      guestPort: 5432,
      onEnd: (end) => void ends.push(end),
      ...options,
      ...more,
    });
    closing.push(async () => await served[Symbol.asyncDispose]());
    return served;
  };
  return { state, session, minter, ends, serve };
}

/** Connects, says something, and reads to the end. */
async function talk(port: number, text = '', half = false): Promise<{ text: string; error: string | null }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const pieces: Buffer[] = [];
  let error: string | null = null;
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.on('error', (failure: NodeJS.ErrnoException) => (error = failure.code ?? failure.message));
  if (text !== '') socket.write(text);
  if (half) socket.end();
  await new Promise<void>((resolve) => {
    socket.once('end', () => socket.destroy());
    socket.once('close', () => resolve());
  });
  return { text: Buffer.concat(pieces).toString('utf8'), error };
}

/** The daemon's side of a verified tunnel. */
async function respond(
  socket: WebSocket,
  options: { generation?: '0.12' | '1.x'; flags?: number; seed?: Buffer } = {},
): Promise<NoiseTransport> {
  const { generation = '0.12', flags = 1, seed = vmSeed } = options;
  const first = await nextFrame(socket);
  const { message2, transport } = noiseRespond(
    {
      secret: seed,
      remotePublicKey: noisePublicKey(hostSeed),
      prologue: tunnelPrologue(generation)(5432),
      payload: Uint8Array.of(flags),
    },
    first,
  );
  socket.send(message2, { binary: true });
  if (generation === '1.x') expect(transport.open(await nextFrame(socket))).toEqual(tunnelConfirmation);
  return transport;
}

function nextFrame(socket: WebSocket): Promise<Buffer> {
  return new Promise((resolve) => {
    socket.once('message', (data: Buffer) => resolve(data));
  });
}

describe('TCP tunnel', () => {
  test('FC-062 the token is for the daemon’s port; the target port is only in the path', async () => {
    const { state, minter, serve, ends } = await daemon((socket) => {
      socket.on('message', (data: Buffer) => {
        socket.send(`echo ${data.toString()}`);
        socket.close(1_000);
      });
    });
    const tunnel = await serve();
    expect(await talk(tunnel.port, 'hello')).toEqual({ text: 'echo hello', error: null });
    const [upgrade] = state.upgrades;
    expect(minter.requested).toEqual([[9000]]);
    expect(upgrade?.url).toBe('/v1/tcp?port=5432');
    expect(upgrade?.headers['sec-websocket-protocol']).toBe(
      'lambda-microvms,lambda-microvms.authentication.jwe-0,lambda-microvms.port.9000',
    );
    expect(upgrade?.headers.authorization).toBe('Bearer agent');
    tunnel.stop();
    expect(await tunnel.finished).toEqual({
      served: 1,
      refused: 0,
      truncated: 0,
      unproven: 0,
      proxyTokenMints: 1,
      stopReason: 'requested',
    });
    expect(ends).toEqual([{ kind: 'Closed' }]);
  });

  test('a direct session offers no subprotocols', async () => {
    const { state, session } = await daemon((socket) => socket.close(1_000));
    const http = gotHttp();
    closing.push(() => http.close?.());
    const direct = Session.direct({ endpoint: session.endpoint, agentToken: 'agent', http, clock: systemClock() });
    expect(await openTunnel(direct, { guestPort: 80 })).toBeInstanceOf(Tunnel);
    expect(state.upgrades[0]?.headers['sec-websocket-protocol']).toBeUndefined();
  });

  test('large traffic crosses both ways, byte for byte', async () => {
    const { serve } = await daemon((socket) => {
      let bytes = 0;
      socket.on('message', (data: Buffer) => {
        bytes += data.length;
        expect(data.length).toBeLessThanOrEqual(65_536);
        socket.send(data, { binary: true }, () => bytes === 3_000_000 && socket.close(1_000));
      });
    });
    const tunnel = await serve();
    const sent = Buffer.alloc(3_000_000, 'abcdefg');
    expect((await talk(tunnel.port, sent.toString())).text === sent.toString()).toBe(true);
  });

  test('the end of the local input ends the whole tunnel', async () => {
    const { serve, ends } = await daemon(() => undefined);
    const tunnel = await serve();
    expect(await talk(tunnel.port, 'x', true)).toEqual({ text: '', error: null });
    tunnel.stop();
    await tunnel.finished;
    expect(ends).toEqual([{ kind: 'Closed' }]);
  });

  test.each([
    [4_400, 'port 0'],
    [4_502, 'nobody listens'],
    [4_500, 'relay failed'],
  ])('the daemon’s close code %i is a refusal', async (code, reason) => {
    const { serve, ends } = await daemon((socket) => socket.close(code, reason));
    const tunnel = await serve();
    await talk(tunnel.port);
    tunnel.stop();
    expect(await tunnel.finished).toMatchObject({ served: 0, refused: 1 });
    expect(ends).toEqual([{ kind: 'Refused', code, reason }]);
  });

  test('a plain tunnel that hangs up has closed, and one that fails does not end the loop', async () => {
    let round = 0;
    const { state, serve, ends } = await daemon((socket) => socket.terminate());
    state.intercept = (_request, socket) => {
      round += 1;
      if (round === 2) socket.end('HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n');
      return round === 2;
    };
    const tunnel = await serve();
    for (let index = 0; index < 3; index += 1) await talk(tunnel.port);
    tunnel.stop();
    expect(await tunnel.finished).toMatchObject({ served: 2, refused: 1 });
    expect(ends[1]).toMatchObject({ kind: 'Unexpected', reason: 'handshake', status: 500 });
  });
});

describe('a WebSocket that cannot be opened', () => {
  const hangUp = (_request: IncomingMessage, socket: Socket) => {
    socket.destroy();
    return true;
  };

  test('FC-067 a 403 means one new token and one more try, no more', async () => {
    const { state, session } = await daemon(() => undefined);
    state.intercept = hangUp;
    state.probeStatus = 403;
    expect(await rejection(openTunnel(session, { guestPort: 80 }))).toMatchObject({
      kind: 'Unexpected',
      reason: 'token-scope',
      status: 403,
    });
    expect([state.upgrades.length, state.requests.length, session.proxyAuth?.mintCount]).toEqual([2, 2, 2]);
    expect(state.requests[0]?.headers).toMatchObject({ 'x-aws-proxy-port': '9000', authorization: 'Bearer agent' });
  });

  test('FC-067 a 403 that a new token mends is no failure', async () => {
    const { state, session } = await daemon((socket) => socket.close(1_000));
    state.intercept = (_request, socket) => {
      if (state.upgrades.length > 1) return false;
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return true;
    };
    await openTunnel(session, { guestPort: 80 });
    expect([state.upgrades.length, session.proxyAuth?.mintCount]).toEqual([2, 2]);
  });

  test('FC-067 a 502 is waited through only while the VM comes back from a suspend', async () => {
    const { state, session } = await daemon((socket) => socket.close(1_000));
    state.intercept = hangUp;
    state.probeStatus = 502;
    expect(await rejection(openTunnel(session, { guestPort: 80 }))).toMatchObject({ reason: 'nothing-listening' });
    expect(state.upgrades.length).toBe(1);
    session.rebind(session.endpoint);
    state.intercept = (request, socket) => state.upgrades.length < 3 && hangUp(request, socket);
    await openTunnel(session, { guestPort: 80 });
    expect(state.upgrades.length).toBe(3);
  });

  test.each([
    [401, 'unauthorized', 1],
    [429, 'rate', 3],
    [200, 'handshake', 1],
  ])('FC-067 a probe of %i is %s', async (status, reason, tries) => {
    const { state, session } = await daemon(() => undefined);
    state.intercept = hangUp;
    state.probeStatus = status;
    expect(await rejection(openTunnel(session, { guestPort: 80 }))).toMatchObject({ reason });
    expect(state.upgrades.length).toBe(tries);
  });

  test('FC-067 an endpoint that nobody answers at is unreachable', async () => {
    const { state, session } = await daemon(() => undefined);
    await session.connectHeaders(9000);
    state.server.closeAllConnections();
    await new Promise((resolve) => state.server.close(resolve));
    expect(await rejection(openTunnel(session, { guestPort: 80 }))).toMatchObject({
      reason: 'unreachable',
      status: null,
    });
  });

  test('an abort settles at once', async () => {
    const { state, session } = await daemon(() => undefined);
    state.intercept = () => true;
    const abort = new AbortController();
    const work = openTunnel(session, { guestPort: 80, signal: abort.signal });
    setTimeout(() => abort.abort(new Error('enough')), 20);
    expect((await rejection(work)).message).toBe('enough');
  });
});

describe('verified tunnel', () => {
  test('the published vector of the handshake', () => {
    const hex = (text: string) => Buffer.from(text, 'hex');
    const initiator = noiseInitiator({
      secret: hostSeed,
      remotePublicKey: noisePublicKey(vmSeed),
      payload: Uint8Array.of(1),
      ephemeralSecret: Buffer.alloc(32, 1),
    });
    const { message2, transport: theirs } = noiseRespond(
      {
        secret: vmSeed,
        remotePublicKey: noisePublicKey(hostSeed),
        payload: Uint8Array.of(1),
        ephemeralSecret: Buffer.alloc(32, 2),
      },
      initiator.message1,
    );
    const { transport: ours, payload } = initiator.finish(message2);
    expect(initiator.message1.toString('hex')).toBe(
      'a4e09292b651c278b9772c569f5fa9bb13d906b46ab68c9df9dc2b4409f8a209f71b552433461787d67baa27d912f2fb46',
    );
    expect(message2.toString('hex')).toBe(
      'ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59a2b5c71ca2afeb529775f00e7a1ce322ac',
    );
    expect([...payload]).toEqual([1]);
    expect(ours.handshakeHash.toString('hex')).toBe('58c364328bf756bc3ba77ee1c6ce4011932b36c84e01db140b4fe52edcc2e931');
    expect(ours.seal(Buffer.from('ping'))).toEqual(hex('aa2feb56f042fefd6c056a9cd6251b1f4fc66fae'));
    expect(ours.seal(new Uint8Array(0))).toEqual(hex('24b6d17cc9539f2a3696287ff08550ee'));
    expect(ours.open(theirs.seal(Buffer.from('pong'))).toString()).toBe('pong');
  });

  test.each(['0.12', '1.x'] as const)(
    'BIND-21 bytes cross sealed, with a daemon of %s known by its version',
    async (generation) => {
      const { state, serve, ends } = await daemon(async (socket) => {
        const noise = await respond(socket, { generation });
        const said = noise.open(await nextFrame(socket)).toString();
        socket.send(noise.seal(Buffer.from(`echo ${said}`)), { binary: true });
        socket.send(noise.seal(new Uint8Array(0)), { binary: true });
        socket.close(1_000);
      });
      state.version = generation === '1.x' ? '1.3.0' : '0.12.0';
      const tunnel = await serve({ identity });
      expect(await talk(tunnel.port, 'hello')).toEqual({ text: 'echo hello', error: null });
      expect(state.upgrades[0]?.url).toBe('/v1/tcp?port=5432&identity=true');
      expect(ends).toEqual([{ kind: 'Closed' }]);
    },
  );

  test('BIND-23 an end without the promised end of stream is a truncation, and looks like one locally', async () => {
    const { serve, ends } = await daemon(async (socket) => {
      const noise = await respond(socket);
      socket.send(noise.seal(Buffer.from('half of')), { binary: true });
      socket.close(1_000);
    });
    const tunnel = await serve({ identity });
    const heard = await talk(tunnel.port);
    expect([heard.text, heard.error]).toEqual([expect.any(String), 'ECONNRESET']);
    tunnel.stop();
    expect(await tunnel.finished).toMatchObject({ truncated: 1, served: 0 });
    expect(ends).toEqual([{ kind: 'Truncated', code: 1_000 }]);
  });

  test('BIND-24 an older daemon promises none: closed, but unproven', async () => {
    const { serve, ends } = await daemon(async (socket) => {
      await respond(socket, { flags: 0 });
      socket.close(1_000);
    });
    const tunnel = await serve({ identity });
    expect((await talk(tunnel.port)).error).toBeNull();
    tunnel.stop();
    expect(await tunnel.finished).toMatchObject({ unproven: 1 });
    expect(ends).toEqual([{ kind: 'ClosedUnproven' }]);
  });

  test('the local end of input is proved to the daemon', async () => {
    const heard: string[] = [];
    const { serve, ends } = await daemon(async (socket) => {
      const noise = await respond(socket);
      socket.on('message', (data: Buffer) => heard.push(noise.open(data).toString()));
    });
    const tunnel = await serve({ identity });
    await talk(tunnel.port, 'bye', true);
    tunnel.stop();
    await tunnel.finished;
    expect([heard, ends]).toEqual([['bye', ''], [{ kind: 'Closed' }]]);
  });

  test('a frame that does not authenticate, or a text frame, breaks the tunnel and is not delivered', async () => {
    for (const forge of [
      (noise: NoiseTransport) => Buffer.concat([noise.seal(Buffer.from('evil')), Buffer.of(0)]),
      () => 'evil',
    ]) {
      const { serve, ends } = await daemon(async (socket) => {
        const noise = await respond(socket);
        const frame = forge(noise);
        socket.send(frame, { binary: typeof frame !== 'string' });
      });
      const tunnel = await serve({ identity });
      expect(await talk(tunnel.port)).toEqual({ text: '', error: 'ECONNRESET' });
      tunnel.stop();
      expect(await tunnel.finished).toMatchObject({ refused: 1, served: 0 });
      expect(ends[0]).toMatchObject({ kind: 'Unexpected', reason: 'tunnel-forged' });
    }
  });

  test('another VM is not taken for the one that was launched; the error names the pin', async () => {
    const { session } = await daemon(async (socket) => {
      await nextFrame(socket);
      socket.send(Buffer.alloc(49, 1), { binary: true });
    });
    const error = await rejection(verifyIdentity(session, identity));
    expect(error).toMatchObject({ kind: 'Unexpected', reason: 'identity-mismatch' });
    expect(error.message).toContain(identity.vmPublicKey);
    expect(error.message).not.toContain(identity.hostSeed);
  });

  test('a daemon that does not shake hands is not waited for beyond the limit or an abort', async () => {
    const silent = await daemon(() => undefined);
    const http = gotHttp();
    closing.push(() => http.close?.());
    const session = new Session({
      endpoint: silent.session.endpoint,
      agentToken: 'agent',
      http,
      clock: systemClock(),
      timeoutMs: 300,
    });
    expect(await rejection(verifyIdentity(session, identity, { generation: '0.12' }))).toMatchObject({
      reason: 'timeout',
    });
    const abort = new AbortController();
    silent.state.server.once('upgrade', () => setTimeout(() => abort.abort(new Error('enough')), 20));
    const work = verifyIdentity(silent.session, identity, { generation: '0.12', signal: abort.signal });
    expect((await rejection(work)).message).toBe('enough');
  });

  test('verifyIdentity is the handshake alone, with the daemon’s own port', async () => {
    const { state, session } = await daemon(async (socket) => {
      const first = await nextFrame(socket);
      const { message2 } = noiseRespond(
        { secret: vmSeed, remotePublicKey: noisePublicKey(hostSeed), payload: Uint8Array.of(1) },
        first,
      );
      socket.send(message2, { binary: true });
    });
    expect(await verifyIdentity(session, identity)).toEqual({ kind: 'Closed' });
    expect(state.upgrades[0]?.url).toBe('/v1/tcp?port=9000&identity=true');

    const refusing = await daemon((socket) => socket.close(4_401, 'no identity'));
    expect(await verifyIdentity(refusing.session, identity)).toEqual({
      kind: 'Refused',
      code: 4_401,
      reason: 'no identity',
    });
  });
});
