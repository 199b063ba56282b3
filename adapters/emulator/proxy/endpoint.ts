/** The endpoint of a VM: gate, state, then the way inside. */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EmulatorContext } from '../context.ts';
import type { Microvm } from '../service/microvm.ts';
import { denialHeaders, nobodyListens, unreachable } from './denials.ts';
import type { Denial } from './denials.ts';
import { forward } from './forward.ts';
import { checkGate } from './gate.ts';
import { forwardUpgrade } from './upgrade.ts';
import { connectUpstream } from './upstream.ts';

/** Answers a request with a refusal. */
export function sendDenial(response: ServerResponse, denial: Denial, requestId: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(denial.status, denialHeaders(denial, requestId));
  response.end(denial.text);
}

/** Answers an upgrade with a refusal and ends the connection. */
export function sendUpgradeDenial(socket: Duplex, denial: Denial, requestId: string): void {
  if (socket.destroyed) return;
  const headers = { ...denialHeaders(denial, requestId), connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${denial.status} ${STATUS_CODES[denial.status] ?? ''}\r\n${lines.join('')}\r\n${denial.text}`);
}

/** A way inside: the guest's port, or why there is none. */
async function open(
  context: EmulatorContext,
  microvm: Microvm,
  request: IncomingMessage,
  upgrading: boolean,
): Promise<{ upstream: Duplex } | { denial: Denial }> {
  const verdict = checkGate(request, microvm, context.tokens, upgrading);
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

/** Serves one request to the VM. */
export async function serveEndpoint(
  context: EmulatorContext,
  microvm: Microvm,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = context.ids.uuid();
  const way = await open(context, microvm, request, false);
  if ('denial' in way) {
    request.resume();
    sendDenial(response, way.denial, requestId);
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
    deny: (denial) => sendDenial(response, denial, requestId),
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
  const requestId = context.ids.uuid();
  socket.on('error', () => socket.destroy());
  const way = await open(context, microvm, request, true);
  if ('denial' in way) {
    sendUpgradeDenial(socket, way.denial, requestId);
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
    deny: (denial) => sendUpgradeDenial(socket, denial, requestId),
  });
  socket.on('close', microvm.track({ destroy: breakOff }));
}
