/** A VM's inside that is only a few lines: enough to test what is around it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Guest, GuestFactory, HookName } from '../../adapters/emulator/guest.ts';

export interface FakeGuest extends Guest {
  readonly microvmId: string;
  readonly hooks: { readonly name: HookName; readonly body: unknown }[];
  frozen: boolean;
  destroyed: boolean;
  exit(code: number): void;
}

export interface FakeGuests extends GuestFactory {
  readonly guests: FakeGuest[];
  /** The status that a hook answers; `null` never answers. */
  readonly answers: Partial<Record<HookName, number | null>>;
  /** What the daemon's port serves. */
  serve: (request: IncomingMessage, response: ServerResponse) => void;
  /** Makes the next creation fail. */
  failCreate: string | null;
}

export function fakeGuests(): FakeGuests {
  const guests: FakeGuest[] = [];
  const factory: FakeGuests = {
    notice: 'Fake VMs.',
    guests,
    answers: {},
    failCreate: null,
    serve(request, response) {
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ method: request.method, url: request.url, headers: request.headers, raw: request.rawHeaders }),
      );
    },
    async create({ microvmId }) {
      if (factory.failCreate !== null) throw new Error(factory.failCreate);
      const listeners: ((code: number) => void)[] = [];
      const sockets = new WebSocketServer({
        noServer: true,
        handleProtocols: (offered) => (offered.has('p1') ? 'p1' : false),
      });
      const guest: FakeGuest = {
        microvmId,
        daemonPort: 9000,
        hooks: [],
        frozen: false,
        destroyed: false,
        async hook(name, body) {
          guest.hooks.push({ name, body });
          const status = factory.answers[name];
          if (status === null) return await new Promise(() => {});
          return { status: status ?? 200 };
        },
        handle: (request, response) => factory.serve(request, response),
        upgrade(request, socket: Duplex, head) {
          sockets.handleUpgrade(request, socket, head, (ws) => {
            ws.send(JSON.stringify({ offered: request.headers['sec-websocket-protocol'] ?? null }));
            ws.on('message', (data, binary) => ws.send(data, { binary }));
          });
        },
        async freeze() {
          guest.frozen = true;
        },
        async thaw() {
          guest.frozen = false;
        },
        async destroy() {
          guest.destroyed = true;
        },
        onExit: (listener) => void listeners.push(listener),
        exit: (code) => {
          for (const listener of listeners) listener(code);
        },
      };
      guests.push(guest);
      return guest;
    },
    async close() {
      for (const guest of guests) guest.destroyed = true;
    },
  };
  return factory;
}
