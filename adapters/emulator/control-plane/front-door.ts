/** The control plane's HTTP front: from raw requests to operations and back (`control-plane-api.md` 2, 10). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EmulatorContext } from '../context.ts';
import type { Fault } from '../faults.ts';
import { redact } from '../recorder.ts';
import type { RecordedRequest } from '../recorder.ts';
import { Region } from '../service/region.ts';
import { readBody } from './body.ts';
import type { Answer, Operation } from './call.ts';
import { isObject, UnreadableBody } from './constraints.ts';
import type { JsonObject } from './constraints.ts';
import { emptyBody, garbageBody, gatewayPage, refusalOf } from './fault-answers.ts';
import type { RateLimit } from './limits.ts';
import { findRoute, readQuery } from './routes.ts';
import type { OperationName, Route } from './routes.ts';
import { ServiceError } from './service-error.ts';
import { scopeRegion } from './signatures.ts';
import type { SignatureCheck } from './signatures.ts';

/** What the front needs. */
export interface FrontDoor {
  readonly context: EmulatorContext;
  readonly operations: ReadonlyMap<OperationName, Operation>;
  readonly regions: Map<string, Region>;
  readonly limit: RateLimit;
  /** Null: signatures are not checked. Loaded with the first request. */
  readonly checkSignature: (() => Promise<SignatureCheck>) | null;
}

/** What goes out. */
interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const json = (status: number, body: object | null, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: body === null ? '' : JSON.stringify(body),
});

const html = (status: number, body: string): Reply => ({ status, headers: { 'content-type': 'text/html' }, body });

const unknownRoute = html(404, '<html><head><title>404 Not Found</title></head><body>404 Not Found</body></html>\r\n');

function refusalReply(error: unknown, unseenTexts: 'plausible' | 'absent'): Reply {
  if (error instanceof ServiceError) {
    const headers: Record<string, string> = { 'x-amzn-errortype': error.name };
    if (error.unseen && unseenTexts === 'absent') return json(error.status, error.toBody(null), headers);
    if (error.retryAfterSec !== null) headers['retry-after'] = String(error.retryAfterSec);
    return json(error.status, error.toBody(), headers);
  }
  // The gateway names no error here, so that the official client calls it `Unknown`.
  if (error instanceof UnreadableBody) return json(400, error.body);
  const fault = new ServiceError('InternalServerException', 'The emulator failed in this request.');
  return json(500, fault.toBody(), { 'x-amzn-errortype': fault.name });
}

/** No request of the service nests as deep; what recurses over a body may rely on it. */
const deepestBody = 64;

/** Goes level by level: recursion is what it guards against. */
function isDeeperThan(value: object, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > most) return true;
    level = level.flatMap((entry) => (typeof entry === 'object' && entry !== null ? Object.values(entry) : []));
  }
  return false;
}

function parseBody(body: Buffer): JsonObject {
  if (body.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new UnreadableBody();
  }
  if (!isObject(value) || isDeeperThan(value, deepestBody)) throw new UnreadableBody();
  return value;
}

/** The region by its name, made when it is first named. */
export function regionOf(door: Pick<FrontDoor, 'regions' | 'context'>, name: string): Region {
  const known = door.regions.get(name);
  if (known !== undefined) return known;
  const region = new Region(name, door.context);
  door.regions.set(name, region);
  return region;
}

/** A name that can be a region's. */
const regionName = /^[a-z]{2,}(-[a-z]+)+-\d+$/;

async function perform(
  door: FrontDoor,
  request: IncomingMessage,
  route: Route | null,
  rawPath: string,
  rawQuery: string,
  body: Buffer,
  fault: Fault | null,
): Promise<Reply> {
  const { context } = door;
  if (route === null) return unknownRoute;
  const query = readQuery(rawQuery);
  if (query === null) throw new UnreadableBody();
  if (door.checkSignature !== null) {
    const check = await door.checkSignature();
    await check({ method: request.method ?? '', rawPath, query, headers: request.headers, body });
  }
  const name = scopeRegion(request.headers.authorization) ?? context.options.region;
  if (!regionName.test(name) || context.options.unsupportedRegions.has(name)) {
    throw new ServiceError('AccessDeniedException', null);
  }
  const refusal = fault === null ? null : refusalOf(fault, route.labels[0] ?? null);
  if (refusal !== null) throw refusal;
  door.limit(name, route.operation);
  const operation = door.operations.get(route.operation);
  if (operation === undefined) return unknownRoute;
  const { operation: operationName, labels } = route;
  const region = regionOf(door, name);
  const call = { context, region, operation: operationName, labels, query, body: parseBody(body) };
  const answer: Answer = await operation(call);
  const replaced = fault?.kind === 'garbage' ? garbageBody : fault?.kind === 'empty' ? emptyBody : null;
  if (replaced !== null) return { ...json(200, null), body: replaced };
  return json(answer.status ?? 200, answer.body);
}

function breakConnection(request: IncomingMessage, recorded: RecordedRequest): void {
  recorded.status = null;
  request.socket.destroy();
}

function send(response: ServerResponse, reply: Reply, requestId: string): void {
  if (response.destroyed) return;
  const headers: Record<string, string | number> = { ...reply.headers, 'x-amzn-requestid': requestId };
  if (reply.status === 204) delete headers['content-type'];
  else headers['content-length'] = Buffer.byteLength(reply.body);
  response.writeHead(reply.status, headers);
  response.end(reply.status === 204 ? undefined : reply.body);
}

/** A decoded body for the record, without secrets. */
function recordable(body: Buffer): unknown {
  try {
    return body.length === 0 ? null : redact(JSON.parse(body.toString('utf8')));
  } catch {
    return null;
  }
}

/** Serves one request on the control plane. Never throws: whatever happens becomes an answer. */
export async function serveControlPlane(
  door: FrontDoor,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { context } = door;
  const { recorder, faults } = context;
  const requestId = context.ids.uuid();
  const [rawPath = '/', rawQuery = ''] = (request.url ?? '/').split('?', 2);
  const route = findRoute(request.method ?? '', rawPath);
  const microvmId = route !== null && rawPath.includes('/microvms/') ? (route.labels[0] ?? null) : null;
  const body = await readBody(request, context.options.maxBodyBytes);
  const received: RecordedRequest = {
    operation: route?.operation ?? 'Unknown',
    method: request.method ?? '',
    path: request.url ?? '/',
    body: body === null ? null : recordable(body),
    region: scopeRegion(request.headers.authorization),
    microvmId,
    at: context.clock.now(),
    requestId,
    fault: null,
    status: null,
  };
  const recorded = recorder.record(received, body?.length);
  const fault = route === null ? null : faults.take(route.operation, microvmId);
  recorded.fault = fault?.kind ?? null;
  if (fault?.kind === 'lost-request') return breakConnection(request, recorded);

  let reply: Reply;
  if (body === null) {
    reply = json(413, { message: 'Request size limit exceeded' }, { connection: 'close' });
  } else if (fault?.kind === 'gateway') {
    reply = html(502, gatewayPage);
  } else if (fault?.kind === 'unavailable') {
    reply = html(503, '');
  } else {
    try {
      reply = await perform(door, request, route, rawPath, rawQuery, body, fault);
    } catch (error) {
      reply = refusalReply(error, context.options.unverified.unseenTexts);
    }
  }
  recorded.status = reply.status;
  if (fault?.kind === 'lost-answer') return breakConnection(request, recorded);
  if (fault?.kind === 'delay') await context.clock.sleep(fault.delayMs ?? 1000, context.closing);
  send(response, reply, requestId);
}
