/** The endpoint of a VM: gate, state, then the way inside. */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { refuseUpgrade } from '../../upgrades.ts';
import type { EmulatorContext } from '../context.ts';
import type { Fault, FaultKind } from '../faults.ts';
import type { RecordedRequest } from '../recorder.ts';
import type { Microvm } from '../service/microvm.ts';
import { asSeen, denialHeaders, nobodyListens, unreachable } from './denials.ts';
import type { Denial } from './denials.ts';
import { faultBody, faultDenial } from './endpoint-faults.ts';
import { forward } from './forward.ts';
import { checkGate } from './gate.ts';
import { forwardUpgrade } from './upgrade.ts';
import { connectUpstream } from './upstream.ts';

/** A refusal as it goes out: what nobody has seen of it can be switched off. */
function worded({ options }: EmulatorContext, denial: Denial): Denial {
  return options.unverified.unseenTexts === 'absent' ? asSeen(denial) : denial;
}

/** Answers a request with a refusal. */
export function sendDenial(
  context: EmulatorContext,
  response: ServerResponse,
  refusal: Denial,
  requestId: string,
): void {
  if (response.headersSent || response.destroyed) return;
  const denial = worded(context, refusal);
  response.writeHead(denial.status, denialHeaders(denial, requestId));
  response.end(denial.text);
}

/** Answers an upgrade with a refusal and ends the connection. */
export function sendUpgradeDenial(context: EmulatorContext, socket: Duplex, refusal: Denial, requestId: string): void {
  if (socket.destroyed) return;
  const denial = worded(context, refusal);
  const headers = { ...denialHeaders(denial, requestId), connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  refuseUpgrade(
    socket,
    `HTTP/1.1 ${denial.status} ${STATUS_CODES[denial.status] ?? ''}\r\n${lines.join('')}\r\n${denial.text}`,
  );
}

/** A way inside: a connection to the guest's port, or why there is none. */
async function open(
  context: EmulatorContext,
  microvm: Microvm,
  request: IncomingMessage,
  upgrading: boolean,
): Promise<{ upstream: Duplex } | { denial: Denial }> {
  const { tokenBeforePort } = context.options.unverified;
  const verdict = checkGate(request, microvm, context.tokens, { upgrading, tokenBeforePort });
  if ('denial' in verdict) {
    microvm.deny();
    return verdict;
  }
  if (!(await microvm.admit())) return { denial: unreachable };
  const guest = await microvm.guest;
  const { appReadyDelayMs } = context.options.delays;
  if (context.clock.now() < microvm.startedAt + appReadyDelayMs) return { denial: nobodyListens };
  return { upstream: connectUpstream(guest, verdict.port) };
}

/** A request in the record, and the fault that hits it. */
interface Arrival {
  readonly requestId: string;
  readonly fault: Fault | null;
  readonly recorded: RecordedRequest;
}

/** Puts a request into the record and lets its fault delay it; null when the fault breaks the connection. */
async function arrive(
  context: EmulatorContext,
  microvm: Microvm,
  request: IncomingMessage,
  breaking: readonly FaultKind[],
): Promise<Arrival | null> {
  const { microvmId } = microvm.facts;
  const requestId = context.ids.uuid();
  const fault = context.faults.take('Endpoint', microvmId);
  const recorded = context.recorder.record({
    operation: 'Endpoint',
    method: request.method ?? '',
    path: request.url ?? '/',
    body: null,
    region: null,
    microvmId,
    at: context.clock.now(),
    requestId,
    fault: fault?.kind ?? null,
    status: null,
  });
  if (fault !== null && breaking.includes(fault.kind)) {
    request.socket.destroy();
    return null;
  }
  if (fault?.kind === 'delay') await context.clock.sleep(fault.delayMs ?? 1000, context.closing);
  return { requestId, fault, recorded };
}

/** Serves one request to the VM. */
export async function serveEndpoint(
  context: EmulatorContext,
  microvm: Microvm,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const arrival = await arrive(context, microvm, request, ['lost-request']);
  if (arrival === null) return;
  const { requestId, fault, recorded } = arrival;
  const deny = (denial: Denial) => {
    recorded.status = denial.status;
    sendDenial(context, response, denial, requestId);
  };
  const faulty = faultDenial(fault);
  const way = faulty === null ? await open(context, microvm, request, false) : { denial: faulty };
  if ('denial' in way) {
    request.resume();
    deny(way.denial);
    return;
  }
  if (response.destroyed || request.socket.destroyed) {
    // The client left while the VM was waking up.
    way.upstream.destroy();
    return;
  }
  const breakOff = forward({
    request,
    response,
    upstream: way.upstream,
    requestId,
    onBytes: () => microvm.noteBytes(),
    onAnswer: (status) => {
      if (fault?.kind === 'lost-answer') return 'break';
      const body = faultBody(fault);
      recorded.status = body === null ? status : 200;
      return body === null ? 'pass' : { body };
    },
    deny,
  });
  response.on('close', microvm.track({ destroy: breakOff }));
}

/** Serves one upgrade to the VM. */
export async function serveUpgrade(
  context: EmulatorContext,
  microvm: Microvm,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const arrival = await arrive(context, microvm, request, ['lost-request', 'lost-answer']);
  if (arrival === null) return;
  const { requestId, fault, recorded } = arrival;
  const deny = (denial: Denial) => {
    recorded.status = denial.status;
    sendUpgradeDenial(context, socket, denial, requestId);
  };
  const replaced = faultBody(fault);
  // An answer with a body is no handshake, whatever the guest said.
  const faulty = replaced === null ? faultDenial(fault) : { status: 200, text: replaced, slug: null };
  const way = faulty === null ? await open(context, microvm, request, true) : { denial: faulty };
  if ('denial' in way) {
    deny(way.denial);
    return;
  }
  if (socket.destroyed) {
    way.upstream.destroy();
    return;
  }
  const breakOff = forwardUpgrade({
    request,
    socket,
    head,
    upstream: way.upstream,
    requestId,
    onBytes: () => microvm.noteBytes(),
    onAnswer: (status) => {
      recorded.status = status;
    },
    deny,
  });
  socket.on('close', microvm.track({ destroy: breakOff }));
}
