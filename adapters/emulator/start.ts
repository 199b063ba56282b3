/** Puts an emulator together and starts it. */
import { systemEntropy } from '../entropy.ts';
import { makeBuildFailures } from './build-failure-queue.ts';
import { makeChangeSource } from './change-feed.ts';
import { makeClock } from './clocks.ts';
import { resolveOptions } from './context.ts';
import type { EmulatorContext } from './context.ts';
import { regionOf } from './control-plane/front-door.ts';
import type { FrontDoor } from './control-plane/front-door.ts';
import { makeRateLimit } from './control-plane/limits.ts';
import { operations } from './control-plane/operations/index.ts';
import type { SignatureCheck } from './control-plane/signatures.ts';
import type { EmulatedMicrovm, Emulator } from './emulator.ts';
import { makeFaults } from './faults.ts';
import type { GuestFactory } from './guest.ts';
import { makeIds } from './ids.ts';
import { moveClock } from './moving.ts';
import type { EmulatorOptions } from './options.ts';
import { makeEndpointServers } from './proxy/endpoint-servers.ts';
import { makeProxyTokens } from './proxy/proxy-tokens.ts';
import { makeRecorder } from './recorder.ts';
import { openMainServer } from './server.ts';
import type { Microvm } from './service/microvm.ts';
import type { Region } from './service/region.ts';
import { makeWork } from './work.ts';

async function defaultGuests(): Promise<GuestFactory> {
  const { createProcessGuests } = await import('./guest/index.ts');
  return createProcessGuests();
}

async function makeContext(options: EmulatorOptions, closing: AbortSignal): Promise<EmulatorContext> {
  const resolved = resolveOptions(options);
  const clock = makeClock(options.clock ?? 'real', options.clockRate ?? 60);
  const ids = makeIds(options.entropy ?? systemEntropy());
  return {
    options: resolved,
    clock,
    ids,
    closing,
    work: makeWork(),
    guests: options.guests ?? (await defaultGuests()),
    changes: makeChangeSource(),
    tokens: makeProxyTokens(clock, ids),
    endpoints: makeEndpointServers(resolved.endedEndpointsKept),
    buildFailures: makeBuildFailures(),
    faults: makeFaults(),
    recorder: makeRecorder(options.recordedRequests ?? 10_000),
  };
}

/** Signatures are checked by a library that is only loaded for the first request. */
function lazySignatureCheck({ options, clock }: EmulatorContext, clockIsReal: boolean): () => Promise<SignatureCheck> {
  let check: Promise<SignatureCheck> | null = null;
  return () => {
    check ??= import('./control-plane/signatures.ts').then(({ makeSignatureCheck }) =>
      makeSignatureCheck(options.credentials, clockIsReal ? () => clock.wallNow() : null),
    );
    return check;
  };
}

function describe(microvm: Microvm, region: Region): EmulatedMicrovm {
  const { facts, state, nextDeadline } = microvm;
  return {
    microvmId: facts.microvmId,
    state,
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

function environmentOf({ options }: EmulatorContext, endpoint: string): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = options.credentials;
  return {
    AWS_ENDPOINT_URL_LAMBDA_MICROVMS: endpoint,
    AWS_REGION: options.region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken === undefined ? {} : { AWS_SESSION_TOKEN: sessionToken }),
  };
}

/** Starts an emulator; see `startEmulator`. */
export async function start(options: EmulatorOptions): Promise<Emulator> {
  const closing = new AbortController();
  const context = await makeContext(options, closing.signal);
  const { clock, work, guests } = context;
  const regions = new Map<string, Region>();
  const door: FrontDoor = {
    context,
    operations,
    regions,
    limit: makeRateLimit(clock, context.options.limits),
    checkSignature: context.options.verifySignatures
      ? lazySignatureCheck(context, (options.clock ?? 'real') === 'real')
      : null,
  };
  const home = regionOf(door, context.options.region);
  const server = await openMainServer(door, options.port ?? 0, () => emulator).catch(async (error: unknown) => {
    await guests.close();
    throw error;
  });

  const microvms = (): [Microvm, Region][] =>
    [...regions.values()].flatMap((region) =>
      [...region.microvms.values()].map((microvm): [Microvm, Region] => [microvm, region]),
    );
  const nextDeadline = () => Math.min(...microvms().map(([microvm]) => microvm.nextDeadline ?? Infinity));

  let closed: Promise<void> | null = null;
  async function close(): Promise<void> {
    closing.abort();
    for (const [microvm] of microvms()) microvm.close();
    await Promise.all([server.close(), context.endpoints.close(), guests.close()]);
    context.changes.close();
  }

  const emulator: Emulator = {
    endpoint: server.endpoint,
    region: context.options.region,
    credentials: context.options.credentials,
    imageArn: home.imageArn(context.options.imageName),
    notice: guests.notice,
    clock,
    faults: context.faults,
    builds: context.buildFailures,
    recorder: context.recorder,
    events: context.changes.feed,
    adminToken: context.ids.bytes(24).toString('base64url'),
    vms: () => microvms().map(([microvm, region]) => describe(microvm, region)),
    advance: (ms) => moveClock(clock, ms, nextDeadline, work),
    environment: () => environmentOf(context, server.endpoint),
    close: () => (closed ??= close()),
    [Symbol.asyncDispose]: () => (closed ??= close()),
  };
  return emulator;
}
