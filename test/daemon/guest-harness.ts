/** A VM of the emulator behind a loopback server, as the endpoint proxy would put it. */
import { createServer, request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createProcessGuests } from '../../adapters/emulator/guest/index.ts';
import type { ProcessGuestsOptions } from '../../adapters/emulator/guest/index.ts';
import type { Guest } from '../../adapters/emulator/guest.ts';

export const token = 'a1'.repeat(32);

/** An answer read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  json(): Record<string, unknown>;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly json?: unknown;
  /** `null`: none. */
  readonly bearer?: string | null;
}

export interface Harness {
  readonly guest: Guest;
  readonly notice: string;
  readonly port: number;
  readonly origin: string;
  call(path: string, options?: CallOptions): Promise<Answer>;
  /** Starts a command, waits for its result and acknowledges it. */
  run(command: string, more?: Record<string, unknown>): Promise<Record<string, unknown>>;
  exited(execId: string): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

const poll = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until something is there, looking often; fails loudly after ten seconds. */
export async function eventually<T>(
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
): Promise<T> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    await poll(5);
  }
  throw new Error('it never happened');
}

/** Sends one request and reads the answer. */
export function send(port: number, path: string, options: CallOptions = {}): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers };
  const bearer = options.bearer === undefined ? token : options.bearer;
  if (bearer !== null) headers['authorization'] = `Bearer ${bearer}`;
  let body = options.body;
  if (options.json !== undefined) {
    body = JSON.stringify(options.json);
    headers['content-type'] = 'application/json';
  }
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  if (body !== undefined && headers['transfer-encoding'] === undefined) {
    headers['content-length'] ??= String(Buffer.byteLength(body));
  }
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: bytes,
          text: bytes.toString('utf8'),
          json: () => JSON.parse(bytes.toString('utf8')) as Record<string, unknown>,
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

let ids = 0;

/** A VM with its server. `bootstrap: false` leaves out the run hook. */
export async function startGuest(
  options: ProcessGuestsOptions & {
    readonly environment?: Record<string, string>;
    readonly payload?: Record<string, unknown>;
    readonly bootstrap?: boolean;
  } = {},
): Promise<Harness> {
  const factory = createProcessGuests(options);
  const guest = await factory.create({ microvmId: 'microvm-test', environment: options.environment ?? {} });
  const server = createServer((request, response) => guest.handle(request, response));
  server.on('upgrade', (request, socket, head) => guest.upgrade(request, socket, head));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  if (options.bootstrap !== false) {
    const payload = JSON.stringify({ agent_token: token, ...options.payload });
    await guest.hook('run', { microvmId: 'microvm-test', runHookPayload: payload });
  }
  const call = (path: string, more?: CallOptions) => send(port, path, more);
  const exited = (execId: string) =>
    eventually(async () => {
      const answer = (await call(`/v1/exec/${execId}`)).json();
      return answer['phase'] === 'exited' && answer;
    });
  return {
    guest,
    notice: factory.notice,
    port,
    origin: `http://127.0.0.1:${port}`,
    call,
    exited,
    async run(command, more = {}) {
      const exec_id = `x-${(ids += 1)}`;
      const started = await call('/v1/exec/start', { json: { exec_id, command: [command], shell: true, ...more } });
      if (started.status !== 200) throw new Error(`start answered ${started.status} ${started.text}`);
      await exited(exec_id);
      return (await call(`/v1/exec/${exec_id}/ack`, { method: 'POST' })).json();
    },
    async close() {
      await factory.close();
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
