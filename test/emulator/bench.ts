/** An emulator for one test: fake VMs, a manual clock, unsigned calls, and plain words for the calls. */
import { request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startEmulator } from '../../adapters/emulator/index.ts';
import type { Emulator, EmulatorOptions } from '../../adapters/emulator/index.ts';
import { fakeGuests } from './fake-guest.ts';
import type { FakeGuests } from './fake-guest.ts';

export interface Reply {
  readonly status: number;
  /** The name of the error, from the header. */
  readonly error: string | null;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The decoded body; null when it is no JSON. */
  readonly json: any; // oxlint-disable-line typescript/no-explicit-any -- tests look at whatever came
}

/** Sends one request exactly as written and reads the answer to its end. */
export function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const base = new URL(url);
    const request = httpRequest(
      {
        host: base.hostname,
        port: base.port,
        // Not through URL, which would tidy the path.
        path: url.slice(base.origin.length) || '/',
        method: options.method ?? 'GET',
        headers: options.headers ?? {},
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          let json: unknown = null;
          try {
            json = JSON.parse(text);
          } catch {
            // Not JSON, then.
          }
          const error = response.headers['x-amzn-errortype'];
          resolve({
            status: response.statusCode ?? 0,
            error: typeof error === 'string' ? error : null,
            headers: response.headers,
            text,
            json,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(options.body);
  });
}

export class Bench implements AsyncDisposable {
  readonly emulator: Emulator;
  readonly guests: FakeGuests;

  constructor(emulator: Emulator, guests: FakeGuests) {
    this.emulator = emulator;
    this.guests = guests;
  }

  call(method: string, path: string, body?: object): Promise<Reply> {
    return send(`${this.emulator.endpoint}/2025-09-09${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  }

  /** Launches, and fails the test when the launch is refused. */
  async run(more: object = {}): Promise<string> {
    const reply = await this.call('POST', '/microvms', { imageIdentifier: this.emulator.imageArn, ...more });
    if (reply.status !== 200) throw new Error(`RunMicrovm answered ${reply.status}: ${reply.text}`);
    return reply.json.microvmId as string;
  }

  /** Launches and waits for RUNNING. */
  async runToRunning(more: object = {}): Promise<string> {
    const id = await this.run(more);
    await this.emulator.advance(100);
    return id;
  }

  get(id: string): Promise<Reply> {
    return this.call('GET', `/microvms/${id}`);
  }

  async state(id: string): Promise<string> {
    return (await this.get(id)).json.state as string;
  }

  suspend(id: string): Promise<Reply> {
    return this.call('POST', `/microvms/${id}/suspend`);
  }

  resume(id: string): Promise<Reply> {
    return this.call('POST', `/microvms/${id}/resume`);
  }

  terminate(id: string): Promise<Reply> {
    return this.call('DELETE', `/microvms/${id}`);
  }

  async token(id: string, allowedPorts: object[] = [{ allPorts: {} }], expirationInMinutes = 60): Promise<string> {
    const reply = await this.call('POST', `/microvms/${id}/auth-token`, { allowedPorts, expirationInMinutes });
    if (reply.status !== 200) throw new Error(`CreateMicrovmAuthToken answered ${reply.status}: ${reply.text}`);
    return reply.json.authToken['X-aws-proxy-auth'] as string;
  }

  endpoint(id: string): string {
    return this.emulator.vms().find(({ microvmId }) => microvmId === id)?.endpoint ?? '';
  }

  /** A request to the daemon through the endpoint, with a fresh token. */
  async through(id: string, path = '/', token?: string): Promise<Reply> {
    return send(`${this.endpoint(id)}${path}`, {
      headers: { 'x-aws-proxy-auth': token ?? (await this.token(id)), 'x-aws-proxy-port': '9000' },
    });
  }

  guest(id: string) {
    const guest = this.guests.guests.find(({ microvmId }) => microvmId === id);
    if (guest === undefined) throw new Error(`There is no guest of ${id}.`);
    return guest;
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.emulator.close();
  }
}

/** Starts one. */
export async function bench(options: EmulatorOptions = {}): Promise<Bench> {
  const guests = fakeGuests();
  const emulator = await startEmulator({ guests, clock: 'manual', verifySignatures: false, ...options });
  return new Bench(emulator, guests);
}

/** A policy as requests have it. */
export function policy(maxIdle: number, window: number, autoResumeEnabled: boolean): object {
  return {
    idlePolicy: { maxIdleDurationSeconds: maxIdle, suspendedDurationSeconds: window, autoResumeEnabled },
  };
}

/** Lets a server listen on a free loopback port. */
export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}
