/** The admin routes under `/_emulator/`: the clock, faults and the record, for those who drive an emulator by HTTP. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from './control-plane/body.ts';
import { isObject } from './control-plane/constraints.ts';
import type { JsonObject } from './control-plane/constraints.ts';
import type { Emulator } from './emulator.ts';
import { faultKinds } from './faults.ts';
import type { Fault, FaultKind, RandomFaults } from './faults.ts';
import type { RecordedOperation } from './recorder.ts';
import { recordedOperations } from './recorder.ts';
import { buildFailures } from './service/build-failures.ts';
import type { BuildFailure } from './service/build-failures.ts';

/** Where the routes begin. */
export const adminPrefix = '/_emulator/';

/** The header that carries the emulator's token. */
export const adminHeader = 'x-emulator-token';

/** What was asked wrongly; its text is the answer. */
class BadRequest extends Error {}

function member<T>(body: JsonObject, name: string, is: (value: unknown) => value is T, what: string): T {
  const value = body[name];
  if (!is(value)) throw new BadRequest(`'${name}' has to be ${what}.`);
  return value;
}

function optional<T>(body: JsonObject, name: string, is: (value: unknown) => value is T, what: string): T | undefined {
  return body[name] === undefined || body[name] === null ? undefined : member(body, name, is, what);
}

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const isText = (value: unknown): value is string => typeof value === 'string';
const isKind = (value: unknown): value is FaultKind => (faultKinds as readonly unknown[]).includes(value);
const isFailure = (value: unknown): value is BuildFailure => (buildFailures as readonly unknown[]).includes(value);
const isGeneration = (value: unknown): value is '3' | '4' => value === '3' || value === '4';
const isOperation = (value: unknown): value is RecordedOperation | '*' =>
  value === '*' || (recordedOperations as readonly unknown[]).includes(value);
const isList =
  <T>(is: (value: unknown) => value is T) =>
  (value: unknown): value is readonly T[] =>
    Array.isArray(value) && value.every(is);

/** Leaves out what is undefined. */
function present<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}

function readFault(body: JsonObject): Fault {
  const times = body['times'] === 'always' ? Infinity : optional(body, 'times', isCount, "a count or 'always'");
  return present({
    kind: member(body, 'kind', isKind, `one of ${faultKinds.join(', ')}`),
    operation: member(body, 'operation', isOperation, "an operation, 'Endpoint' or '*'"),
    times,
    after: optional(body, 'after', isCount, 'a count'),
    microvmId: optional(body, 'microvmId', isText, 'an id'),
    delayMs: optional(body, 'delayMs', isCount, 'milliseconds'),
    retryAfterSec: optional(body, 'retryAfterSec', isCount, 'seconds'),
  } as Fault);
}

function readRandomFaults(body: JsonObject): RandomFaults {
  return present({
    seed: member(body, 'seed', isCount, 'a number'),
    rate: member(body, 'rate', isCount, 'a share between 0 and 1'),
    kinds: optional(body, 'kinds', isList(isKind), 'a list of kinds'),
    operations: optional(body, 'operations', isList(isOperation), 'a list of operations'),
  } as RandomFaults);
}

/** The faults as they are added by HTTP: JSON knows no infinity. */
function pendingOf({ faults }: Emulator) {
  return faults.pending.map((fault) => (fault.times === Infinity ? { ...fault, times: 'always' } : fault));
}

function status(emulator: Emulator) {
  return { wallNow: emulator.clock.wallNow(), notice: emulator.notice, microvms: emulator.vms() };
}

/** Does what the library would do; what that refuses is the caller's mistake. */
async function refusing(act: () => unknown): Promise<void> {
  try {
    await act();
  } catch (error) {
    throw error instanceof TypeError ? new BadRequest(error.message) : error;
  }
}

type AdminRoute = (emulator: Emulator, body: JsonObject) => unknown;

const routes: Readonly<Record<string, AdminRoute>> = {
  'GET state': status,
  'POST clock/advance': async (emulator, body) => {
    await refusing(() => emulator.advance(member(body, 'ms', isCount, 'milliseconds')));
    return status(emulator);
  },
  'GET faults': (emulator) => ({ pending: pendingOf(emulator) }),
  'POST faults': async (emulator, body) => {
    await refusing(() => emulator.faults.add(readFault(body)));
    return { pending: pendingOf(emulator) };
  },
  'POST faults/random': async (emulator, body) => {
    await refusing(() => emulator.faults.random(readRandomFaults(body)));
    return {};
  },
  'DELETE faults': (emulator) => {
    emulator.faults.clear();
    return {};
  },
  'POST builds/fail': (emulator, body) => {
    const failure = member(body, 'failure', isFailure, `one of ${buildFailures.join(', ')}`);
    const chipsetGeneration = optional(body, 'chipsetGeneration', isGeneration, "'3' or '4'");
    emulator.builds.failNext(failure, present({ chipsetGeneration } as { chipsetGeneration?: '3' | '4' }));
    return {};
  },
  'GET requests': ({ recorder }) => ({
    requests: recorder.requests,
    counts: Object.fromEntries(
      recordedOperations.map((name) => [name, recorder.count(name)] as const).filter(([, count]) => count > 0),
    ),
  }),
  'DELETE requests': (emulator) => {
    emulator.recorder.clear();
    return {};
  },
};

function allowed(emulator: Emulator, request: IncomingMessage): boolean {
  // A page that a browser was tricked into loading comes with another host name, and without the token.
  const { port } = new URL(emulator.endpoint);
  if (!['127.0.0.1', 'localhost'].map((name) => `${name}:${port}`).includes(request.headers.host ?? '')) return false;
  const given = request.headers[adminHeader];
  const [left, right] = [Buffer.from(typeof given === 'string' ? given : ''), Buffer.from(emulator.adminToken)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function parse(body: Buffer | null): JsonObject {
  if (body === null) throw new BadRequest('The body is too large.');
  if (body.length === 0) return {};
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (isObject(value)) return value;
  } catch {
    // Falls through to the one sentence.
  }
  throw new BadRequest('The body has to be a JSON object.');
}

/** Serves one admin request. */
export async function serveAdmin(
  emulator: Emulator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (code: number, body: unknown) => {
    response.writeHead(code, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify(body));
  };
  if (!allowed(emulator, request)) {
    request.resume();
    send(403, { message: `The header ${adminHeader} has to carry the emulator's token.` });
    return;
  }
  const [path = ''] = (request.url ?? '').slice(adminPrefix.length).split('?', 1);
  const name = `${request.method ?? ''} ${path}`;
  const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
  try {
    const body = parse(await readBody(request, 1024 * 1024));
    if (route === undefined) send(404, { message: `There is no ${name}.`, routes: Object.keys(routes) });
    else send(200, await route(emulator, body));
  } catch (error) {
    if (error instanceof BadRequest) send(400, { message: error.message });
    else throw error;
  }
}
