/** Puts an emulator together and starts it. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemEntropy } from '../entropy.ts';
import { adminPrefix, serveAdmin } from './admin.ts';
import { makeBuildFailures } from './build-failure-queue.ts';
import { makeChangeSource } from './change-feed.ts';
import { isMovable, makeClock } from './clocks.ts';
import { resolveOptions } from './context.ts';
import type { EmulatorContext } from './context.ts';
import { regionOf, serveControlPlane } from './control-plane/front-door.ts';
import type { FrontDoor } from './control-plane/front-door.ts';
import { makeRateLimit } from './control-plane/limits.ts';
import { operations } from './control-plane/operations/index.ts';
import type { SignatureCheck } from './control-plane/signatures.ts';
import { declineUpgrade, wantsWebSocket } from './declined-upgrade.ts';
import type { EmulatedMicrovm, Emulator } from './emulator.ts';
import { makeFaults } from './faults.ts';
import type { GuestFactory } from './guest.ts';
import { makeIds } from './ids.ts';
import { hardenServer } from './loopback-server.ts';
import type { EmulatorOptions } from './options.ts';
import { unknownHost } from './proxy/denials.ts';
import { sendDenial, sendUpgradeDenial, serveEndpoint, serveUpgrade } from './proxy/endpoint.ts';
import { makeEndpointServers } from './proxy/endpoint-servers.ts';
import { makeProxyTokens } from './proxy/proxy-tokens.ts';
import { makeRecorder } from './recorder.ts';
import type { Microvm } from './service/microvm.ts';
import type { Region } from './service/region.ts';
import { makeWork } from './work.ts';

/** How long moving the clock by hand waits for a guest that may never answer, in real milliseconds. */
const graceMs = 500;

async function defaultGuests(): Promise<GuestFactory> {
  const { createProcessGuests } = await import('./guest/index.ts');
  return await createProcessGuests();
}

/** Signatures are checked by a library that is only loaded for the first request. */
function lazySignatureCheck(context: EmulatorContext, clockIsReal: boolean): () => Promise<SignatureCheck> {
  let check: Promise<SignatureCheck> | null = null;
  return () => {
    check ??= import('./control-plane/signatures.ts').then(({ makeSignatureCheck }) =>
      makeSignatureCheck(context.options.credentials, clockIsReal ? () => context.clock.wallNow() : null),
    );
    return check;
  };
}

function describe(microvm: Microvm, region: Region): EmulatedMicrovm {
  const { facts, nextDeadline } = microvm;
  return {
    microvmId: facts.microvmId,
    state: microvm.state,
    cause: microvm.snapshot.context.cause,
    stateReason: microvm.stateReason,
    region: region.name,
    imageArn: facts.imageArn,
    imageVersion: facts.imageVersion,
    endpoint: microvm.endpoint,
    startedAtMs: microvm.startedWall,
    nextDeadlineAtMs: nextDeadline === null ? null : microvm.startedWall + (nextDeadline - microvm.startedAt),
  };
}

/** Whether a host is that of an endpoint, of a VM that exists or not. */
function isEndpointHost(host: string | undefined): boolean {
  return /\.lambda-microvm\.[a-z0-9-]+\.on\.aws(:\d+)?$/i.test(host ?? '');
}

/** Starts an emulator; see `startEmulator`. */
export async function start(options: EmulatorOptions): Promise<Emulator> {
  const resolved = resolveOptions(options);
  const clock = makeClock(options.clock ?? 'real', options.clockRate ?? 60);
  const ids = makeIds(options.entropy ?? systemEntropy());
  const guests = options.guests ?? (await defaultGuests());
  const changes = makeChangeSource();
  const endpoints = makeEndpointServers(resolved.endedEndpointsKept);
  const work = makeWork();
  const tokens = makeProxyTokens(clock, ids);
  const closing = new AbortController();
  const buildFailures = makeBuildFailures();
  const context: EmulatorContext = {
    options: resolved,
    clock,
    ids,
    work,
    guests,
    changes,
    tokens,
    endpoints,
    buildFailures,
    faults: makeFaults(),
    recorder: makeRecorder(options.recordedRequests ?? 10_000),
    closing: closing.signal,
  };
  const regions = new Map<string, Region>();
  const door: FrontDoor = {
    context,
    operations,
    regions,
    limit: makeRateLimit(clock, resolved.limits),
    checkSignature: resolved.verifySignatures
      ? lazySignatureCheck(context, (options.clock ?? 'real') === 'real')
      : null,
  };
  const home = regionOf(door, resolved.region);

  const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.on('upgrade', (request, socket, head) => {
    if (!wantsWebSocket(request)) return declineUpgrade(request, socket, (response) => serve(request, response));
    const microvm = microvmOfHost(request);
    if (microvm === null) return sendUpgradeDenial(socket, unknownHost, ids.uuid());
    serveUpgrade(context, microvm, request, socket, head).catch(() => socket.destroy());
  });
  hardenServer(server, { requestTimeoutMs: resolved.endpointForm === 'bare-host' ? 0 : 60_000 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const microvms = function* (): Generator<[Microvm, Region]> {
    for (const region of regions.values()) for (const microvm of region.microvms.values()) yield [microvm, region];
  };

  const nextDeadline = (): number => {
    let next = Infinity;
    for (const [microvm] of microvms()) next = Math.min(next, microvm.nextDeadline ?? Infinity);
    return next;
  };

  async function advance(ms: number): Promise<void> {
    if (!isMovable(clock)) throw new TypeError('Only a manual clock can be advanced.');
    const until = clock.now() + ms;
    await work.settled(graceMs);
    for (let next = nextDeadline(); next <= until; next = nextDeadline()) {
      await clock.advance(Math.max(0, next - clock.now()));
      await work.settled(graceMs);
    }
    await clock.advance(until - clock.now());
    await work.settled(graceMs);
  }

  /** One port can serve all endpoints: the host tells which. */
  function microvmOfHost({ headers }: IncomingMessage): Microvm | null {
    return endpoints.find((headers.host ?? '').replace(/:\d+$/, '').toLowerCase());
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith(adminPrefix) === true) return await serveAdmin(emulator, request, response);
    if (isEndpointHost(request.headers.host)) {
      const microvm = microvmOfHost(request);
      if (microvm !== null) return await serveEndpoint(context, microvm, request, response);
      request.resume();
      return sendDenial(response, unknownHost, ids.uuid());
    }
    return await serveControlPlane(door, request, response);
  }

  let closed: Promise<void> | null = null;
  async function close(): Promise<void> {
    const stopped = new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    closing.abort();
    for (const [microvm] of microvms()) microvm.close();
    await Promise.all([stopped, endpoints.close(), guests.close()]);
    changes.close();
  }

  const emulator: Emulator = {
    endpoint,
    region: resolved.region,
    credentials: resolved.credentials,
    imageArn: home.imageArn(resolved.imageName),
    notice: guests.notice,
    clock,
    faults: context.faults,
    builds: buildFailures,
    recorder: context.recorder,
    events: changes.feed,
    adminToken: ids.bytes(24).toString('base64url'),
    vms: () => [...microvms()].map(([microvm, region]) => describe(microvm, region)),
    advance,
    environment: () => ({
      AWS_ENDPOINT_URL_LAMBDA_MICROVMS: endpoint,
      AWS_REGION: resolved.region,
      AWS_ACCESS_KEY_ID: resolved.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: resolved.credentials.secretAccessKey,
      ...(resolved.credentials.sessionToken === undefined
        ? {}
        : { AWS_SESSION_TOKEN: resolved.credentials.sessionToken }),
    }),
    close: () => (closed ??= close()),
    [Symbol.asyncDispose]: () => (closed ??= close()),
  };
  return emulator;
}
