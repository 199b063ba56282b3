/** The emulator's main port: the control plane, the admin routes, and endpoints by their bare host. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { takeUpgrades } from '../upgrades.ts';
import { adminPrefix, serveAdmin } from './admin.ts';
import { serveControlPlane } from './control-plane/front-door.ts';
import type { FrontDoor } from './control-plane/front-door.ts';
import { declineUpgrade, wantsWebSocket } from './declined-upgrade.ts';
import type { Emulator } from './emulator.ts';
import { hardenServer } from './loopback-server.ts';
import { unknownHost } from './proxy/denials.ts';
import { sendDenial, sendUpgradeDenial, serveEndpoint, serveUpgrade } from './proxy/endpoint.ts';
import type { Microvm } from './service/microvm.ts';

/** A listening server. */
export interface MainServer {
  readonly endpoint: string;
  /** Stops listening and breaks every connection. */
  close(): Promise<void>;
}

/** The host of a request without its port. */
function hostOf({ headers }: IncomingMessage): string {
  return (headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
}

/** Whether a host is that of an endpoint, of a VM that exists or not. */
function isEndpointHost(host: string): boolean {
  return /\.lambda-microvm\.[a-z0-9-]+\.on\.aws$/.test(host);
}

/** Listens on 127.0.0.1; rejects when the port cannot be had. `emulator` is asked only by admin requests. */
export async function openMainServer(door: FrontDoor, port: number, emulator: () => Emulator): Promise<MainServer> {
  const { context } = door;
  const microvmOf = (request: IncomingMessage): Microvm | null => context.endpoints.find(hostOf(request));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith(adminPrefix) === true) return await serveAdmin(emulator(), request, response);
    if (!isEndpointHost(hostOf(request))) return await serveControlPlane(door, request, response);
    const microvm = microvmOf(request);
    if (microvm !== null) return await serveEndpoint(context, microvm, request, response);
    request.resume();
    sendDenial(context, response, unknownHost, context.ids.uuid());
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (!wantsWebSocket(request)) return declineUpgrade(request, socket, (response) => serve(request, response));
    const microvm = microvmOf(request);
    if (microvm === null) return sendUpgradeDenial(context, socket, unknownHost, context.ids.uuid());
    await serveUpgrade(context, microvm, request, socket, head);
  }

  const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const endUpgraded = takeUpgrades(server, upgrade);
  // Calls are small and come at once; only what goes through to a guest may take its time.
  hardenServer(server, { requestTimeoutMs: context.options.endpointForm === 'bare-host' ? 0 : 60_000 });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        endUpgraded();
      }),
  };
}
