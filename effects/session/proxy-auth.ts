/** The proxy token behind its machine: mints inside the request path, and keeps the secret out of the machine. */
import { createActor, fromPromise } from 'xstate';
import type { Actor } from 'xstate';
import type { MintInput, MintOutcome } from '../../machines/index.ts';
import {
  defaultRefreshAfterMs,
  maxTokenLifetimeMs,
  proxyTokenMachine,
  tokenCovers,
} from '../../machines/proxy-token.ts';
import type { Clock } from '../ports.ts';
import { VmchartError, toVmchartError } from '../errors.ts';
import type { TokenMinter } from './token-minter.ts';

/** The header that carries the token. */
export const proxyAuthHeader = 'x-aws-proxy-auth';

/** The header that names the port. */
export const proxyPortHeader = 'x-aws-proxy-port';

/** The WebSocket subprotocol that the endpoint proxy answers with. */
export const proxySubprotocol = 'lambda-microvms';

/** What a {@link ProxyAuth} is made of. */
export interface ProxyAuthOptions {
  readonly minter: TokenMinter;
  readonly clock: Clock;
  /** The port of the daemon. Default 9000. */
  readonly port?: number;
  /** Age after which a token is minted anew, in milliseconds. Default half an hour, below one hour. */
  readonly refreshAfterMs?: number;
}

/** So many tokens are remembered as secrets: more than can be valid at one time. */
const rememberedSecrets = 32;

interface Waiter {
  readonly resolve: (headers: Readonly<Record<string, string>>) => void;
  readonly reject: (error: Error) => void;
}

/** Token headers for the endpoint proxy, minted once for all who ask at the same time (`client-behaviour.md` 4.4). */
export class ProxyAuth {
  readonly port: number;
  readonly #minter: TokenMinter;
  readonly #clock: Clock;
  readonly #actor: Actor<typeof proxyTokenMachine>;
  readonly #waiters = new Map<number, Waiter>();
  /** The secrets, by the number of their mint. */
  readonly #minted = new Map<number, Readonly<Record<string, string>>>();
  readonly #failures = new Map<number, VmchartError>();
  readonly #secrets = new Set<string>();
  #lastId = 0;

  /** @throws VmchartError `InvalidArg` when the refresh age is not below the service's ceiling. */
  constructor(options: ProxyAuthOptions) {
    const refreshAfterMs = options.refreshAfterMs ?? defaultRefreshAfterMs;
    if (!(refreshAfterMs >= 0) || refreshAfterMs >= maxTokenLifetimeMs) {
      throw new VmchartError(
        'InvalidArg',
        `A proxy token must be refreshed before the service's ceiling of ${maxTokenLifetimeMs / 1000} s; got ${refreshAfterMs / 1000} s.`,
      );
    }
    this.port = options.port ?? 9000;
    this.#minter = options.minter;
    this.#clock = options.clock;
    this.#actor = createActor(
      proxyTokenMachine.provide({
        actors: {
          mintToken: fromPromise<MintOutcome, MintInput>(({ input, signal }) => this.#mint(input, signal)),
        },
      }),
      { input: { sessionPort: this.port, refreshAfterMs } },
    );
    this.#actor.on('GRANTED', ({ ids, op }) => this.#grant(ids, op));
    this.#actor.on('DENIED', ({ ids, op }) => this.#deny(ids, op));
    this.#actor.start();
  }

  /** How many mints succeeded: the only trace that a refresh leaves. */
  get mintCount(): number {
    return this.#actor.getSnapshot().context.mintCount;
  }

  /** The tokens of the last mints, dropped ones too: what must not stand in a message. */
  get secrets(): string[] {
    return [...this.#secrets];
  }

  /** Whether a fresh token is held that covers the session's own port. */
  isCached(): boolean {
    return tokenCovers(this.#actor.getSnapshot().context, this.port, this.#clock.now());
  }

  /** Drops the token at once, as a resume does (STATE-8). */
  invalidate(): void {
    this.#actor.send({ type: 'INVALIDATE', at: this.#clock.now() });
  }

  /** The headers for a request to the daemon, names in lower case. */
  async headers(signal?: AbortSignal): Promise<Record<string, string>> {
    return { [proxyPortHeader]: String(this.port), ...(await this.#acquire(this.port, signal)) };
  }

  /** The headers for a request to another port of the VM: the port asked for always wins. */
  async headersForPort(port: number, signal?: AbortSignal): Promise<Record<string, string>> {
    checkedPort(port);
    return { ...(await this.#acquire(port, signal)), [proxyPortHeader]: String(port) };
  }

  /** The three subprotocols for a WebSocket to a port. The second one carries the token: a secret. */
  async subprotocols(port: number, signal?: AbortSignal): Promise<[string, string, string]> {
    checkedPort(port);
    const headers = await this.#acquire(port, signal);
    return [
      proxySubprotocol,
      `${proxySubprotocol}.authentication.${headers[proxyAuthHeader] ?? ''}`,
      `${proxySubprotocol}.port.${port}`,
    ];
  }

  toJSON(): { port: number; mintCount: number } {
    return { port: this.port, mintCount: this.mintCount };
  }

  #acquire(port: number, signal?: AbortSignal): Promise<Readonly<Record<string, string>>> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      this.#lastId += 1;
      const id = this.#lastId;
      const giveUp = () => {
        this.#waiters.delete(id);
        reject(signal?.reason as Error);
        this.#actor.send({ type: 'GIVE_UP', id, at: this.#clock.now() });
      };
      const settled = () => signal?.removeEventListener('abort', giveUp);
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiters.set(id, {
        resolve: (headers) => {
          settled();
          resolve(headers);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      this.#actor.send({ type: 'NEED', id, port, at: this.#clock.now() });
    });
  }

  async #mint({ op, ports }: MintInput, signal: AbortSignal): Promise<MintOutcome> {
    const askedAt = this.#clock.now();
    try {
      const answer = lowerCaseNames(await this.#minter.mintForPorts(ports, signal));
      if (!answer[proxyAuthHeader]) {
        throw new VmchartError(
          { wireKind: 'AuthTokenMint' },
          `The minted token for port ${ports.join(', ')} lacks the header X-aws-proxy-auth.`,
          { reason: 'token-unavailable' },
        );
      }
      this.#minted.set(op, answer);
      this.#remember(answer);
      return { op, askedAt, at: this.#clock.now(), ok: true };
    } catch (error) {
      const failure = mintFailure(error, ports);
      this.#failures.set(op, failure);
      return { op, at: this.#clock.now(), ok: false, error: failure.toRecord() };
    }
  }

  #remember(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers)) if (name !== proxyPortHeader) this.#secrets.add(value);
    for (const oldest of this.#secrets) {
      if (this.#secrets.size <= rememberedSecrets) break;
      this.#secrets.delete(oldest);
    }
  }

  #grant(ids: readonly number[], op: number): void {
    const headers = this.#minted.get(op) ?? {};
    for (const older of this.#minted.keys()) if (older < op) this.#minted.delete(older);
    this.#failures.clear();
    this.#settle(ids, (waiter) => waiter.resolve(headers));
  }

  #deny(ids: readonly number[], op: number): void {
    const error = this.#failures.get(op) ?? new VmchartError({ wireKind: 'AuthTokenMint' }, 'The mint failed.');
    this.#failures.clear();
    this.#settle(ids, (waiter) => waiter.reject(error));
  }

  #settle(ids: readonly number[], how: (waiter: Waiter) => void): void {
    for (const id of ids) {
      const waiter = this.#waiters.get(id);
      this.#waiters.delete(id);
      if (waiter !== undefined) how(waiter);
    }
  }
}

/** @throws VmchartError `InvalidArg` unless it is a TCP port. */
export function checkedPort(port: number): number {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new VmchartError('InvalidArg', `A port is a whole number from 1 to 65535; got ${port}.`, { reason: 'port' });
  }
  return port;
}

function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** A refused identity stays what it is; every other failure to mint is worth another try. */
function mintFailure(error: unknown, ports: readonly number[]): VmchartError {
  const cause = toVmchartError(error);
  if (cause.wireKind === 'AuthTokenMint') return cause;
  const named = `Minting a proxy token for port ${ports.join(', ')} failed: ${cause.message}`;
  if (cause.kind === 'Credentials') {
    return new VmchartError('Credentials', named, { cause, status: cause.status, reason: cause.reason });
  }
  return new VmchartError({ wireKind: 'AuthTokenMint' }, named, {
    cause,
    status: cause.status,
    reason: reasonOf(cause),
    retryAfterMs: cause.retryAfterMs,
  });
}

function reasonOf(cause: VmchartError): string {
  if (cause.status === 404) return 'gone';
  if (cause.status === 409) return 'wrong-state';
  return cause.reason ?? 'token-unavailable';
}
