/** Where endpoints listen: a loopback port for each VM. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { takeUpgrades } from '../../upgrades.ts';
import { declineUpgrade, wantsWebSocket } from '../declined-upgrade.ts';
import { hardenServer } from '../loopback-server.ts';
import type { EmulatorContext } from '../context.ts';
import type { Microvm } from '../service/microvm.ts';
import { serveEndpoint, serveUpgrade } from './endpoint.ts';

/** Opens and closes endpoints. */
export interface EndpointServers {
  /** The VM with this bare host; null for a host that names none. */
  find(host: string): Microvm | null;
  /** Makes a VM known by its bare host, under which the control plane's port serves it. */
  register(microvm: Microvm): void;
  /** Listens for a VM on a port of its own; resolves to the URL. */
  open(context: EmulatorContext, microvm: Microvm): Promise<string>;
  /** The VM has ended. Its endpoint stays for a while, to answer 502, and is closed when many have ended. */
  ended(microvmId: string): void;
  /** Closes one endpoint at once. */
  discard(microvmId: string): void;
  /** How many endpoints listen. */
  readonly size: number;
  close(): Promise<void>;
}

/** A server, and how the connections that were upgraded are ended. */
interface Listening {
  readonly server: Server;
  readonly endUpgraded: () => void;
}

function closeServer({ server, endUpgraded }: Listening): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
    endUpgraded();
  });
}

/** Makes the set of endpoints; `keepEnded` of those whose VM has ended stay open. */
export function makeEndpointServers(keepEnded: number): EndpointServers {
  const servers = new Map<string, Listening>();
  const hosts = new Map<string, Microvm>();
  const ended: string[] = [];

  const discard = (microvmId: string) => {
    const server = servers.get(microvmId);
    servers.delete(microvmId);
    if (server !== undefined) void closeServer(server);
  };

  return {
    find: (host) => hosts.get(host) ?? null,
    register: (microvm) => void hosts.set(microvm.facts.endpointHost, microvm),
    get size() {
      return servers.size;
    },
    async open(context, microvm) {
      const server = createServer({ maxHeaderSize: 64 * 1024 }, (request, response) => {
        serveEndpoint(context, microvm, request, response).catch(() => response.destroy());
      });
      const endUpgraded = takeUpgrades(server, async (request, socket, head) => {
        if (wantsWebSocket(request)) return await serveUpgrade(context, microvm, request, socket, head);
        return declineUpgrade(request, socket, (response) => serveEndpoint(context, microvm, request, response));
      });
      hardenServer(server, { requestTimeoutMs: 0 });
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(0, '127.0.0.1', resolve);
      });
      servers.set(microvm.facts.microvmId, { server, endUpgraded });
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    ended(microvmId) {
      ended.push(microvmId);
      while (ended.length > keepEnded) discard(ended.shift() ?? '');
    },
    discard,
    async close() {
      const all = [...servers.values()];
      servers.clear();
      await Promise.all(all.map(closeServer));
    },
  };
}
